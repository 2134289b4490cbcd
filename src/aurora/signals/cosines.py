"""Cosines of all vectors of a memory at once: `matrix @ question`, then the best by partition."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from aurora.signals.dense_scores import DenseScores, nth_best
from aurora.signals.semantic import DIGITS, FAINTEST
from aurora.signals.vector_index import Vectors
from aurora.types import Hit

# float32 loses less than 1e-6 in a product of some hundred numbers. Cosines within this distance of
# the last accepted one are computed again in double precision.
_BLUR = 1e-5
_BLOCK = 1000  # vectors converted to float64 at a time
_ORDINARY = (1e-20, 1e20)  # squared lengths that float32 can hold


class Matrix:
    """The vectors as a numpy array, straight from the mapped file."""

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

    def compare(self, vector: Sequence[float]) -> CosineScores:
        question = np.asarray(vector, np.float64)
        size = math.sqrt(math.fsum((question * question).tolist())) or 1.0
        unit = (question / size).astype(np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            cosines = (self.values @ unit) * self._scale
        cosines[self._others] = self.exact(self._others, question, size)
        return CosineScores(self, cosines, question, size)

    def exact(
        self, places: NDArray[np.int64], question: NDArray[np.float64], size: float
    ) -> list[float]:
        """The same numbers as `semantic.cosine`: computed in float64 and rounded."""
        cosines: list[float] = []
        for start in range(0, len(places), _BLOCK):
            vectors = self.values[places[start : start + _BLOCK]].astype(np.float64)
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * size
            cosines += (vectors @ question / np.where(lengths > 0.0, lengths, 1.0)).tolist()
        return [round(value, DIGITS) for value in cosines]


class CosineScores:
    """`SignalScores`: approximate cosines of all chunks, exact ones of the chunks returned."""

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
        self._all = DenseScores(self._cosines, matrix.rows)

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
        hits = self._all.hits(rows)
        scores = self._exact(self._all.places(np.array([hit.row for hit in hits], np.int64)))
        pairs = zip(hits, scores, strict=True)
        return [hit._replace(score=score) for hit, score in pairs if score >= FAINTEST]

    def _exact(self, places: NDArray[np.int64]) -> list[float]:
        return self._matrix.exact(places, self._question, self._size)


def _contenders(cosines: NDArray[np.float32], pool: int) -> NDArray[np.int64]:
    """Places that may be among the best: above `argpartition`'s cut, or a little below."""
    cut = FAINTEST if len(cosines) <= pool else max(float(nth_best(cosines, pool)), FAINTEST)
    return np.flatnonzero(cosines >= cut - _BLUR)
