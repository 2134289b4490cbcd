"""Vectors for the chunks that have none, in batches, through any provider.

What cannot be embedded is told (seed 000, FR-10.2) and stays findable by keyword (Q5); the next run
tries it again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from aurora.embeddings.base import EmbeddingProvider
from aurora.stores.base import Embedder, Store, pack_vector, unpack_vector
from aurora.types import Chunk, Listener, Progress, ignore_events

logger = logging.getLogger(__name__)

_GIVE_UP = 10  # failures in a row after which the provider counts as away


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many chunks had no vector, and what went wrong for some."""

    wanted: int = 0
    failed: int = 0
    warnings: tuple[str, ...] = ()


def embedding_text(chunk: Chunk) -> str:
    """What a vector is made of: the name and the path tell what the content is about."""
    parts = (chunk.qualified_name or chunk.name, chunk.telling_path, chunk.content)
    return "\n".join(filter(None, parts))


def embed_missing(
    store: Store, provider: EmbeddingProvider, *, listen: Listener = ignore_events
) -> Embedded:
    """Give every chunk that may be found a vector, if it has none."""
    missing = store.find_unembedded()
    if not missing:
        return Embedded()  # a model that is not needed is not loaded, not even for its name
    run = _Run(provider)
    embedder = Embedder(provider.name, provider.dimension, provider.fingerprint)
    for at in range(0, len(missing), provider.batch_size):
        if run.in_a_row >= _GIVE_UP:
            break
        wanted = missing[at : at + provider.batch_size]
        chunks = store.get_chunks(wanted)
        run.forgotten += len(wanted) - len(chunks)
        store.put_embeddings(embedder, run.embed(chunks))
        listen(Progress("Embedding", run.done + run.failed + run.forgotten, len(missing)))
    return run.report(len(missing) - run.forgotten)


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
            return [packed for chunk in chunks for packed in self._alone(chunk)]
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
        vectors = self._provider.embed_batch([embedding_text(chunk) for chunk in chunks])
        if len(vectors) != len(chunks):
            raise ValueError(f"{len(vectors)} vectors for {len(chunks)} texts")
        return [
            (chunk.id, self._packed(vector)) for chunk, vector in zip(chunks, vectors, strict=True)
        ]

    def _packed(self, vector: Sequence[float]) -> bytes:
        if len(vector) != self._provider.dimension:
            raise ValueError(f"a vector of {len(vector)} numbers, not {self._provider.dimension}")
        packed = pack_vector(vector)
        if not all(map(math.isfinite, unpack_vector(packed))):  # 1e300 is, but not as it is kept
            raise ValueError("a vector with numbers that are not finite")
        return packed

    def report(self, wanted: int) -> Embedded:
        if self.in_a_row >= _GIVE_UP and self.done + self.failed < wanted:
            self.warnings.append(
                f"{self._provider.name} failed {_GIVE_UP} times in a row: "
                f"{wanted - self.done - self.failed} more chunks were not tried"
            )
        return Embedded(wanted, wanted - self.done, tuple(self.warnings))
