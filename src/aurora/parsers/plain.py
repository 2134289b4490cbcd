"""Splits text into windows of lines: files without a grammar, and sections that are too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from aurora.parsers.base import Ids, Parsed
from aurora.quick_classes import NamedTuple
from aurora.types import Chunk, Document, Kind, Lines

_WINDOW = 50  # lines: about a screen
_LONGEST = 8000  # characters of a window; also splits a file of one endless line


class Window(NamedTuple):
    """Adjacent lines, without the blank lines around them."""

    lines: Lines
    content: str


class Cutter:
    """Takes lines one by one and returns a window whenever one is full.

    With `paragraphs` a full window ends at the last blank line of its second half, if there is
    one. A line longer than `longest` becomes several pieces.
    """

    def __init__(
        self, *, longest: int, most_lines: int | None = None, paragraphs: bool = True
    ) -> None:
        self._longest, self._most_lines, self._paragraphs = longest, most_lines, paragraphs
        self._held: list[tuple[int, str]] = []  # pieces with their line numbers
        self.size = 0  # characters held, including line ends

    def cut(self, lines: Iterable[str], *, first: int = 1) -> Iterator[Window]:
        """Yield all windows of lines that are numbered from `first`."""
        for number, line in enumerate(lines, start=first):
            yield from self.add(number, line)
        yield from self.rest()

    def add(self, number: int, line: str) -> list[Window]:
        """Add a line; returns the windows that it completed."""
        if len(line) <= self._longest:
            return self._hold(number, line)
        starts = range(0, len(line), self._longest)
        pieces = (line[at : at + self._longest] for at in starts)
        return [window for piece in pieces for window in self._hold(number, piece)]

    def rest(self) -> list[Window]:
        """Return the last window and empty the cutter."""
        return self._take(len(self._held))

    def _hold(self, number: int, piece: str) -> list[Window]:
        full: list[Window] = []
        while self._held and (
            (self._most_lines and number - self._held[0][0] >= self._most_lines)
            or self.size + len(piece) > self._longest
        ):
            full += self._take(self._window_end())
        if self._held or piece.strip():  # a window does not begin with a blank line
            self._held.append((number, piece))
            self.size += len(piece) + 1
        return full

    def _window_end(self) -> int:
        """The number of held pieces in the next window."""
        count = len(self._held)
        half = range(count - 1, count // 2, -1) if self._paragraphs else ()
        return next((at + 1 for at in half if not self._held[at][1].strip()), count)

    def _take(self, count: int) -> list[Window]:
        pieces, self._held = self._held[:count], self._held[count:]
        self.size = sum(len(piece) + 1 for _, piece in self._held)
        while pieces and not pieces[-1][1].strip():
            pieces.pop()
        if not pieces:
            return []
        lines = Lines(pieces[0][0], pieces[-1][0])
        return [Window(lines, "\n".join(piece for _, piece in pieces))]


class PlainParser:
    """Splits a file every fifty lines, or earlier where lines are very long."""

    def __init__(self, kind: Kind, language: str) -> None:
        self._kind, self._language = kind, language

    def parse(self, document: Document) -> Parsed:
        text = document.text.removesuffix("\n").split("\n")
        cutter = Cutter(longest=_LONGEST, most_lines=_WINDOW, paragraphs=False)
        ids, name = Ids(document.path), PurePosixPath(document.path).name
        chunks = (
            Chunk(
                id=ids.make("text"),
                kind=self._kind,
                name=name,
                content=content,
                path=document.path,
                lines=lines,
                language=self._language,
            )
            for lines, content in cutter.cut(text)
        )
        return Parsed(tuple(chunks))
