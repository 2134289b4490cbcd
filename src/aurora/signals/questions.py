"""A question's vector, made by the model that made the chunks'."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.stores.base import Embedder

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
