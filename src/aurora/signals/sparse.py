"""Scores of a few chunks in a dictionary: what the first question of a process is answered from.

Importing numpy would take longer than the whole answer. `dense` holds the same for every chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest

from aurora.signals.index_file import Array
from aurora.types import Hit


class SparseAnswer:
    """An `Answer` for chunks that are few. A chunk whose score is 0 has none."""

    def __init__(self, scores: Mapping[int, float], *, ceiling: float = 1.0) -> None:
        self.ceiling = ceiling
        self._scores = {row: score for row, score in scores.items() if score}
        self._sorted: list[float] | None = None

    @property
    def is_empty(self) -> bool:
        return not self._scores

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        allowed = self._scores.keys() if among is None else self._scores.keys() & set(among)
        return nsmallest(pool, allowed, key=lambda row: (-self._scores[row], row))

    def hits(self, rows: Collection[int]) -> list[Hit]:
        if self._sorted is None:
            self._sorted = sorted(self._scores.values())
        found = [(row, self._scores[row]) for row in rows if row in self._scores]
        above, total = self._sorted, len(self._sorted)
        return [Hit(row, score, 1 + total - bisect_right(above, score)) for row, score in found]


def place_of(number: int, ascending: Array) -> int | None:
    """Where a number stands in an ascending array."""
    place = bisect_left(ascending, number)
    return place if place < len(ascending) and ascending[place] == number else None
