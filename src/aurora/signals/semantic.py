"""The semantic signal: the cosine of the question's vector and each chunk's vector.

Raw scores lie in (0, 1]; a chunk at a right angle or beyond has no score. `cosine_scores` finds the
nearest vectors with numpy and computes the best again in double precision. Without numpy, plain
Python computes every cosine. Both ways return the same numbers (seed 001).
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError, IndexFileError, NoVectorsError
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.signals.base import Question, RankedScores, SparseScores, import_if_numpy
from aurora.signals.vector_index import VectorIndex, Vectors
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    from aurora.signals.cosine_scores import Matrix  # imports numpy

DIGITS = 9  # of a cosine: sums in another order differ only in the sixteenth
FAINTEST = 1e-4  # smaller cosines are right angles, as far as float32 can tell

# Returns the provider that embeds questions for vectors of an embedder, or raises `AuroraError`.
Embedders = Callable[[Embedder], EmbeddingProvider]


class MeaningSignal(ABC):
    """Embeds questions with the model that embedded the chunks."""

    name = "semantic"

    def __init__(self, embedders: Embedders) -> None:
        self._embedders = embedders
        self._loaded: EmbeddingProvider | None = None
        self._loading = threading.Lock()

    @abstractmethod
    def _owner(self) -> Embedder | None:
        """The embedder of the memory's vectors; None while there are none."""

    @property
    def reads_cjk(self) -> bool:
        """False when the model knows little of CJK. True while there are no vectors."""
        return bool(getattr(self._provider(), "reads_cjk", True))

    def knows(self, question: Question) -> bool:
        """False when the model knows no word of the question. True while there are no vectors."""
        knows = getattr(self._provider(), "knows", None)
        return knows is None or bool(knows(question.text))

    @abstractmethod
    def score(
        self, question: Question, vectors: dict[Embedder, Sequence[float]] | None = None
    ) -> RankedScores:
        """The cosines. `vectors` keeps the question's vectors for the next memory.

        Raises `EmbeddingError` without vectors of chunks or without one of the question.
        """

    def mend(self) -> None:
        """Build a damaged index again."""
        return

    def _provider(self) -> EmbeddingProvider | None:
        owner = self._owner()
        return None if owner is None else self._embedders(owner)

    def _embed(
        self,
        question: Question,
        owner: Embedder | None,
        vectors: dict[Embedder, Sequence[float]] | None,
    ) -> Sequence[float]:
        """The question's vector, rounded as the stored vectors are. Raises `EmbeddingError`."""
        if owner is None:
            raise NoVectorsError("No chunk has a vector yet", hint="make them with `aur mem index`")
        vectors = {} if vectors is None else vectors
        if owner not in vectors:
            vectors[owner] = self._embed_for(question, owner)
        return vectors[owner]

    def _embed_for(self, question: Question, owner: Embedder) -> Sequence[float]:
        provider = self._embedders(owner)
        try:
            numbers = self._embed_query(provider, question.text)
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
        with self._loading:
            numbers = list(map(float, provider.embed_query(text)))
            self._loaded = provider
            return numbers


class SemanticSignal(MeaningSignal):
    """Ranks by meaning, with the vectors of one memory and the model that embedded them."""

    def __init__(self, index: VectorIndex, embedders: Embedders) -> None:
        super().__init__(embedders)
        self._index = index
        self._matrix: tuple[Vectors, Matrix] | None = None
        self._lock = threading.Lock()

    def _owner(self) -> Embedder | None:
        vectors = self._index.usable()
        return vectors.embedder if vectors is not None and len(vectors) else None

    def score(
        self, question: Question, vectors: dict[Embedder, Sequence[float]] | None = None
    ) -> RankedScores:
        index = self._index.usable()
        if index is None or not len(index):
            raise NoVectorsError("No chunk has a vector yet", hint="make them with `aur mem index`")
        vector = self._embed(question, index.embedder, vectors)
        try:
            return self._compare(index, vector)
        except IndexFileError as exc:  # a damaged page is detected when it is first read
            return self._compare(self._index.mend(index, exc), vector)

    def mend(self) -> None:
        vectors = self._index.usable()
        if vectors is None:
            return
        try:
            vectors.check_all()
        except IndexFileError as exc:
            self._index.mend(vectors, exc)

    def _compare(self, vectors: Vectors, vector: Sequence[float]) -> RankedScores:
        vectors.check()
        numpy = import_if_numpy("cosine_scores")
        if numpy is None:
            return compare_one_by_one(vectors, vector)
        with self._lock:
            if self._matrix is None or self._matrix[0] is not vectors:
                self._matrix = (vectors, numpy.Matrix(vectors))
            matrix = self._matrix[1]
        return matrix.compare(vector)


def compare_one_by_one(vectors: Vectors, vector: Sequence[float]) -> SparseScores:
    """Every cosine in plain Python."""
    cosines = {row: cosine(each, vector) for row, _, each in vectors.items()}
    return SparseScores({row: score for row, score in cosines.items() if score >= FAINTEST})


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    lengths = [
        math.sqrt(math.fsum(value * value for value in vector)) for vector in (first, second)
    ]
    return round(product / (lengths[0] * lengths[1] or 1.0), DIGITS)
