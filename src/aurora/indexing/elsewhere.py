"""Vectors of chunks, made here or by other processes with the same model.

Texts go there and vectors come back; what a vector belongs to, nobody there knows.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, SpreadingError
from aurora.indexing.packing import packed, unit_rows
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aurora.indexing.spreading import Spreader

logger = logging.getLogger(__name__)

PATH_SHARE = 0.5  # of a file's path in the vectors of its chunks: docs/concepts/embeddings.md

Vectors: TypeAlias = list[bytes]
Made: TypeAlias = Generator[Vectors | None, None, None]  # none: each text must be tried alone


class ChunkText(NamedTuple):
    """What a vector is made of. The path's words weigh the same, however long the text is."""

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Who works, and how each of them makes its provider: by a function that its name finds."""

    spreader: Spreader
    make: Callable[[], EmbeddingProvider]

    def embed(self, embedder: Embedder, batches: Iterable[Sequence[ChunkText]]) -> Made:
        """The vectors of each batch, by no other embedder than this."""
        return self.spreader.map_batches(EmbedTexts(self.make, embedder), batches)


class EmbedTexts:
    """What is sent. The model is loaded with the first batch, and stays with the worker."""

    def __init__(self, make: Callable[[], EmbeddingProvider], embedder: Embedder) -> None:
        self._make, self._embedder = make, embedder
        self._provider: EmbeddingProvider | None = None

    def __call__(self, texts: Sequence[ChunkText]) -> Vectors | None:
        if self._provider is None:
            self._provider = self._checked()
        return try_vectors(self._provider, texts)

    def _checked(self) -> EmbeddingProvider:
        try:
            provider = self._make()
            found = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except Exception as exc:  # no such model there, or no package for it
            said = exc.in_one_line if isinstance(exc, AuroraError) else repr(exc)
            raise SpreadingError(f"On {platform.node()} nothing can be embedded: {said}") from exc
        if found != self._embedder:
            raise SpreadingError(
                f"On {platform.node()} the model is {found.name} ({found.fingerprint}), "
                f"not {self._embedder.name} ({self._embedder.fingerprint})",
                hint="give all machines the same model and the same version of Aurora",
            )
        return provider


def vectors_of(provider: EmbeddingProvider, texts: Sequence[ChunkText]) -> Vectors:
    """As a store keeps them. Raises whatever the provider does; it may be anybody's code."""
    made = _unit_rows(provider, [text.text for text in texts])
    paths = {path: at for at, path in enumerate(dict.fromkeys(text.path for text in texts))}
    if any(paths):  # of a file, one for all of its chunks
        places = _unit_rows(provider, [path or "-" for path in paths])
        told = [at for at, text in enumerate(texts) if text.path]
        made[told] += PATH_SHARE * places[[paths[texts[at].path] for at in told]]
        made = unit_rows(made, count=len(texts), dimension=provider.dimension)
    return list(packed(made))


def _unit_rows(provider: EmbeddingProvider, texts: Sequence[str]) -> NDArray[np.float64]:
    made = provider.embed_batch(texts)
    return unit_rows(made, count=len(texts), dimension=provider.dimension)


def try_vectors(provider: EmbeddingProvider, texts: Sequence[ChunkText]) -> Vectors | None:
    """None where they cannot be made together: one text may be the reason."""
    if not texts:
        return []
    try:
        return vectors_of(provider, texts)
    except Exception as exc:  # in any way
        logger.info("a batch of %d could not be embedded: %r", len(texts), exc)
        return None
