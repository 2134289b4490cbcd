"""Meaning: the cosine of the question's vector and each chunk's.

Raw scores lie in (0, 1]; what points elsewhere or the other way is no answer. Numpy multiplies the
whole matrix at once and picks the best; of those the cosine is taken again, in double precision.
Without numpy it is so taken of all. So both ways give the same order (seed 001).

A question's vector, made by the model that made the chunks'.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError, IndexFileError
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.signals.base import Answer, Question
from aurora.signals.matches import SparseAnswer
from aurora.signals.vector_index import VectorIndex, Vectors
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    from aurora.signals.cosines import Matrix  # it brings numpy along


# Who embeds questions for vectors of that origin. Raises an `AuroraError` where nobody can.
Embedders = Callable[[Embedder], EmbeddingProvider]


class QuestionEmbedder:
    """Loads the model with the first question, once for all threads."""

    def __init__(self, embedders: Embedders) -> None:
        self._embedders = embedders
        self._loaded: EmbeddingProvider | None = None
        self._lock = threading.Lock()

    def reads_cjk(self, owner: Embedder) -> bool:
        """False when the model knows little of CJK."""
        return bool(getattr(self._embedders(owner), "reads_cjk", True))

    def knows(self, text: str, owner: Embedder) -> bool:
        """False when the model says that it has no word of the question."""
        knows = getattr(self._embedders(owner), "knows", None)
        return knows is None or bool(knows(text))

    def embed(self, text: str, owner: Embedder) -> Sequence[float]:
        """The question's vector, as precise as those it is compared with."""
        provider = self._embedders(owner)
        try:
            asked = self._ask_model(provider, text)
            mine = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except AuroraError:
            raise
        except Exception as exc:  # a provider may fail in any way
            raise EmbeddingError(f"The question could not be embedded: {exc}") from exc
        owner.require(mine)
        if len(asked) != mine.dimension or not all(map(math.isfinite, asked)):
            raise EmbeddingError(f"{mine.name} gave no vector of {mine.dimension} finite numbers")
        vector = unpack_vector(pack_vector(unit_vector(asked)))
        if not any(vector):
            raise EmbeddingError(f"{mine.name} knows none of these words")
        return vector

    def _ask_model(self, provider: EmbeddingProvider, text: str) -> list[float]:
        """The first question loads the model, once for all threads; the others wait for it."""
        if self._loaded is provider:
            return list(map(float, provider.embed_query(text)))
        with self._lock:
            made = list(map(float, provider.embed_query(text)))
            self._loaded = provider
            return made


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
