"""Any text as windows of lines: the parser for files no grammar knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.windows import Cutter, Window
from aurora.types import Chunk, Document, Kind

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
        )
        return Parsed(chunks)


def _windows(text: str) -> Iterator[Window]:
    cutter = Cutter(longest=_LONGEST, most_lines=_WINDOW, paragraphs=False)
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        yield from cutter.add(number, line)
    yield from cutter.rest()
