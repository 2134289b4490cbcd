"""Reads transcripts of one JSON object per line, from their start or from where a reading ended.

Records are read one by one, up to the size that the file had when it was opened. A record that is
too large, or no JSON, is counted and left out. A last line without a line end may be half written:
it is read as far as it goes, and again the next time.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from aurora.files import open_no_follow
from aurora.package_manager import install_command
from aurora.sources.sessions.base import Exchange, Offset, Options, Reading
from aurora.sources.sessions.json_values import parse_json
from aurora.sources.sessions.transcript import Transcript
from aurora.types import Json

MAX_RECORD = 16 * 1024 * 1024  # bytes; records are this large only when they hold pictures
_SAMPLE = 4096  # bytes of a digest
_BLOCK = 1 << 20
_COMPRESSED = ".zst"
_DECOMPRESSORS = ("compression.zstd", "backports.zstd")  # the first is part of Python 3.14

Fields = dict[str, Json]
Handle = Callable[[Fields], None]
Begin = Callable[[Transcript], Handle]


class Record(NamedTuple):
    """One line of a transcript. `start` and `end` are bytes; a whole line ends with its break."""

    fields: Fields
    start: int
    end: int
    is_whole: bool


def read_jsonl(
    agent: str, path: Path, since: Offset | None, options: Options | None, begin: Begin
) -> Reading:
    """Read a transcript. `begin` gets the transcript and returns what handles each record."""
    options = options or Options()
    return Reading(
        lambda reading: _exchanges(reading, agent, path, since=since, options=options, begin=begin)
    )


def _exchanges(
    reading: Reading,
    agent: str,
    path: Path,
    *,
    since: Offset | None,
    options: Options,
    begin: Begin,
) -> Iterator[Exchange]:
    with ExitStack() as stack:
        try:
            stream, size = _open(path, stack)
            if since is not None and (size is None or not _fits(stream, size, since)):
                since, reading.restarted = None, True
        except (OSError, ImportError, ValueError) as exc:
            reading.skip(_why_not(exc))
            return
        start, state = (since.position, dict(since.state)) if since else (0, {})
        transcript = Transcript(reading, agent, path, options, state=state, start=start)
        handle = begin(transcript)
        safe, state = start, dict(transcript.state)  # where a next reading may begin
        for record in iter_records(stream, reading, start=start, size=size):
            before = dict(transcript.state)
            handle(record.fields)
            if transcript.opened:
                transcript.opened = False
                safe, state = record.start, before
            yield from transcript.take()
            if transcript.current is None and record.is_whole:
                safe, state = record.end, dict(transcript.state)
        yield from transcript.rest()
        if reading.sessions or transcript.state.get("ended"):
            reading.sessions[transcript.id] = transcript.session()
        if size is not None:
            reading.offset = _offset(stream, safe, state)


def iter_records(
    stream: BinaryIO, reading: Reading, *, start: int = 0, size: int | None = None
) -> Iterator[Record]:
    """Yield the records from a position to the size, which is unknown for compressed files."""
    end = start
    try:
        stream.seek(start)
        while line := stream.readline(_readable(size, end, MAX_RECORD + 1)):
            start, end = end, end + len(line)
            if len(line) > MAX_RECORD and not line.endswith(b"\n"):
                end += _drain(stream, size, end)
                reading.skip(f"a record over {MAX_RECORD >> 20} MiB")
                continue
            fields = _parse(line, reading)
            if fields is not None:
                yield Record(fields, start, end, line.endswith(b"\n"))
    except (OSError, EOFError, ValueError) as exc:
        reading.skip(_why_not(exc))


def open_transcript(path: Path, stack: ExitStack) -> tuple[BinaryIO, int]:
    """Open a regular file, and tell its size. Links are not followed."""
    file = stack.enter_context(open_no_follow(path))
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    return file, status.st_size


def _open(path: Path, stack: ExitStack) -> tuple[BinaryIO, int | None]:
    file, size = open_transcript(path, stack)
    if path.suffix != _COMPRESSED:
        return file, size
    return cast("BinaryIO", _Unpacked(file, stack)), None


class _Unpacked:
    """Reads the lines of a packed file. Damage is an `EOFError`, wherever it is."""

    def __init__(self, file: BinaryIO, stack: ExitStack) -> None:
        zstd = _decompressor()
        self._lines = stack.enter_context(closing(zstd.open(file)))
        self._error: type[Exception] = zstd.ZstdError

    def readline(self, most: int) -> bytes:
        try:
            return cast("bytes", self._lines.readline(most))
        except self._error as exc:
            raise EOFError(str(exc)) from exc

    def seek(self, position: int) -> None:
        self._lines.seek(position)


def _decompressor() -> Any:  # a module that may be missing
    for name in _DECOMPRESSORS:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(f"compressed: {install_command('sessions')}")


def _why_not(exc: Exception) -> str:
    if isinstance(exc, EOFError):
        return "damaged compression"
    if isinstance(exc, OSError):
        return f"unreadable: {exc.strerror or exc}"
    return f"unreadable: {exc}"


def _parse(line: bytes, reading: Reading) -> Fields | None:
    # A crash of the machine may leave zeros where a record was to begin.
    text = line.decode("utf-8", "replace").lstrip("\ufeff\0")
    if not text.strip():
        return None
    try:
        fields = parse_json(text)
    except ValueError:
        reading.skip("not JSON" if line.endswith(b"\n") else "an incomplete last record")
        return None
    if isinstance(fields, dict):
        return fields
    reading.skip("not an object")
    return None


def _readable(size: int | None, position: int, most: int) -> int:
    return most if size is None else max(min(most, size - position), 0)


def _drain(stream: BinaryIO, size: int | None, end: int) -> int:
    """Read the rest of a line and forget it; returns its length."""
    drained = 0
    while block := stream.readline(_readable(size, end + drained, _BLOCK)):
        drained += len(block)
        if block.endswith(b"\n"):
            break
    return drained


def _fits(stream: BinaryIO, size: int, since: Offset) -> bool:
    """True if the file is still the one that was read up to the offset."""
    if not 0 <= since.position <= size:
        return False
    return _digests(stream, since.position) == (since.head, since.tail)


def _offset(stream: BinaryIO, position: int, state: dict[str, str]) -> Offset | None:
    try:
        head, tail = _digests(stream, position)
    except (OSError, ValueError):
        return None
    return Offset(position, head, tail, state)


def _digests(stream: BinaryIO, position: int) -> tuple[str, str]:
    length = min(_SAMPLE, position)
    return _digest_at(stream, 0, length), _digest_at(stream, position - length, length)


def _digest_at(stream: BinaryIO, start: int, length: int) -> str:
    stream.seek(start)
    return hashlib.sha256(stream.read(length)).hexdigest()[:32]
