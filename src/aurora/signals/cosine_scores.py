"""Cosines with numpy: approximate ones of the vectors near a question, exact ones of the best.

A segment without codes is multiplied with the question. Of one with codes, the nearest vectors are
found by their bits (`vector_codes`). The best of all segments are computed again in double
precision, so that a score never depends on how a vector was found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property, partial
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aurora.concurrency import BackgroundTask
from aurora.signals.dense_scores import nth_best, segment_rows
from aurora.signals.index_file import Arrays
from aurora.signals.semantic import DIGITS, FAINTEST
from aurora.signals.vector_codes import CodedVectors, Floats, Near, Places, multiply, unit
from aurora.signals.vector_index import Vectors, VectorSegment
from aurora.types import Hit

# float32 loses less than 1e-6 in a product of some hundred numbers. Cosines within this distance of
# the last accepted one are computed again in double precision.
_BLUR = 1e-5
_BLOCK = 1000  # vectors converted to float64 at a time
_DEPTH = 20  # near vectors for each one that is asked for
_FIRST = 100  # scores that have exact ranks; a search asks for so many
# The vectors of a segment in float32, also for the next version of an index that has it.
_VALUES: WeakKeyDictionary[Arrays, Floats] = WeakKeyDictionary()


class PlainVectors:
    """The vectors of a segment without codes, in float32."""

    def __init__(self, segment: VectorSegment) -> None:
        matrix = np.asarray(segment.read("matrix")).view("<f2")
        self._halves: NDArray[np.float16] = matrix.reshape(-1, segment.dimension)
        if segment.arrays not in _VALUES:
            _VALUES[segment.arrays] = unit(self._halves)
        self._values = _VALUES[segment.arrays]
        self._live = np.delete(np.arange(segment.size), np.asarray(segment.removed, np.int64))

    def nearest(self, question: Floats, count: int, among: Places | None = None) -> Near:  # noqa: ARG002
        """All vectors, or those of the places `among`."""
        places = self._live if among is None else among
        cosines = multiply(self._values, question)
        if len(places) < len(cosines):
            cosines = cosines[places]
        return Near(places, cosines, _BLUR, is_all=True)

    def sample_cosines(self, question: Floats) -> tuple[Floats, int]:
        return self.nearest(question, 0).cosines, 1

    def read(self, places: Places) -> NDArray[np.float16]:
        """Vectors as the store has them."""
        return self._halves[places]


class Matrix:
    """The vectors of an index, opened for questions."""

    def __init__(self, vectors: Vectors) -> None:
        self._segments = vectors.segments
        self._parts = [
            (CodedVectors if each.has_codes else PlainVectors)(each) for each in self._segments
        ]
        self._starts = np.cumsum([0, *(each.size for each in self._segments)])
        self.places = segment_rows(self._segments)

    def compare(self, vector: Sequence[float]) -> CosineScores:
        question = np.asarray(vector, np.float64)
        size = math.sqrt(math.fsum((question * question).tolist())) or 1.0
        return CosineScores(self, question, size)

    def nearest(self, question: Floats, count: int, among: Places | None = None) -> list[Near]:
        """The nearest of each segment, at least `count` of all: of the ascending places `among`.

        Two threads share the segments, if several are large: numpy lets both run.
        """
        parts = list(zip(self._parts, self._bounds(), strict=True))
        find = partial(_find_nearest, question=question, count=count, among=among)
        if sum(each.has_codes for each in self._segments) < 2:
            return find(parts)
        half = BackgroundTask(partial(find, parts[1::2]))
        return find(parts[::2]) + half.result()

    def sample_cosines(self, question: Floats) -> list[tuple[Floats, int]]:
        """For each segment the cosines of some vectors, and how many each of them stands for."""
        return [part.sample_cosines(question) for part in self._parts]

    def _bounds(self) -> list[tuple[int, int]]:
        return list(zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True))

    def exact(self, places: Places, question: NDArray[np.float64], size: float) -> list[float]:
        """The same numbers as `semantic.cosine`: computed in float64 and rounded."""
        cosines = np.zeros(len(places))
        for part, (start, stop) in zip(self._parts, self._bounds(), strict=True):
            inside = np.flatnonzero((places >= start) & (places < stop))
            for at in range(0, len(inside), _BLOCK):
                block = inside[at : at + _BLOCK]
                vectors = part.read(places[block] - start).astype(np.float64)
                lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * size
                products = multiply(vectors, question)
                cosines[block] = products / np.where(lengths > 0.0, lengths, 1.0)
        return [round(value, DIGITS) for value in cosines.tolist()]


def _find_nearest(
    parts: Sequence[tuple[CodedVectors | PlainVectors, tuple[int, int]]],
    *,
    question: Floats,
    count: int,
    among: Places | None,
) -> list[Near]:
    nearest = []
    for part, (start, stop) in parts:
        inside = None if among is None else among[(among >= start) & (among < stop)] - start
        near = part.nearest(question, count, inside)
        nearest.append(near._replace(places=near.places + start))
    return nearest


class CosineScores:
    """`SignalScores`: the exact cosines of all rows that are asked for.

    Which rows are the best is exact among the vectors that are near by their codes.
    """

    ceiling = 1.0

    def __init__(self, matrix: Matrix, question: NDArray[np.float64], size: float) -> None:
        self._matrix, self._question, self._size = matrix, question, size
        self._unit = (question / size).astype(np.float32)
        self._near: list[Near] = matrix.nearest(self._unit, 0)
        self._ranked: dict[int, list[tuple[float, int]]] = {}  # by pool

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            return [row for _, row in self._rank_all(pool)]
        places = np.sort(self._matrix.places.find(np.asarray(among, np.int64)))
        near = self._matrix.nearest(self._unit, _DEPTH * pool, places)
        return [row for _, row in self._rank(near, pool)]

    def _rank_all(self, pool: int) -> list[tuple[float, int]]:
        """The best scores of all, with their rows. Several stages ask for the same."""
        if pool not in self._ranked:
            self._ranked[pool] = self._rank(self._nearest(pool), pool)
        return self._ranked[pool]

    def _nearest(self, pool: int) -> list[Near]:
        count = _DEPTH * pool
        if all(len(near.places) >= count or near.is_all for near in self._near):
            return self._near
        return self._matrix.nearest(self._unit, count)

    def _rank(self, nearest: Sequence[Near], pool: int) -> list[tuple[float, int]]:
        """The best scores with their rows."""
        places = np.concatenate([np.zeros(0, np.int64), *(near.places for near in nearest)])
        cosines = np.concatenate([np.zeros(0, np.float32), *(near.cosines for near in nearest)])
        blur = max((near.blur for near in nearest), default=0.0)
        cut = FAINTEST if len(cosines) <= pool else max(float(nth_best(cosines, pool)), FAINTEST)
        places = places[cosines >= cut - 2.0 * blur]
        scores = self._matrix.exact(places, self._question, self._size)
        ranked = sorted(
            zip((-s for s in scores), self._matrix.places.rows[places].tolist(), strict=True)
        )
        return [(-score, row) for score, row in ranked[:pool] if -score >= FAINTEST]

    def hits(self, rows: Collection[int]) -> list[Hit]:
        known = {row: score for score, row in self._rank_all(_FIRST)}
        scored = [(row, known[row]) for row in rows if row in known]
        others = np.array(sorted(row for row in rows if row not in known), np.int64)
        places = self._matrix.places.find(others)
        scores = self._matrix.exact(places, self._question, self._size)
        pairs = zip(self._matrix.places.rows[places].tolist(), scores, strict=True)
        scored += [(row, score) for row, score in pairs if score >= FAINTEST]
        above = self.above([score for _, score in scored])
        return [Hit(row, score, 1 + n) for (row, score), n in zip(scored, above, strict=True)]

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score: exact among the first hundred, by
        approximate cosines among the nearest, and beyond them an estimate by a sample."""
        values = np.array(scores, np.float64)
        counts = _count_above(self._first, values)
        deep = np.flatnonzero((counts == len(self._first)) & (counts >= _FIRST))
        if len(deep):
            wider = _count_above(self._ascending, values[deep] + _BLUR)
            if values[deep].min() < self._floor:
                samples = (n * _count_above(each, values[deep]) for each, n in self._samples)
                wider = np.maximum(wider, sum(samples))
            counts[deep] = np.maximum(counts[deep], wider)
        numbers: list[int] = counts.tolist()
        return numbers

    @cached_property
    def _first(self) -> NDArray[np.float64]:
        """The highest scores, ascending."""
        return np.array([score for score, _ in self._rank_all(_FIRST)][::-1])

    @cached_property
    def _ascending(self) -> Floats:
        """The cosines of all near vectors."""
        return np.sort(np.concatenate([near.cosines for near in self._near]))

    @cached_property
    def _floor(self) -> float:
        """A cosine above which nearly all vectors are near: bits only tell about how near."""
        parts = [near.cosines for near in self._near if not near.is_all]
        return max((float(nth_best(each, 1 + len(each) // 4)) for each in parts), default=0.0)

    @cached_property
    def _samples(self) -> list[tuple[Floats, int]]:
        return [(np.sort(each), n) for each, n in self._matrix.sample_cosines(self._unit)]


def _count_above(ascending: Floats | NDArray[np.float64], values: NDArray[np.float64]) -> Places:
    counts: Places = len(ascending) - np.searchsorted(ascending, values, side="right")
    return counts
