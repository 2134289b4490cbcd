"""Cosines of all vectors of a memory at once: `matrix @ question`, then the best by partition."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from aurora.signals.matches import DenseAnswer, nth_best
from aurora.signals.semantic import DIGITS, FAINTEST
from aurora.signals.vector_index import Vectors
from aurora.types import Hit

# What float32 may lose in a product of some hundred numbers is below 1e-6: who is within so much of
# the last that gets in is looked at in double precision.
_BLUR = 1e-5
_AT_ONCE = 1000  # vectors made twice as wide at a time
_ORDINARY = (1e-20, 1e20)  # squared lengths; the squares of other vectors leave float32


class Matrix:
    """The vectors as numpy sees them, straight from the mapped file."""

    def __init__(self, vectors: Vectors) -> None:
        self.rows: NDArray[np.int64] = np.asarray(vectors.rows)
        flat = np.asarray(vectors.matrix(), np.float32)
        self.values = flat.reshape(len(self.rows), vectors.dimension)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", self.values, self.values)
        ordinary = (squares > _ORDINARY[0]) & (squares < _ORDINARY[1])
        self._scale = (1.0 / np.sqrt(np.where(ordinary, squares, np.inf))).astype(np.float32)
        others = np.flatnonzero(~ordinary)
        self._others = others[self.values[others].any(axis=1)]

    def compare(self, asked: Sequence[float]) -> CosineAnswer:
        question = np.asarray(asked, np.float64)
        size = math.sqrt(math.fsum((question * question).tolist()))
        unit = (question / (size or 1.0)).astype(np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            cosines = (self.values @ unit) * self._scale
        cosines[self._others] = self.exact(self._others, question, size or 1.0)
        return CosineAnswer(self, cosines, question, size or 1.0)

    def exact(
        self, places: NDArray[np.int64], question: NDArray[np.float64], size: float
    ) -> list[float]:
        """As `semantic.cosine`: in float64, and rounded to what both have in common."""
        cosines: list[float] = []
        for start in range(0, len(places), _AT_ONCE):
            vectors = self.values[places[start : start + _AT_ONCE]].astype(np.float64)
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * size
            cosines += (vectors @ question / np.where(lengths > 0.0, lengths, 1.0)).tolist()
        return [round(value, DIGITS) for value in cosines]


class CosineAnswer:
    """An `Answer` from approximate cosines of all chunks and exact ones of those that matter."""

    ceiling = 1.0

    def __init__(
        self,
        matrix: Matrix,
        cosines: NDArray[np.float32],
        question: NDArray[np.float64],
        size: float,
    ) -> None:
        self._matrix, self._question, self._size = matrix, question, size
        self._cosines = np.maximum(cosines, 0.0)
        self._all = DenseAnswer(self._cosines, matrix.rows)

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None:
            places = _contenders(self._cosines, pool)
        else:
            allowed = self._all.places(np.asarray(among, np.int64))
            places = allowed[_contenders(self._cosines[allowed], pool)]
        scores = self._exact(places)
        order = sorted(range(len(places)), key=lambda n: (-scores[n], places[n]))
        return [int(self._matrix.rows[places[n]]) for n in order[:pool] if scores[n] >= FAINTEST]

    def hits(self, rows: Collection[int]) -> list[Hit]:
        found = self._all.hits(rows)
        places = self._all.places(np.array([hit.row for hit in found], np.int64))
        scores = self._exact(places)
        return [
            hit._replace(score=score)
            for hit, score in zip(found, scores, strict=True)
            if score >= FAINTEST
        ]

    def _exact(self, places: NDArray[np.int64]) -> list[float]:
        return self._matrix.exact(places, self._question, self._size)


def _contenders(cosines: NDArray[np.float32], pool: int) -> NDArray[np.int64]:
    """Places that may be among the best, by `argpartition`'s cut and a little below."""
    cut = FAINTEST if len(cosines) <= pool else max(float(nth_best(cosines, pool)), FAINTEST)
    return np.flatnonzero(cosines >= cut - _BLUR)
