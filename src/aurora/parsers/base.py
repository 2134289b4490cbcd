"""What a parser is, and the ids it gives.

A file's bytes while it is cut: slices, lines and outlines.

All positions are bytes: slicing text by them would garble every file with a non-ASCII character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from aurora.types import Chunk, Document, Lines


@dataclass(frozen=True, slots=True)
class Parsed:
    """The chunks of a document; `problem` says what could not be understood, if anything."""

    chunks: tuple[Chunk, ...]
    problem: str = ""


class Parser(Protocol):
    """Cuts one document. Survives any text: what it cannot understand is still searchable."""

    def parse(self, document: Document) -> Parsed: ...


class Ids:
    """Ids made of path and name. A name that comes again is numbered: `a.py:f`, `a.py:f#2`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: Counter[str] = Counter()

    def make(self, name: str) -> str:
        return self.number(f"{self._path}:{name}")

    def number(self, wanted: str) -> str:
        """An id as wanted, or the first number of it that is free: `a#2` may be a name too."""
        made = wanted
        while made in self._seen:
            self._seen[wanted] += 1
            made = f"{wanted}#{self._seen[wanted]}"
        self._seen[made] += 1
        return made


_ELLIPSIS = b" ..."


class Source:
    """The UTF-8 bytes of one file, and where its lines end."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        self._newlines = [match.start() for match in re.finditer(rb"\n", self.content)]

    def text(self, start: int, end: int) -> str:
        return self.content[start:end].decode()

    def stripped(self, start: int, end: int) -> tuple[int, int]:
        """The span without the white space around it."""
        part = self.content[start:end]
        left = start + len(part) - len(part.lstrip())
        return left, max(left, start + len(part.rstrip()))

    def lines(self, start: int, end: int) -> Lines:
        """The lines a span stands on; white space at its end is on none."""
        _, last = self.stripped(start, end)
        return Lines(bisect_left(self._newlines, start) + 1, bisect_left(self._newlines, last) + 1)

    def count_lines(self, start: int, end: int) -> int:
        """How many line ends a span holds."""
        return bisect_left(self._newlines, end) - bisect_left(self._newlines, start)

    def starts_line(self, at: int) -> bool:
        """True when only indentation stands before it on its line."""
        return not self.content[self._line_start(at) : at].strip()

    def _line_start(self, at: int) -> int:
        return self.content.rfind(b"\n", 0, at) + 1

    def outline(self, start: int, end: int, gaps: Iterable[tuple[int, int]]) -> str:
        """A span with an ellipsis for each gap in it, its first line's indentation taken off."""
        at, pieces = self._line_start(start) if self.starts_line(start) else start, []
        for low, high in gaps:
            if low < start or high > end:
                continue  # of another piece
            pieces += [self.content[at:low].rstrip(), _ELLIPSIS]
            at = high
        pieces.append(self.content[at:end])
        return _dedent(b"".join(pieces).decode())


def _dedent(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    if not indent:
        return text
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))
