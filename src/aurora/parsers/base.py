"""The parser protocol, chunk ids, and `Source`: the bytes of a file with its lines and outlines.

All positions are bytes: slicing text by them would break files with non-ASCII characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from aurora.quick_classes import dataclass
from aurora.types import Chunk, Document, Lines

_ELLIPSIS = b" ..."


@dataclass(frozen=True, slots=True)
class Parsed:
    """The chunks of a document; `problem` says what could not be parsed, if anything."""

    chunks: tuple[Chunk, ...]
    problem: str = ""


class Parser(Protocol):
    """Splits one document. Accepts any text: text that cannot be parsed stays searchable."""

    def parse(self, document: Document) -> Parsed: ...


class Ids:
    """Makes ids of path and name. A repeated name gets a number: `a.py:f`, `a.py:f#2`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: Counter[str] = Counter()

    def make(self, name: str) -> str:
        return self.number(f"{self._path}:{name}")

    def number(self, wanted: str) -> str:
        """Return the wanted id, or its first free number: `a#2` may be a name too."""
        id_ = wanted
        while id_ in self._seen:
            self._seen[wanted] += 1
            id_ = f"{wanted}#{self._seen[wanted]}"
        self._seen[id_] += 1
        return id_


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
        """The lines of a span, without white space at its end."""
        _, last = self.stripped(start, end)
        return Lines(bisect_left(self._newlines, start) + 1, bisect_left(self._newlines, last) + 1)

    def count_lines(self, start: int, end: int) -> int:
        """The number of line ends in a span."""
        return bisect_left(self._newlines, end) - bisect_left(self._newlines, start)

    def starts_line(self, at: int) -> bool:
        """True when only indentation precedes the position on its line."""
        return not self.content[self._line_start(at) : at].strip()

    def _line_start(self, at: int) -> int:
        return self.content.rfind(b"\n", 0, at) + 1

    def outline(self, start: int, end: int, gaps: Iterable[tuple[int, int]]) -> str:
        """Return a span with an ellipsis for each gap, without its first line's indentation."""
        at, pieces = self._line_start(start) if self.starts_line(start) else start, []
        for low, high in gaps:
            if low < start or high > end:
                continue  # of another piece
            pieces += [self.content[at:low].rstrip(), _ELLIPSIS]
            at = high
        pieces.append(self.content[at:end])
        text = b"".join(pieces).decode()
        indent = text[: len(text) - len(text.lstrip(" \t"))]
        if not indent:
            return text
        return "\n".join(line.removeprefix(indent) for line in text.split("\n"))
