"""Vectors for benchmarks: the quick bundled model, and random vectors."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from aurora.embeddings.aurora.provider import SHALLOW, AuroraProvider
from aurora.embeddings.base import ProviderOptions


class BundledEmbedder(AuroraProvider):
    """The quick bundled model, made without options."""

    def __init__(self) -> None:
        super().__init__(ProviderOptions(SHALLOW))


class DrawnVectors(BundledEmbedder):
    """Random vectors of the same size: their cost does not depend on what they say."""

    batch_size = 1000

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - not before it is needed

        drawn = [np.random.default_rng(crc32(text.encode())) for text in texts]
        vectors = np.array([lot.standard_normal(self.dimension, np.float32) for lot in drawn])
        scaled: Sequence[Sequence[float]] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled
