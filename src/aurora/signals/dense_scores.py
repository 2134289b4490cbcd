"""Scores of all chunks in one numpy array, and the best of them by partition.

`sum_dense` adds the postings of BM25. `cosine_scores` has cosines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.bm25_formula import COUNTED, BM25Parameters, Match, discount, saturate
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
        counted: int = COUNTED,
    ) -> None:
        """Chunks behind the best `counted` all have the rank after these."""
        self.ceiling, self._counted = ceiling, counted
        self._scores, self._places, self._rows = scores, places, places.rows
        self._postings = postings
        self._highest: Floats = scores[:0]  # ascending, as many as were asked for

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            places = best_places(self._scores, pool, rows=self._rows, postings=self._postings)
            self._highest = max(self._highest, self._scores[places][::-1], key=len)
        else:
            allowed = self.places(np.asarray(among, np.int64))
            places = allowed[best_places(self._scores[allowed], pool, rows=self._rows[allowed])]
        rows: list[int] = self._rows[places].tolist()
        return rows

    def hits(self, rows: Collection[int]) -> list[Hit]:
        places = self.places(np.fromiter(rows, np.int64, len(rows)))
        places = places[self._scores[places] != 0.0]
        scores = self._scores[places].tolist()
        ranked = zip(self._rows[places].tolist(), scores, self.above(scores), strict=True)
        return [Hit(row, score, 1 + above) for row, score, above in ranked]

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score, at most `counted`."""
        if scores and not (len(self._highest) and min(scores) >= self._highest[0]):
            self.best(self._counted)
        highest = self._highest[-self._counted :]
        counts: list[int] = (len(highest) - highest.searchsorted(scores, side="right")).tolist()
        return counts

    def places(self, rows: Places) -> Places:
        """Where rows are in the index; rows that it does not contain are left out."""
        return self._places.find(rows)

    def find_terms(self, rows: Set[int]) -> dict[int, bytes]:
        """For each row in the index, a byte for each term: 1 where the document contains it."""
        places = np.sort(self.places(np.fromiter(rows, np.int64, len(rows))))
        there = self._postings.find(places) if self._postings else np.zeros((len(places), 0), "?")
        found = zip(self._rows[places].tolist(), there, strict=True)
        return {row: terms.tobytes() for row, terms in found}


def sum_dense(
    matches: Sequence[Match],
    discounts: Sequence[Floats],
    places: RowPlaces,
    *,
    parameters: BM25Parameters,
    ceiling: float,
    counted: int = COUNTED,
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
    by_term = _TermPlaces(matches, starts)
    return DenseScores(scores, places, ceiling=ceiling, postings=by_term, counted=counted)


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

    def find(self, places: Places) -> NDArray[np.bool_]:
        """For each of the ascending places, which terms its document contains."""
        there = np.zeros((len(places), len(self)), np.bool_)
        bounds = pairwise(places.searchsorted(self._starts).tolist())
        for segment, ((low, high), start) in enumerate(zip(bounds, self._starts, strict=False)):
            for term, match in enumerate(self._matches if low < high else ()):
                documents = np.asarray(match.postings[segment][0])
                if len(documents):
                    wanted = (places[low:high] - start).astype(documents.dtype)
                    at = np.minimum(documents.searchsorted(wanted), len(documents) - 1)
                    there[low:high, term] = documents[at] == wanted
        return there


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
