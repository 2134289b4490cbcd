"""The text of a chunk as its file has it: what `aur mem get` and `aurora_retrieve` print.

The stored text of a class leaves out the bodies of its methods, and that of a method its
indentation. The first piece of a long definition has the definition's id, and stands for all of it.
The file is read only below the memory's root and without following links, only if its
content is what was indexed, and with secrets redacted as before storing.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aurora.files import read_file
from aurora.quick_classes import replace
from aurora.redaction import Redactor
from aurora.retrieval.lookup import relative_path
from aurora.sources.reading import MAX_BYTES
from aurora.stores.base import FileState, Store
from aurora.types import Chunk, Kind, Lines

if TYPE_CHECKING:
    from aurora.engine.memory import Memory

logger = logging.getLogger(__name__)

_BOM = b"\xef\xbb\xbf"
_DEFINITIONS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
_LONG_LINE = 2000  # characters: a chunk may be a part of such a line
_UNREDACTED = "-unredacted:"  # in the digest of a file that was stored with its secrets


class ChunkText(NamedTuple):
    """A text to show, and a sentence for the reader if it is not what the file has.

    `whole` has the lines of the text if it is a definition of several pieces.
    """

    text: str
    note: str = ""
    whole: Lines | None = None


def read_chunk_text(memory: Memory, chunk: Chunk, *, here: str = ".") -> ChunkText:
    """The lines of the chunk's file, or the stored text if the file is gone or has changed.

    A note names the file as seen from the folder `here`.
    """
    opened = memory._opened  # `memory.admin` would load git and the parsers
    root, lines = opened.root, chunk.lines
    if root is None or lines is None or not chunk.path:
        return _stored(chunk)
    store = opened.store
    state = opened.read_again(lambda: store.chunks.file_states([chunk.path])).get(chunk.path)
    if state is None:  # of an import, or of a log
        return _stored(chunk)
    content = _read(root.resolve(), chunk.path)
    if content is None:
        is_gone = not os.path.lexists(root / chunk.path)
        what = "is gone" if is_gone else "cannot be read"
        return _stored(chunk, f"{relative_path(chunk.path, here)} {what}")
    if not _is_stored_content(content, state):
        name = relative_path(chunk.path, here)
        return _stored(chunk, f"{name} has changed since it was indexed")
    whole = opened.read_again(lambda: _whole_lines(store, chunk))
    is_redacted = opened.settings.indexing.redact_secrets or _UNREDACTED not in state.digest
    text = Redactor(on=is_redacted).text(content.decode())
    own = "\n".join(text.split("\n")[lines.start - 1 : (whole or lines).end])
    is_piece = lines.start == lines.end and len(own) > _LONG_LINE  # of minified text
    return ChunkText(chunk.content if is_piece else own, whole=whole)


def as_whole(chunk: Chunk, whole: Lines | None) -> Chunk:
    """The first piece of a definition as all of it, which has these lines; other chunks as is."""
    if whole is None:
        return chunk
    facts = chunk.metadata.items()
    about = {key: value for key, value in facts if key not in ("part", "parts")}
    return replace(chunk, lines=whole, metadata=about)


def read_lines(memory: Memory, chunk: Chunk) -> list[str]:
    """The lines of the chunk's file, without secrets; none if it is gone or has changed."""
    opened = memory._opened
    if opened.root is None or not chunk.path:
        return []
    store = opened.store
    state = opened.read_again(lambda: store.chunks.file_states([chunk.path])).get(chunk.path)
    content = _read(opened.root.resolve(), chunk.path) if state else None
    if state is None or content is None or not _is_stored_content(content, state):
        return []
    is_redacted = opened.settings.indexing.redact_secrets or _UNREDACTED not in state.digest
    return Redactor(on=is_redacted).text(content.decode()).split("\n")


