"""What a keyword question found: the postings of its terms, and what they add up to.

Scores of a few chunks in a dictionary: what the first question of a process is answered from.

Importing numpy would take longer than the whole answer. `dense` holds the same for every chunk.

Scores of all chunks in one array: what a long-running process and a broad question use.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from itertools import starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.signals.base import Answer
from aurora.signals.index_file import Array
from aurora.text import words_found
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


class Match(NamedTuple):
    """A term of the query that documents have: what it counts there, where, what it weighs."""

    term: str
    asked: float
    documents: Array
    weights: Array


def add_sparse(matches: Sequence[Match]) -> dict[int, float]:
    """Place → score, added one posting at a time."""
    scores: dict[int, float] = {}
    for _, asked, documents, weights in matches:
        for place, weight in zip(documents.tolist(), weights.tolist(), strict=True):
            scores[place] = scores.get(place, 0.0) + asked * weight
    return scores


def answer_sparsely(matches: Sequence[Match], rows: Array, *, ceiling: float) -> SparseAnswer:
    # An index just built holds numpy's numbers, which no database takes for whole ones.
    scores = {int(rows[place]): score for place, score in add_sparse(matches).items()}
    return SparseAnswer(scores, ceiling=ceiling)


class KeywordAnswer:
    """An answer that can also tell which words of the question a chunk has."""

    def __init__(
        self, answer: Answer, matches: Sequence[Match], rows: Array, *, asked: Mapping[str, str]
    ) -> None:
        """`asked`: the words of the question, and by what else each may be found."""
        self._answer, self._matches, self._rows = answer, matches, rows
        self._asked = asked

    @property
    def ceiling(self) -> float:
        return self._answer.ceiling

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return self._answer.best(pool, among=among)

    def hits(self, rows: Collection[int]) -> list[Hit]:
        return self._answer.hits(rows)

    @property
    def is_empty(self) -> bool:
        """Whether no chunk has a word of the question."""
        return not self._matches

    def terms(self, row: int) -> frozenset[str]:
        """Words of the question in one chunk, as they are written or by their stems."""
        place = place_of(row, self._rows)
        if place is None:
            return frozenset()
        found = {m.term for m in self._matches if place_of(place, m.documents) is not None}
        return words_found(self._asked, found)

    def coverage(self, row: int) -> float:
        """The share of the question's words that a chunk has."""
        return len(self.terms(row)) / (len(self._asked) or 1)


Floats = NDArray[np.float64] | NDArray[np.float32]
Places = NDArray[np.int64]


def add_dense(matches: Sequence[Match], *, total: int) -> Floats:
    """As `add_sparse`, to the last bit: the same additions in the same order.

    `add.at` takes a quick way when all is as wide as the machine's own numbers: 3 ns a posting.
    """
    scores = np.zeros(total)
    for _, asked, documents, weights in matches:
        values = np.asarray(weights).astype(np.float64)
        if asked != 1.0:
            values *= asked
        np.add.at(scores, np.asarray(documents).astype(np.int64), values)
    return scores


def answer_densely(matches: Sequence[Match], rows: Array, *, ceiling: float) -> DenseAnswer:
    return DenseAnswer(
        add_dense(matches, total=len(rows)),
        np.asarray(rows),
        ceiling=ceiling,
        postings=[np.asarray(match.documents) for match in matches],
    )


class DenseAnswer:
    """An `Answer` that has a score for every place of an index. Where that is 0 there is none.

    `postings` tell which places have a score, those of rare terms first; without them, any may.
    """

    def __init__(
        self,
        scores: Floats,
        rows: Places,
        *,
        ceiling: float = 1.0,
        postings: Sequence[Places] = (),
    ) -> None:
        self.ceiling = ceiling
        self._scores, self._rows, self._postings = scores, rows, postings
        self._known: dict[int, Hit] = {}

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            return self._first(best_places(self._scores, pool, postings=self._postings))
        allowed = self.places(np.asarray(among, np.int64))
        rows: list[int] = self._rows[allowed[best_places(self._scores[allowed], pool)]].tolist()
        return rows

    def _first(self, places: Places) -> list[int]:
        """The rows of the best, whose ranks are known from the order they are in."""
        rows: list[int] = self._rows[places].tolist()
        values = self._scores[places].tolist()
        rank, last = 0, None
        for place, (row, value) in enumerate(zip(rows, values, strict=True), start=1):
            if value != last:
                rank, last = place, value
            self._known[row] = Hit(row, value, rank)
        return rows

    def hits(self, rows: Collection[int]) -> list[Hit]:
        found = [self._known[row] for row in rows if row in self._known]
        others = [row for row in rows if row not in self._known] if len(found) < len(rows) else []
        return found + self._look_up(others) if others else found

    def _look_up(self, rows: Sequence[int]) -> list[Hit]:
        places = self.places(np.array(rows, np.int64))
        places = places[self._scores[places] != 0.0]
        values = self._scores[places]
        ranks = self._ranks(values)
        found = zip(self._rows[places].tolist(), values.tolist(), ranks.tolist(), strict=True)
        return list(starmap(Hit, found))

    def _ranks(self, values: Floats) -> Places:
        if not len(values):
            return np.empty(0, np.int64)
        above = self._scores[self._scores > values.min()]
        above = np.sort(above[above != 0.0])
        ranks: Places = 1 + len(above) - np.searchsorted(above, values, side="right")
        return ranks

    def places(self, rows: Places) -> Places:
        """Where rows stand in the index; those it does not have are left out."""
        places = np.searchsorted(self._rows, rows)
        inside = places < len(self._rows)
        places, rows = places[inside], rows[inside]
        found: Places = places[self._rows[places] == rows]
        return found


def best_places(scores: Floats, limit: int, *, postings: Sequence[Places] = ()) -> Places:
    """Places of the highest scores other than 0, best first, ties by place."""
    places = _contenders(scores, limit, postings)
    if len(places) > limit:
        values = scores[places]
        cut = nth_best(values, limit)
        above, level = places[values > cut], places[values == cut]
        places = np.concatenate([above, level[: limit - len(above)]])
    return places[np.lexsort((places, -scores[places]))]


def _contenders(scores: Floats, limit: int, postings: Sequence[Places]) -> Places:
    """A few places that the best are among: sorting all would take longer than adding them up."""
    enough = next((places for places in postings if len(places) >= limit), None)
    if enough is not None:
        cut = nth_best(scores[enough], limit)  # there are at least so many that are as good
        if cut > 0.0:
            return np.flatnonzero(scores >= cut)
    elif postings:
        places: Places = np.unique(np.concatenate(postings))
        scored: Places = places[scores[places] != 0.0]
        return scored
    return np.flatnonzero(scores)


def nth_best(values: Floats, n: int) -> np.float64:
    cut: np.float64 = np.partition(values, len(values) - n)[len(values) - n]
    return cut
