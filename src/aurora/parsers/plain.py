"""Any text as windows of lines: the parser for files no grammar knows.

Lines into windows of bounded size, looking no further ahead than one window.

Every parser of text cuts with this: whole files without structure, and sections that are too long.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from aurora.parsers.base import Ids, Parsed
from aurora.types import Chunk, Document, Kind, Lines


class Window(NamedTuple):
    """Lines that stand together, without the blank ones around them."""

    lines: Lines
    content: str


class Cutter:
    """Takes one line after the other and gives a window whenever one is full.

    With `paragraphs` a full window ends with the last blank line of its second half, if there is
    one; the lines after it begin the next. A line longer than `longest` becomes several pieces.
    """

    def __init__(
        self, *, longest: int, most_lines: int | None = None, paragraphs: bool = True
    ) -> None:
        self._longest, self._most_lines, self._paragraphs = longest, most_lines, paragraphs
        self._held: list[tuple[int, str]] = []
        self.size = 0  # characters held, line ends included

    def add(self, number: int, line: str) -> list[Window]:
        """The windows that this line found full."""
        if len(line) <= self._longest:
            return self._hold(number, line)
        starts = range(0, len(line), self._longest)
        pieces = (line[at : at + self._longest] for at in starts)
        return [window for piece in pieces for window in self._hold(number, piece)]

    def rest(self) -> list[Window]:
        """What is left, after which the cutter is empty."""
        return self._take(len(self._held))

    def _hold(self, number: int, piece: str) -> list[Window]:
        full: list[Window] = []
        while self._is_full(number, piece):
            full += self._take(self._end())
        if self._held or piece.strip():  # blank lines begin no window
            self._held.append((number, piece))
            self.size += len(piece) + 1
        return full

    def _is_full(self, number: int, piece: str) -> bool:
        if not self._held:
            return False
        too_many = self._most_lines and number - self._held[0][0] >= self._most_lines
        return bool(too_many) or self.size + len(piece) > self._longest

    def _end(self) -> int:
        """How many of the held pieces make the next window."""
        count = len(self._held)
        if self._paragraphs:
            for at in range(count - 1, count // 2, -1):
                if not self._held[at][1].strip():
                    return at + 1
        return count

    def _take(self, count: int) -> list[Window]:
        taken, self._held = self._held[:count], self._held[count:]
        self.size = sum(len(piece) + 1 for _, piece in self._held)
        while taken and not taken[-1][1].strip():
            taken.pop()
        if not taken:
            return []
        lines = Lines(taken[0][0], taken[-1][0])
        return [Window(lines, "\n".join(piece for _, piece in taken))]


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
