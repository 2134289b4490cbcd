"""Scores of all chunks in one numpy array, and the best of them by partition.

`sum_dense` adds postings of BM25, `Matrix` computes cosines: `matrix @ question`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, starmap
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.bm25_formula import BM25Parameters, Match, SegmentRows, discount, saturate
from aurora.signals.index_file import Array
from aurora.signals.semantic import DIGITS, FAINTEST, SHORT, Vectors
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


def segment_rows(segments: Sequence[SegmentRows]) -> RowPlaces:
    """The rows of all segments, without those of removed documents."""
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


# float32 loses less than 1e-6 in a product of some hundred numbers. Cosines within this distance of
# the last accepted one are computed again in double precision.
_BLUR = 1e-5
_BLOCK = 1000  # vectors converted to float64 at a time
_ORDINARY = (1e-20, 1e20)  # squared lengths that float32 can hold

# Of many vectors, the first numbers of each tell which are near: a quarter of the bytes are read.
_MANY = 10_000  # vectors: fewer are compared in a millisecond
_NEAR, _SHARE = 2_000, 200  # vectors that are compared in full, and at least one of so many
_TRIED, _AMONG = 32, 20_000  # vectors whose nearest are looked for, and among how many
_CERTAIN = 10  # one of so many near ones: a search asks for the best hundred
_KEPT = 0.98  # of the ten nearest must be among those that are compared in full
_SOME = np.float32(FAINTEST / 2)  # more than none: the cosine may be higher


def shorten(matrix: Array, dimension: int) -> Array | None:
    """The first numbers of all vectors, scaled to length 1.

    None for few vectors, and for those of a model whose first numbers do not tell enough.
    """
    values = np.asarray(matrix, np.float32).reshape(-1, dimension)
    if len(values) < _MANY or dimension < 2 * SHORT:
        return None
    short = values[:, :SHORT].copy()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        lengths = np.linalg.norm(short, axis=1, keepdims=True)
        short /= np.where(lengths > 0.0, lengths, 1.0)
        tells = np.isfinite(short).all() and _share_kept(values, short) >= _KEPT
    return np.ravel(short).data if tells else None


def _share_kept(values: NDArray[np.float32], short: NDArray[np.float32]) -> float:
    """Of the ten vectors nearest to some, the share that is near by the first numbers, too."""
    some = np.linspace(0, len(values) - 1, _TRIED).astype(np.int64)
    among = slice(None, None, -(-len(values) // _AMONG))
    lengths = np.linalg.norm(values, axis=1)
    if not ((lengths**2 > _ORDINARY[0]) & (lengths**2 < _ORDINARY[1])).all():
        return 0.0
    whole = values[some] @ values[among].T / lengths[among]
    part = short[some] @ short[among].T
    count = _count_near(len(values)) * part.shape[1] // len(values)
    nearest = np.argpartition(whole, -10)[:, -10:]
    least = np.partition(part, -count)[:, -count]
    return float((np.take_along_axis(part, nearest, 1) >= least[:, None]).mean())


def _count_near(vectors: int) -> int:
    return max(_NEAR, vectors // _SHARE)


class Matrix:
    """The vectors as a numpy array, straight from the mapped file."""

    def __init__(self, vectors: Vectors) -> None:
        self.rows: NDArray[np.int64] = np.asarray(vectors.rows)
        self._vectors, self._shape = vectors, (len(self.rows), vectors.dimension)
        self._unchecked = np.asarray(vectors.unchecked(), np.float32).reshape(self._shape)
        self._short: NDArray[np.float32] | None = None
        if vectors.is_shortened:
            self._short = np.asarray(vectors.short(), np.float32).reshape(len(self.rows), SHORT)

    @cached_property
    def values(self) -> NDArray[np.float32]:
        return np.asarray(self._vectors.matrix(), np.float32).reshape(self._shape)

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        self._vectors.check_places(places.tolist())
        vectors: NDArray[np.float32] = self._unchecked[places]
        return vectors

    @cached_property
    def _scale(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """One by the length of each vector, and the places of those that float32 cannot scale."""
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", self.values, self.values)
        ordinary = (squares > _ORDINARY[0]) & (squares < _ORDINARY[1])
        others = np.flatnonzero(~ordinary)
        scale = (1.0 / np.sqrt(np.where(ordinary, squares, np.inf))).astype(np.float32)
        return scale, others[self.values[others].any(axis=1)]

    def compare(self, vector: Sequence[float]) -> CosineScores:
        question = np.asarray(vector, np.float64)
        size = math.sqrt(math.fsum((question * question).tolist())) or 1.0
        return CosineScores(self, question, size)

    def all_cosines(self, question: NDArray[np.float64], size: float) -> NDArray[np.float32]:
        unit, (scale, others) = (question / size).astype(np.float32), self._scale
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            cosines: NDArray[np.float32] = (self.values @ unit) * scale
        cosines[others] = self.exact(others, question, size)
        return np.maximum(cosines, np.float32(0.0))

    def near_cosines(
        self, question: NDArray[np.float64], size: float
    ) -> tuple[NDArray[np.float32], int] | None:
        """Cosines of the nearest, and guesses of all others that are lower; and of how many."""
        if self._short is None:
            return None
        unit = (question / size).astype(np.float32)
        part = unit[:SHORT]
        guesses = self._short @ (part / (np.linalg.norm(part) or 1.0))
        count = _count_near(len(guesses))
        near = np.sort(np.argpartition(guesses, -count)[-count:])
        vectors = self.at(near)
        cosines = vectors @ unit / np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        cosines = np.maximum(cosines, _SOME)
        guesses = np.clip(guesses, _SOME, cosines.min())
        guesses[near] = cosines
        return guesses, count

    def exact(
        self, places: NDArray[np.int64], question: NDArray[np.float64], size: float
    ) -> list[float]:
        """The same numbers as `semantic.cosine`: computed in float64 and rounded."""
        cosines: list[float] = []
        for start in range(0, len(places), _BLOCK):
            vectors = self.at(places[start : start + _BLOCK]).astype(np.float64)
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * size
            cosines += (vectors @ question / np.where(lengths > 0.0, lengths, 1.0)).tolist()
        return [round(value, DIGITS) for value in cosines]


class CosineScores:
    """`SignalScores`: approximate cosines of all chunks, exact ones of the chunks returned."""

    ceiling = 1.0

    def __init__(self, matrix: Matrix, question: NDArray[np.float64], size: float) -> None:
        self._matrix, self._question, self._size = matrix, question, size
        near = matrix.near_cosines(question, size)
        # How many of the best are certain: all, or so many that are far above the guesses.
        self._certain = near[1] // _CERTAIN if near else len(matrix.rows)
        self._cosines = near[0] if near else self._whole
        self._all = DenseScores(self._cosines, RowPlaces(matrix.rows))
        self._best: dict[int, list[int]] = {}  # by pool: several stages ask for the same

    @cached_property
    def _whole(self) -> NDArray[np.float32]:
        return self._matrix.all_cosines(self._question, self._size)

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            if pool not in self._best:
                cosines = self._cosines if pool <= self._certain else self._whole
                self._best[pool] = self._ranked(_near_best(cosines, pool), pool)
            return self._best[pool]
        allowed = self._all.places(np.asarray(among, np.int64))
        return self._ranked(allowed[_near_best(self._whole[allowed], pool)], pool)

    def _ranked(self, places: NDArray[np.int64], pool: int) -> list[int]:
        scores = self._exact(places)
        order = sorted(range(len(places)), key=lambda n: (-scores[n], places[n]))
        return [int(self._matrix.rows[places[n]]) for n in order[:pool] if scores[n] >= FAINTEST]

    def hits(self, rows: Collection[int]) -> list[Hit]:
        hits = self._all.hits(rows)
        scores = self._exact(self._all.places(np.array([hit.row for hit in hits], np.int64)))
        pairs = zip(hits, scores, strict=True)
        return [hit._replace(score=score) for hit, score in pairs if score >= FAINTEST]

    def above(self, scores: Sequence[float]) -> list[int]:
        return self._all.above(scores)

    def _exact(self, places: NDArray[np.int64]) -> list[float]:
        return self._matrix.exact(places, self._question, self._size)


def _near_best(cosines: NDArray[np.float32], pool: int) -> NDArray[np.int64]:
    """Places that may be among the best: above `argpartition`'s cut, or a little below."""
    cut = FAINTEST if len(cosines) <= pool else max(float(nth_best(cosines, pool)), FAINTEST)
    return np.flatnonzero(cosines >= cut - _BLUR)
