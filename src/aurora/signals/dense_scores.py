"""Scores of all chunks in one numpy array, and the best of them by partition.

`sum_dense` adds the postings of BM25. `cosine_scores` has cosines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, starmap
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.bm25_formula import BM25Parameters, Match, discount, saturate
from aurora.signals.index_file import Array
from aurora.types import Hit

Floats: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Places: TypeAlias = NDArray[np.int64]
TermPlaces: TypeAlias = "_TermPlaces | tuple[()]"


class RowPlaces:
    """Rows by place. They need not ascend: those of several segments follow one another."""

    def __init__(self, rows: Places, live: Places | None = None) -> None:
        """`live`: the places whose rows are still there; None: all, with ascending rows."""
        self.rows = rows
        self._order = None if live is None else live[np.argsort(rows[live], kind="stable")]
        self._sorted = rows if self._order is None else rows[self._order]

    def find(self, rows: Places) -> Places:
        """The places of rows; rows that are not there are left out."""
        at = np.searchsorted(self._sorted, rows)
        inside = at < len(self._sorted)
        at, rows = at[inside], rows[inside]
        found: Places = at[self._sorted[at] == rows]
        return found if self._order is None else self._order[found]


class DenseScores:
    """`SignalScores` with a number for every place of an index; 0 counts as none.

    `postings` are the places that may have a score, those of rare terms first. Without postings,
    every place may have one.
    """

    def __init__(
        self,
        scores: Floats,
        places: RowPlaces,
        *,
        ceiling: float = 1.0,
        postings: TermPlaces = (),
    ) -> None:
        self.ceiling = ceiling
        self._scores, self._places, self._rows = scores, places, places.rows
        self._postings = postings
        self._known: dict[int, Hit] = {}

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            return self._rank_first(
                best_places(self._scores, pool, rows=self._rows, postings=self._postings)
            )
        allowed = self.places(np.asarray(among, np.int64))
        best = best_places(self._scores[allowed], pool, rows=self._rows[allowed])
        rows: list[int] = self._rows[allowed[best]].tolist()
        return rows

    def _rank_first(self, places: Places) -> list[int]:
        """The rows of the best places. Their ranks follow from the order, and are remembered."""
        rows: list[int] = self._rows[places].tolist()
        values = self._scores[places].tolist()
        rank, last = 0, None
        for place, (row, value) in enumerate(zip(rows, values, strict=True), start=1):
            if value != last:
                rank, last = place, value
            self._known[row] = Hit(row, value, rank)
        return rows

    def hits(self, rows: Collection[int]) -> list[Hit]:
        hits = [self._known[row] for row in rows if row in self._known]
        others = [row for row in rows if row not in self._known] if len(hits) < len(rows) else []
        return hits + self._look_up(others) if others else hits

    def _look_up(self, rows: Sequence[int]) -> list[Hit]:
        places = self.places(np.array(rows, np.int64))
        places = places[self._scores[places] != 0.0]
        if not len(places):
            return []
        values = self._scores[places]
        columns = (self._rows[places], values, 1 + self._above(values))
        return list(starmap(Hit, zip(*(column.tolist() for column in columns), strict=True)))

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score."""
        values = np.array(scores, np.float64)
        counts: list[int] = self._above(values).tolist() if len(values) else []
        return counts

    def _above(self, values: Floats) -> Places:
        above = self._scores[self._scores > values.min()]
        above = np.sort(above[above != 0.0])
        counts: Places = len(above) - np.searchsorted(above, values, side="right")
        return counts

    def places(self, rows: Places) -> Places:
        """Where rows are in the index; rows that it does not contain are left out."""
        return self._places.find(rows)


