"""Vectors for the chunks that have none, in batches, through any provider.

What cannot be embedded is told (seed 000, FR-10.2) and stays findable by keyword (Q5); the next run
tries it again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError
from aurora.stores.base import Embedder, Store
from aurora.types import Chunk, Listener, Progress, ignore_events

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

_GIVE_UP = 10  # failures in a row after which the provider counts as away


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many chunks had no vector, and what went wrong for some."""

    wanted: int = 0
    failed: int = 0
    warnings: tuple[str, ...] = ()
    gave_up: bool = False  # the provider was away, so that not all were tried

    @property
    def made(self) -> int:
        return self.wanted - self.failed

    def __add__(self, other: Embedded) -> Embedded:
        return Embedded(
            self.wanted + other.wanted,
            self.failed + other.failed,
            self.warnings + other.warnings,
            self.gave_up or other.gave_up,
        )


def embedding_text(chunk: Chunk) -> str:
    """What a vector is made of: the name and the path tell what the content is about."""
    parts = (chunk.qualified_name or chunk.name, chunk.telling_path, chunk.content)
    return "\n".join(filter(None, parts))


def embedder_of(provider: EmbeddingProvider) -> Embedder:
    """What it says of itself. `EmbeddingError` where it cannot: it may be anybody's code."""
    try:
        return Embedder(provider.name, provider.dimension, provider.fingerprint)
    except AuroraError:
        raise
    except Exception as exc:
        raise EmbeddingError(f"The embedding provider failed: {exc!r}") from exc


def embed_missing(
    store: Store, provider: EmbeddingProvider, *, listen: Listener = ignore_events
) -> Embedded:
    """Give every chunk that may be found a vector, if it has none."""
    missing = store.find_unembedded()
    if not missing:
        return Embedded()  # a model that is not needed is not loaded, not even for its name
    return embed(store, provider, missing, listen=listen)


def embed(
    store: Store,
    provider: EmbeddingProvider,
    chunk_ids: Sequence[str],
    *,
    listen: Listener = ignore_events,
) -> Embedded:
    """Give these chunks vectors. Each batch is kept as soon as it is made."""
    try:
        embedder, size = embedder_of(provider), max(provider.batch_size, 1)
        store.put_embeddings(embedder, ())  # refused here, where vectors of another are there
    except Exception as exc:  # a provider may fail in any way, and chunks are found by words then
        logger.warning("no vectors are made: %r", exc)
        return Embedded(len(chunk_ids), len(chunk_ids), (_said(exc),), gave_up=True)
    run = _Run(provider)
    for at in range(0, len(chunk_ids), size):
        if run.in_a_row >= _GIVE_UP:
            break
        wanted = chunk_ids[at : at + size]
        chunks = store.get_chunks(wanted)
        run.forgotten += len(wanted) - len(chunks)
        store.put_embeddings(embedder, run.embed(chunks))
        listen(Progress("Embedding", run.done + run.failed + run.forgotten, len(chunk_ids)))
    return run.report(len(chunk_ids) - run.forgotten)


def _said(exc: Exception) -> str:
    if isinstance(exc, AuroraError):
        return exc.in_one_line
    return f"The embedding provider failed: {exc!r}"


def packed(vectors: Sequence[Sequence[float]], *, count: int, dimension: int) -> Iterable[bytes]:
    """Each at length 1, as `pack_vector` does. `ValueError`: one is no vector."""
    import numpy as np  # noqa: PLC0415 - those who import this module may embed nothing

    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} texts")
    if wrong := [len(vector) for vector in vectors if len(vector) != dimension]:
        raise ValueError(f"a vector of {wrong[0]} numbers, not {dimension}")
    matrix = np.asarray(vectors, np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector with numbers that are not finite")
    scaled = matrix / _or_one(np.abs(matrix).max(axis=1, initial=0.0))  # no square overflows then
    unit = scaled / _or_one(np.linalg.norm(scaled, axis=1))
    return (row.tobytes() for row in unit.astype("<f2"))


def _or_one(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """As a column to divide by: a vector of no length stays as it is."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.where(lengths > 0.0, lengths, 1.0)[:, None]


class _Run:
    def __init__(self, provider: EmbeddingProvider) -> None:
        self._provider = provider
        self.done = self.failed = self.in_a_row = 0
        self.forgotten = 0  # chunks that left while others were embedded
        self.warnings: list[str] = []

    def embed(self, chunks: Sequence[Chunk]) -> list[tuple[str, bytes]]:
        """Ids and vectors of those that could be embedded."""
        if not chunks:
            return []
        try:
            made = self._vectors(chunks)
        except Exception as exc:  # a provider may fail in any way; then each is tried alone
            logger.info("a batch of %d could not be embedded: %r", len(chunks), exc)
            return [made for chunk in chunks for made in self._alone(chunk)]
        self.done, self.in_a_row = self.done + len(made), 0
        return made

    def _alone(self, chunk: Chunk) -> list[tuple[str, bytes]]:
        if self.in_a_row >= _GIVE_UP:
            return []
        try:
            made = self._vectors([chunk])
        except Exception as exc:
            self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
            reason = str(exc) or repr(exc)
            self.warnings.append(f"Failed to generate embedding for chunk {chunk.id}: {reason}")
            return []
        self.done, self.in_a_row = self.done + 1, 0
        return made

    def _vectors(self, chunks: Sequence[Chunk]) -> list[tuple[str, bytes]]:
        provider = self._provider
        made = provider.embed_batch([embedding_text(chunk) for chunk in chunks])
        vectors = packed(made, count=len(chunks), dimension=provider.dimension)
        return [(chunk.id, vector) for chunk, vector in zip(chunks, vectors, strict=True)]

    def report(self, wanted: int) -> Embedded:
        gave_up = self.in_a_row >= _GIVE_UP and self.done + self.failed < wanted
        if gave_up:
            self.warnings.append(
                f"{self._provider.name} failed {_GIVE_UP} times in a row: "
                f"{wanted - self.done - self.failed} more chunks were not tried"
            )
        return Embedded(wanted, wanted - self.done, tuple(self.warnings), gave_up)
