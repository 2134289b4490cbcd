"""The lines of an indexed file with the classes of their words, its outline, a link to an editor.

Pygments tells what a word is. It comes with rich.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import (  # type: ignore[import-untyped]
    get_lexer_by_name,
    get_lexer_for_filename,
)
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from aurora.display.links import make_link
from aurora.engine import Memory
from aurora.engine.own_lines import read_chunk_text, read_lines
from aurora.errors import QueryError
from aurora.types import Chunk, Json, Lines
from aurora.web.door import Door

_MOST_LINES = 2_000  # of one answer
_LONGEST = 2_000  # characters of a line
_MOST_TO_READ = 500_000  # characters: of a longer file the words have no classes
_VSCODE = "vscode://file{path}:{line}"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_OF_BROWSERS = frozenset(("javascript", "vbscript", "data", "blob", "file", "http", "https"))


def file(door: Door, *, id_: str, from_: int = 1, to: int = 0, memory: str = "") -> dict[str, Json]:
    """Lines of the file that a chunk is from: at most 2,000, each a list of [class, text].

    Only a file that the memory has indexed is read, and with secrets redacted. If it is gone or
    has changed, `lines` are those of the stored text, and `note` says so. Classes are those of
    Pygments.
    """
    holder, chunk = door.chunk(id_, memory)
    texts, first, note = _read(holder, chunk)
    last = first + len(texts) - 1
    start = max(from_, first)
    end = min(to if to >= start else last, last, start + _MOST_LINES - 1)
    if start > last:
        raise QueryError(f"Line {from_} does not exist", hint=f"the last line is {last}")
    cut = tuple(_cut(text) for text in texts[: end - first + 1])
    return {
        "path": chunk.path or None,
        "language": chunk.language or None,
        "total": last,
        "first": start,
        "lines": [*_highlight(cut, chunk.language, chunk.path)[start - first :]],
        "outline": outline(holder, chunk),
        "note": note or None,
        "editor_link": editor_link(holder, chunk),
    }


def _read(holder: Memory, chunk: Chunk) -> tuple[Sequence[str], int, str]:
    """The lines to show, the number of the first one, and a sentence if they are not the file's."""
    if lines := read_lines(holder, chunk):
        return lines, 1, ""
    text, note, _ = read_chunk_text(holder, chunk)
    return text.split("\n"), chunk.lines.start if chunk.lines else 1, note


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} … {len(text) - _LONGEST:,} more characters"


@lru_cache(maxsize=4)  # of large files, too
def _highlight(lines: tuple[str, ...], language: str, path: str) -> list[Json]:
    """The lines as lists of [class, text]; the class is empty for plain text."""
    text = "\n".join(lines)
    lexer = _find_lexer(language, path) if len(text) <= _MOST_TO_READ else None
    if lexer is None:
        return [[["", line]] if line else [] for line in lines]
    return [*islice(_split(lexer, text), len(lines))]


def _split(lexer: Lexer, text: str) -> Iterator[Json]:
    """The lines of the lexer's words."""
    line: list[Json] = []
    for _, kind, words in lexer.get_tokens_unprocessed(text):
        class_ = STANDARD_TYPES.get(kind, "")
        first, *others = words.split("\n")
        line += [[class_, first]] if first else []
        for other in others:
            yield line
            line = [[class_, other]] if other else []
    yield line


def _find_lexer(language: str, path: str) -> Lexer | None:
    for find, name in ((get_lexer_by_name, language), (get_lexer_for_filename, path)):
        try:
            if name:
                return find(name, stripnl=False, ensurenl=False)
        except ClassNotFound:
            continue
    return None


def outline(holder: Memory, chunk: Chunk) -> list[Json]:
    """The definitions of the chunk's file, in their order."""
    if not chunk.path:
        return []
    chunks = holder.admin.store.chunks
    ids = [id_ for id_, _ in chunks.iter_lines(chunk.path)]
    found = [(each, each.lines) for each in chunks.get_chunks(ids) if each.lines is not None]
    found.sort(key=lambda pair: (pair[1].start, -pair[1].end))
    return [_entry(each, lines) for each, lines in found if each.metadata.get("part", 1) == 1]


def _entry(chunk: Chunk, lines: Lines) -> Json:
    name = chunk.qualified_name or chunk.name
    return {"id": chunk.id, "name": name, "kind": str(chunk.kind), "lines": [*lines]}


def editor_link(holder: Memory, chunk: Chunk) -> str | None:
    """A link that opens the file at the chunk's line, by `ui.links` if that names an editor."""
    if holder.root is None or not chunk.path or chunk.lines is None:
        return None
    pattern = holder.settings.ui.links
    scheme = _SCHEME.match(pattern)  # browsers overlook spaces and line breaks in one
    is_editor = "{path}" in pattern and scheme and scheme[1].lower() not in _OF_BROWSERS
    link = make_link(pattern if is_editor else _VSCODE, holder.root.resolve())
    return link(chunk, chunk.lines.start)
