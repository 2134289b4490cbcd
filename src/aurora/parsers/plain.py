"""Any text as windows of lines: the parser for files no grammar knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from aurora.parsers.base import Ids, Parsed
from aurora.types import Chunk, Document, Kind, Lines

_WINDOW = 50  # lines: about what fits on a screen
_LONGEST = 8000  # characters of a window; a file of one endless line is cut by this alone


class PlainParser:
    """Cuts at every fiftieth line, or sooner where lines are very long."""

    def __init__(self, kind: Kind, language: str) -> None:
        self._kind, self._language = kind, language

    def parse(self, document: Document) -> Parsed:
        ids, name = Ids(document.path), PurePosixPath(document.path).name
        chunks = tuple(
            Chunk(
                id=ids.make("text"),
                kind=self._kind,
                name=name,
                content=content,
                path=document.path,
                lines=lines,
                language=self._language,
            )
            for lines, content in _windows(document.text)
            if content.strip()
        )
        return Parsed(chunks)


def _windows(text: str) -> Iterator[tuple[Lines, str]]:
    held: list[str] = []
    first, last, size = 1, 1, 0
    for number, piece in _pieces(text):
        if held and (number - first >= _WINDOW or size + len(piece) > _LONGEST):
            yield Lines(first, last), "\n".join(held)
            held, size = [], 0
        first = number if not held else first
        held.append(piece)
        last, size = number, size + len(piece)
    yield Lines(first, last), "\n".join(held)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines, the longest ones in several pieces of the same number."""
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        for at in range(0, max(len(line), 1), _LONGEST):
            yield number, line[at : at + _LONGEST]
