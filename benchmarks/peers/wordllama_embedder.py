"""WordLlama as an embedding provider: static vectors, small enough for every benchmark machine.

    pip install wordllama==0.4.0.post1

For measuring only: its weights derive from Llama 2, so Aurora neither ships nor needs it. It is
loaded with the first text. The wheel keeps its tokenizer where its own loader does not look, unless
it is told that the package's folder is a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from wordllama import WordLlamaInference


class WordLlamaEmbedder:
    """Satisfies `aurora.embeddings.base.EmbeddingProvider`. Vectors have length 1."""

    name = "wordllama"
    dimension = 256
    batch_size = 16  # a batch is as wide as its longest text

    @cached_property
    def fingerprint(self) -> str:
        return f"l2_supercat-{self.dimension}-{metadata.version('wordllama')}"

    @cached_property
    def _model(self) -> WordLlamaInference:
        import wordllama  # noqa: PLC0415 - slow, and not needed for cached vectors

        folder = Path(wordllama.__file__).parent
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - as above

        vectors = self._model.embed(list(texts), norm=False)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Sequence[Sequence[float]] = vectors / np.maximum(lengths, 1e-12)  # "" has none
        return scaled

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]


class DrawnVectors(WordLlamaEmbedder):
    """Vectors of the same size drawn by lot: what they cost does not depend on what they say."""

    batch_size = 1000

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - as above

        drawn = [np.random.default_rng(crc32(text.encode())) for text in texts]
        vectors = np.array([lot.standard_normal(self.dimension, np.float32) for lot in drawn])
        scaled: Sequence[Sequence[float]] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled
