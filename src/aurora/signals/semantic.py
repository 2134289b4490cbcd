"""The semantic signal: the cosine of the question's vector and each chunk's vector.

Raw scores lie in (0, 1]; a chunk at a right angle or beyond has no score. `cosines` multiplies the
whole matrix with numpy and computes the best again in double precision. Without numpy, plain Python
computes every cosine. Both ways return the same numbers (seed 001).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError, IndexFileError
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.signals.base import Question, SignalScores, SparseScores
from aurora.signals.vector_index import VectorIndex, Vectors
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    from aurora.signals.cosines import Matrix  # imports numpy

DIGITS = 9  # of a cosine: sums in another order differ only in the sixteenth
FAINTEST = 1e-4  # smaller cosines are right angles, as far as float32 can tell

# Returns the provider that embeds questions for vectors of an embedder, or raises `AuroraError`.
Embedders = Callable[[Embedder], EmbeddingProvider]


class QuestionEmbedder:
    """Embeds questions with the model that embedded the chunks."""

    def __init__(self, embedders: Embedders) -> None:
        self._embedders = embedders
        self._loaded: EmbeddingProvider | None = None
        self._lock = threading.Lock()

    def reads_cjk(self, owner: Embedder) -> bool:
        """False when the model knows little of CJK."""
        return bool(getattr(self._embedders(owner), "reads_cjk", True))

    def knows(self, text: str, owner: Embedder) -> bool:
        """False when the model reports that it knows no word of the question."""
        knows = getattr(self._embedders(owner), "knows", None)
        return knows is None or bool(knows(text))

    def embed(self, text: str, owner: Embedder) -> Sequence[float]:
        """The question's vector, rounded as the stored vectors are."""
        provider = self._embedders(owner)
        try:
            numbers = self._embed_query(provider, text)
            model = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except AuroraError:
            raise
        except Exception as exc:  # a provider may raise anything
            raise EmbeddingError(f"The question could not be embedded: {exc}") from exc
        owner.require(model)
        if len(numbers) != model.dimension or not all(map(math.isfinite, numbers)):
            raise EmbeddingError(
                f"{model.name} did not return a vector of {model.dimension} finite numbers"
            )
        vector = unpack_vector(pack_vector(unit_vector(numbers)))
        if not any(vector):
            raise EmbeddingError(f"{model.name} knows none of these words")
        return vector

    def _embed_query(self, provider: EmbeddingProvider, text: str) -> list[float]:
        """The first call loads the model, once for all threads; other threads wait for it."""
        if self._loaded is provider:
            return list(map(float, provider.embed_query(text)))
        with self._lock:
            numbers = list(map(float, provider.embed_query(text)))
            self._loaded = provider
            return numbers


class SemanticSignal:
    """Ranks by meaning, with the vectors of one memory and the model that embedded them."""

    name = "semantic"

    def __init__(self, index: VectorIndex, embedders: Embedders) -> None:
        self._index, self._embedder = index, QuestionEmbedder(embedders)
        self._matrix: tuple[Vectors, Matrix] | None = None
        self._lock = threading.Lock()

    @property
    def reads_cjk(self) -> bool:
        """False when the model knows little of CJK. True while there are no vectors."""
        vectors = self._index.current()
        return not len(vectors) or self._embedder.reads_cjk(vectors.embedder)

    def knows(self, question: Question) -> bool:
        """False when the model knows no word of the question. True while there are no vectors."""
        vectors = self._index.current()
        return not len(vectors) or self._embedder.knows(question.text, vectors.embedder)

    def score(self, question: Question) -> SignalScores:
        """Raises `EmbeddingError` without vectors of chunks or without one of the question."""
        vectors = self._index.current()
        if not len(vectors):
            raise EmbeddingError("No chunk has a vector yet", hint="make them with `aur mem index`")
        vector = self._embedder.embed(question.text, vectors.embedder)
        try:
            return self._compare(vectors, vector)
        except IndexFileError as exc:  # a damaged page is detected when it is first read
            return self._compare(self._index.mend(vectors, exc), vector)

    def _compare(self, vectors: Vectors, vector: Sequence[float]) -> SignalScores:
        vectors.check()
        try:
            from aurora.signals.cosines import Matrix  # noqa: PLC0415 - needs numpy
        except ImportError:
            return compare_one_by_one(vectors, vector)
        with self._lock:
            if self._matrix is None or self._matrix[0] is not vectors:
                self._matrix = (vectors, Matrix(vectors))
            matrix = self._matrix[1]
        return matrix.compare(vector)


def compare_one_by_one(vectors: Vectors, vector: Sequence[float]) -> SparseScores:
    """Every cosine in plain Python."""
    rows = enumerate(vectors.rows.tolist())
    cosines = {row: cosine(vectors.vector(place).tolist(), vector) for place, row in rows}
    return SparseScores({row: score for row, score in cosines.items() if score >= FAINTEST})


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    lengths = [
        math.sqrt(math.fsum(value * value for value in vector)) for vector in (first, second)
    ]
    return round(product / (lengths[0] * lengths[1] or 1.0), DIGITS)
