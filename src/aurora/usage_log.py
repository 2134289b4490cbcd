"""What agents asked and were given, in numbers: a local log of JSON lines, without any text.

It lies in the user's folder, is readable by its owner alone, and never grows beyond two files of a
megabyte. Hooks and the server write to it, `aur savings` reads it. Whatever prevents a line is
ignored: nothing waits for this log.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from aurora.files import make_folder, open_file, read_file
from aurora.platforms import lock
from aurora.quick_classes import NamedTuple

_FILE, _OLDER = "calls.jsonl", "calls.jsonl.1"
_LONGEST_WORD = 40  # characters of what a caller names
_MOST_BYTES = 1_000_000  # of each of the two files: about 6,000 calls


class UsageRecord(NamedTuple):
    """One call of a hook or of a tool. Only names of ours and numbers."""

    time: float  # seconds since 1970
    door: str  # hook or mcp
    agent: str  # of a hook
    event: str  # the agent's event, or the tool
    moment: str = ""  # what was asked for: start, prompt, edit, command, failure, follow
    milliseconds: int = 0
    tokens: int = 0  # given
    rows: int = 0  # given
    left_out: int = 0
    whole: int = 0  # tokens of the files that the given rows are from
    error: str = ""  # the class of an error
    memory: str = ""  # which memory, as `memory_key` names it


def memory_key(folder: Path) -> str:
    """A short name of a memory that tells nothing about it."""
    return hashlib.sha256(str(folder).encode("utf-8", "replace")).hexdigest()[:8]


def write_usage(home: Path, record: UsageRecord) -> None:
    """Add a line to the log in the user's folder."""
    folder = home / "logs"
    with suppress(OSError):
        if not folder.is_dir():
            make_folder(folder)
        known = {name: value for name, value in record._asdict().items() if value not in ("", 0)}
        line = json.dumps(known, separators=(",", ":")).encode() + b"\n"
        with open_file(folder / _FILE, "ab") as stream:
            stream.write(line)
            is_full = stream.tell() > _MOST_BYTES
        if is_full:
            _rotate(folder)


def write_failure(environ: Mapping[str, str], call: Sequence[str], error: str) -> None:
    """Add a line about a hook that could not even begin. `call` is its agent and event."""
    home = Path(environ.get("AURORA_HOME") or "~/.aurora").expanduser()
    agent, event = (word[:_LONGEST_WORD] for word in call)
    write_usage(home, UsageRecord(time.time(), "hook", agent, event, error=error))


def _rotate(folder: Path) -> None:
    """Move the full file away. Of several processes that see it full, one does it."""
    with open_file(folder / _FILE, "ab") as stream:
        lock(stream)
        if stream.tell() > _MOST_BYTES and (folder / _FILE).stat().st_size > _MOST_BYTES:
            (folder / _FILE).replace(folder / _OLDER)


def read_usage(home: Path) -> Iterator[UsageRecord]:
    """The calls of the log, the oldest first. What is no record is left out."""
    kinds = {name: type(value) for name, value in _EMPTY._asdict().items()}
    for name in (_OLDER, _FILE):
        lines = b""
        with suppress(OSError):
            lines = read_file(home / "logs" / name, most=2 * _MOST_BYTES)
        for line in lines.splitlines():
            if record := _read_line(line, kinds):
                yield record


_EMPTY = UsageRecord(0.0, "", "", "")


def _read_line(line: bytes, kinds: dict[str, type]) -> UsageRecord | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or not {"time", "door"} <= values.keys():
        return None
    usual = _EMPTY._asdict()
    for name, kind in kinds.items():
        value = values.get(name, usual[name])
        usual[name] = value if isinstance(value, kind) else usual[name]
    return UsageRecord(**usual)
