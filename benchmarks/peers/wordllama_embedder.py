"""Vectors for benchmarks: the default model under a name of its own, and vectors drawn by lot."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from aurora.embeddings.static import StaticProvider

from aurora.embeddings.base import ProviderOptions


class WordLlamaEmbedder(StaticProvider):
    """The static provider, which nothing must be told."""

    def __init__(self) -> None:
        super().__init__(ProviderOptions())


class DrawnVectors(WordLlamaEmbedder):
    """Vectors of the same size drawn by lot: what they cost does not depend on what they say."""

    batch_size = 1000

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - not before it is needed

        drawn = [np.random.default_rng(crc32(text.encode())) for text in texts]
        vectors = np.array([lot.standard_normal(self.dimension, np.float32) for lot in drawn])
        scaled: Sequence[Sequence[float]] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled
