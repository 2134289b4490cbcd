"""Cutting what is too long, between statements and never inside one.

A place to cut is where a node of the tree begins its line. Only nodes that are too long themselves
are looked into, so a piece ends as far out in the tree as it can.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from tree_sitter import Node

from aurora.parsers.source import Source

Span = tuple[int, int]


def cut(node: Node, span: Span, gaps: Sequence[Span], source: Source, *, most: int) -> list[Span]:
    """A span of at most so many visible lines a piece, where the syntax allows it."""
    start, end = span
    ruler = _Ruler(source, gaps)
    if ruler.visible(start, end) <= most:
        return [span]
    places = sorted({at for at in _places(node, source, most) if start < at < end})
    open_places = [at for at in places if not ruler.is_hidden(at)]
    pieces, begin = [], start
    for here, following in pairwise([*open_places, end]):
        if here > begin and ruler.visible(begin, following) > most:
            pieces.append((begin, here))
            begin = here
    return [*pieces, (begin, end)]


def _places(node: Node, source: Source, most: int) -> Iterator[int]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.end_point.row - current.start_point.row < most:
            continue
        for child in current.named_children:
            if source.starts_line(child.start_byte):
                yield child.start_byte
            waiting.append(child)


class _Ruler:
    """Measures spans in lines, less those that an outline leaves out: the gaps, in order."""

    def __init__(self, source: Source, gaps: Sequence[Span]) -> None:
        self._source = source
        self._starts, self._ends = [low for low, _ in gaps], [high for _, high in gaps]
        hidden = (source.count_lines(low, high) for low, high in gaps)
        self._hidden = [0, *accumulate(hidden)]  # lines hidden in the first n gaps

    def visible(self, start: int, end: int) -> int:
        first, last = bisect_left(self._starts, start), bisect_right(self._ends, end)
        hidden = self._hidden[last] - self._hidden[first] if last > first else 0
        return self._source.count_lines(start, end) - hidden

    def is_hidden(self, at: int) -> bool:
        gap = bisect_left(self._starts, at) - 1
        return gap >= 0 and at < self._ends[gap]