def sum_dense(
    matches: Sequence[Match],
    discounts: Sequence[Floats],
    places: RowPlaces,
    *,
    parameters: BM25Parameters,
    ceiling: float,
) -> DenseScores:
    """As `sum_sparse`, to the last bit: the same additions in the same order.

    `discounts` are those of all documents of each segment, by place.
    """
    scores = np.zeros(len(places.rows))
    starts = np.cumsum([0, *map(len, discounts)]).tolist()
    parts = [scores[start:stop] for start, stop in pairwise(starts)]
    for _, factor, idf, _, postings in matches:
        for part, lengths, (documents, frequencies) in zip(parts, discounts, postings, strict=True):
            at = np.asarray(documents).astype(np.int64)
            values = saturate(np.asarray(frequencies).astype(np.float64), lengths[at], parameters)
            values *= idf
            if factor != 1.0:
                values *= factor
            np.add.at(part, at, values)
    return DenseScores(scores, places, ceiling=ceiling, postings=_TermPlaces(matches, starts))


def leave_out(removed: Array, documents: Array, frequencies: Array) -> tuple[Array, Array]:
    """The postings without those of the removed documents."""
    gone, places = np.asarray(removed), np.asarray(documents)
    if len(gone) < len(places):
        at = np.searchsorted(places, gone)
        at = at[places[np.minimum(at, len(places) - 1)] == gone]
        if not len(at):
            return documents, frequencies
        return np.delete(places, at), np.delete(np.asarray(frequencies), at)
    at = np.searchsorted(gone, places)
    stay = np.flatnonzero(gone[np.minimum(at, len(gone) - 1)] != places)
    return places[stay], np.asarray(frequencies)[stay]


def all_discounts(
    lengths: Sequence[Array], average: float, parameters: BM25Parameters
) -> list[Floats]:
    """The discounts of the documents of each segment."""
    return [
        np.asarray(discount(np.asarray(each).astype(np.float64), average, parameters))
        for each in lengths
    ]


class HasRows(Protocol):
    """A segment with ascending rows and the ascending places of removed ones."""

    @property
    def rows(self) -> Array: ...

    @property
    def removed(self) -> Array: ...


def segment_rows(segments: Sequence[HasRows]) -> RowPlaces:
    """The rows of all segments, without those that were removed."""
    rows = [np.asarray(each.rows) for each in segments]
    if len(rows) == 1 and not len(segments[0].removed):
        return RowPlaces(rows[0])
    live = np.ones(sum(map(len, rows)), np.bool_)
    start = 0
    for each in segments:
        live[start + np.asarray(each.removed, np.int64)] = False
        start += len(each.rows)
    return RowPlaces(np.concatenate([np.zeros(0, np.int64), *rows]), np.flatnonzero(live))


class _TermPlaces:
    """For each term, the places of its documents in the whole index."""

    def __init__(self, matches: Sequence[Match], starts: Sequence[int]) -> None:
        self._matches, self._starts = matches, starts

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator[Places]:
        for match in self._matches:
            pairs = zip(match.postings, self._starts, strict=False)
            yield np.concatenate(
                [np.asarray(documents).astype(np.int64) + start for (documents, _), start in pairs]
            )


def best_places(scores: Floats, limit: int, *, rows: Places, postings: TermPlaces = ()) -> Places:
    """Places of the highest scores other than 0, best first, ties by row."""
    places = _contenders(scores, limit, postings)
    if len(places) > limit:
        values = scores[places]
        cut = nth_best(values, limit)
        above, level = places[values > cut], places[values == cut]
        level = level[np.argsort(rows[level], kind="stable")]
        places = np.concatenate([above, level[: limit - len(above)]])
    return places[np.lexsort((rows[places], -scores[places]))]


def _contenders(scores: Floats, limit: int, postings: TermPlaces) -> Places:
    """A few places that include the best. Sorting all would take longer than adding them up."""
    enough = next((places for places in postings if len(places) >= limit), None)
    if enough is not None:
        cut = nth_best(scores[enough], limit)  # at least `limit` places score as much
        if cut > 0.0:
            return np.flatnonzero(scores >= cut)
    elif postings:
        places: Places = np.unique(np.concatenate(list(postings)))
        scored: Places = places[scores[places] != 0.0]
        return scored
    return np.flatnonzero(scores != 0.0)  # with floats themselves, numpy is ten times as slow


def nth_best(values: Floats, n: int) -> np.float64:
    cut: np.float64 = np.partition(values, len(values) - n)[len(values) - n]
    return cut