def number_outline(memory: Memory, chunk: Chunk, texts: Sequence[str]) -> dict[int, int]:
    """The line numbers of an outline's lines, by index, as far as the file still has them."""
    root, lines = memory._opened.root, chunk.lines
    content = _read(root.resolve(), chunk.path) if root and lines and chunk.path else None
    if content is None or lines is None:
        return {}
    own = content.decode(errors="replace").expandtabs(4).split("\n")[: lines.end]
    numbers, number = dict[int, int](), lines.start
    for at, text in enumerate(texts):
        wanted = text.strip().removesuffix("...").rstrip()
        if not wanted:
            if at - 1 in numbers:
                numbers[at] = numbers[at - 1] + 1
            continue
        for candidate in range(number, len(own) + 1):
            if own[candidate - 1].strip().startswith(wanted):
                numbers[at], number = candidate, candidate + 1
                break
    return numbers


def as_in_file(path: Path, chunk: Chunk, state: FileState) -> Chunk | None:
    """The chunk with the lines that its text has in a changed file; None if it is not there.

    A file that may not be read, and a large one, are taken as they were.
    """
    if not os.path.lexists(path):
        return None
    content = _read(Path(path.anchor), str(path))
    if content is None or _is_stored_content(content, state):
        return chunk
    text = Redactor(on=_UNREDACTED not in state.digest).text(content.decode(errors="replace"))
    start = _find_text(chunk, text.split("\n"))
    if start is None:
        return None
    lines = chunk.lines
    return replace(chunk, lines=Lines(start, start + lines.end - lines.start)) if lines else chunk


def _find_text(chunk: Chunk, lines: Sequence[str]) -> int | None:
    """The first line of the chunk's text nearest to where it was. Indentation does not count.

    Of an outline, the lines before the first body that it leaves out are compared.
    """
    wanted = [line.strip() for line in chunk.content.strip("\n").split("\n")]
    if chunk.is_outline:
        wanted = wanted[: max(wanted.index("...") if "..." in wanted else 1, 1)]
    stripped = [line.strip() for line in lines]
    was = chunk.lines.start if chunk.lines else 1
    starts = [
        at + 1
        for at, line in enumerate(stripped)
        if line == wanted[0] and stripped[at : at + len(wanted)] == wanted
    ]
    return min(starts, key=lambda start: abs(start - was), default=None)


def _whole_lines(store: Store, chunk: Chunk) -> Lines | None:
    """The lines of the definition of which the chunk is the first of several pieces."""
    facts, lines = chunk.metadata, chunk.lines
    if lines is None or facts.get("part") != 1 or chunk.kind not in _DEFINITIONS:
        return None
    ends = [
        other.lines.end
        for other in store.chunks.get_chunks(store.chunks.find_below(chunk.path))
        if other.path == chunk.path
        and other.variant == chunk.variant
        and other.qualified_name == chunk.qualified_name
        and other.lines is not None
        and other.lines.end >= lines.end
        and other.metadata.get("part") == facts.get("parts")
    ]
    return Lines(lines.start, min(ends)) if ends else None


def _read(root: Path, name: str) -> bytes | None:
    """The bytes of a file below the root; None if it is gone, a link, or behind one."""
    path = root / name
    try:
        if path.resolve() != path or not path.is_relative_to(root):
            return None
        return read_file(path, most=MAX_BYTES).removeprefix(_BOM)
    except (OSError, ValueError, RuntimeError) as exc:
        logger.debug("cannot read %s: %r", name, exc)
        return None


def _is_stored_content(content: bytes, state: FileState) -> bool:
    digest = state.digest.partition(":")[2]  # behind the version of the parser
    return bool(digest) and hashlib.sha256(content).hexdigest() == digest


def _stored(chunk: Chunk, reason: str = "") -> ChunkText:
    what = "stored outline, without the bodies inside" if chunk.is_outline else "stored text"
    if reason:
        return ChunkText(chunk.content, f"{reason}: this is the {what}")
    return ChunkText(chunk.content, f"This is the {what}" if chunk.is_outline else "")
