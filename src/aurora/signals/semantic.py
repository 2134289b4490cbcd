"""Meaning: the cosine of the question's vector and each chunk's.

Raw scores lie in (0, 1]; what points elsewhere or the other way is no answer. Numpy multiplies the
whole matrix at once and picks the best; of those the cosine is taken again, in double precision.
Without numpy it is so taken of all. So both ways give the same order (seed 001).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aurora.errors import EmbeddingError, IndexFileError
from aurora.signals.base import Answer, Question
from aurora.signals.questions import Embedders, QuestionEmbedder
from aurora.signals.sparse import SparseAnswer
from aurora.signals.vectors import VectorIndex, Vectors

if TYPE_CHECKING:
    from aurora.signals.cosines import Matrix  # it brings numpy along

# Of a cosine. Sums in another order differ in the sixteenth: rounded, they are the same number.
DIGITS = 9
FAINTEST = 1e-4  # a cosine below is a right angle, as far as float32 can tell


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return round(product / (length(first) * length(second) or 1.0), DIGITS)


def length(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in vector))


class SemanticSignal:
    """Ranks by meaning, with the vectors of one memory and the model that made them."""

    name = "semantic"

    def __init__(self, index: VectorIndex, embedders: Embedders) -> None:
        self._index, self._embedder = index, QuestionEmbedder(embedders)
        self._matrix: tuple[Vectors, Matrix] | None = None
        self._lock = threading.Lock()

    @property
    def reads_cjk(self) -> bool:
        """False when the model knows little of CJK. Unknown before there is a vector: then true."""
        vectors = self._index.current()
        return not len(vectors) or self._embedder.reads_cjk(vectors.embedder)

    def knows(self, question: Question) -> bool:
        """Likewise of the question's words."""
        vectors = self._index.current()
        return not len(vectors) or self._embedder.knows(question.text, vectors.embedder)

    def ask(self, question: Question) -> Answer:
        """Raises `EmbeddingError` when there is nothing to compare, or nothing to compare with."""
        vectors = self._index.current()
        if not len(vectors):
            raise EmbeddingError("No chunk has a vector yet", hint="make them with `aur mem index`")
        asked = self._embedder.embed(question.text, vectors.embedder)
        try:
            return self._answer(vectors, asked)
        except IndexFileError as exc:  # a damaged page shows itself when it is first read
            return self._answer(self._index.mend(vectors, exc), asked)

    def _answer(self, vectors: Vectors, asked: Sequence[float]) -> Answer:
        vectors.check()
        try:
            from aurora.signals.cosines import Matrix  # noqa: PLC0415 - numpy, if there is one
        except ImportError:
            return compare_one_by_one(vectors, asked)
        with self._lock:
            if self._matrix is None or self._matrix[0] is not vectors:
                self._matrix = (vectors, Matrix(vectors))
            matrix = self._matrix[1]
        return matrix.compare(asked)


def compare_one_by_one(vectors: Vectors, asked: Sequence[float]) -> SparseAnswer:
    """Every cosine in plain Python."""
    cosines = (
        (row, cosine(vectors.vector(place).tolist(), asked))
        for place, row in enumerate(vectors.rows.tolist())
    )
    return SparseAnswer({row: score for row, score in cosines if score >= FAINTEST})
