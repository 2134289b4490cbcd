"""Scores of all chunks in one array: what a long-running process and a broad question use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from aurora.signals.index_file import Array
from aurora.signals.matches import Match
from aurora.types import Hit

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
