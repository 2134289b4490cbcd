"""Vectors for the chunks that have none, in batches, through any provider.

What cannot be embedded is told (seed 000, FR-10.2) and stays findable by keyword (Q5); the next run
tries it again.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, EmbeddingError, SpreadingError
from aurora.indexing.elsewhere import (
    ChunkText,
    Elsewhere,
    LabelRows,
    Made,
    Vectors,
    try_vectors,
    vectors_of,
)
from aurora.stores.base import Embedder, Store
from aurora.types import Chunk, Listener, Progress, ignore_events

logger = logging.getLogger(__name__)

# Letters; of getUserData, each word: a number in a path says nothing.
_PATH_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])")
_SUFFIX = re.compile(r"\.\w+$")
MANY = 1_000  # chunks, for which a small transformer needs ten seconds
_GIVE_UP = 10  # failures in a row after which the provider counts as away
_WORTH = 40  # batches; fewer are made here before others have started and loaded the model


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


def embedding_text(chunk: Chunk) -> ChunkText:
    """What a vector is made of. The label is where the text stands: its path, and for prose its
    title; the name of code is one of its words, and tells what the others do."""
    name = chunk.qualified_name or chunk.name
    path = " ".join(_PATH_WORD.findall(_SUFFIX.sub("", chunk.telling_path)))
    if chunk.kind.is_prose:
        label = " ".join(filter(None, (name, path)))
        return ChunkText(chunk.content, label if label != chunk.content else "")
    return ChunkText("\n".join(filter(None, (name, chunk.content))), path)


def embedder_of(provider: EmbeddingProvider) -> Embedder:
    """What it says of itself. `EmbeddingError` where it cannot: it may be anybody's code."""
    try:
        return Embedder(provider.name, provider.dimension, provider.fingerprint)
    except AuroraError:
        raise
    except Exception as exc:
        raise EmbeddingError(f"The embedding provider failed: {exc!r}") from exc


def embed_missing(
    store: Store,
    provider: EmbeddingProvider,
    *,
    quick: EmbeddingProvider | None = None,
    elsewhere: Elsewhere | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Give every chunk that may be found a vector, if it has none: one of `quick`, where there are
    many and none has one yet."""
    missing = store.find_unembedded()
    if not missing:
        return Embedded()  # a model that is not needed is not loaded, not even for its name
    if quick is not None and len(missing) >= MANY and store.embedder() is None:
        return embed(store, quick, missing, listen=listen)
    return embed(store, provider, missing, elsewhere=elsewhere, listen=listen)


def embed(
    store: Store,
    provider: EmbeddingProvider,
    chunk_ids: Sequence[str],
    *,
    elsewhere: Elsewhere | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Give these chunks vectors. Each batch is kept as soon as it is made.

    Many are made `elsewhere`, if that is given; what cannot be made there is made here.
    """
    try:
        embedder, size = embedder_of(provider), max(provider.batch_size, 1)
        store.put_embeddings(embedder, ())  # refused here, where vectors of another are there
    except Exception as exc:  # a provider may fail in any way, and chunks are found by words then
        logger.warning("no vectors are made: %r", exc)
        return Embedded(len(chunk_ids), len(chunk_ids), (_said(exc),), gave_up=True)
    run = _Run(store, provider, embedder, len(chunk_ids), listen)
    batches = [chunk_ids[at : at + size] for at in range(0, len(chunk_ids), size)]
    if elsewhere is not None and len(batches) >= _WORTH:
        try:
            run.embed(batches, lambda texts: elsewhere.embed(embedder, texts))
        except SpreadingError as exc:
            logger.warning("the rest is embedded here: %r", exc)
            run.warnings.append(f"{exc.in_one_line}. What was left was embedded here")
    if run.in_a_row < _GIVE_UP:
        run.embed(batches[run.batches :], lambda texts: (run.make(some) for some in texts))
    return run.report()


def _said(exc: Exception) -> str:
    if isinstance(exc, AuroraError):
        return exc.in_one_line
    return f"The embedding provider failed: {exc!r}"


def _is_same(read: Chunk, there: Chunk | None) -> bool:
    """Whether a vector of the one is one of the other."""
    if there is None:
        return False
    return read == there or embedding_text(read) == embedding_text(there)


class _Run:
    def __init__(
        self,
        store: Store,
        provider: EmbeddingProvider,
        embedder: Embedder,
        total: int,
        listen: Listener,
    ) -> None:
        self._store, self._provider, self._embedder = store, provider, embedder
        self._total, self._listen = total, listen
        self._labels: LabelRows = {}
        self.batches = 0  # that are behind us
        self.done = self.failed = self.in_a_row = 0
        self.forgotten = 0  # chunks that left while others were embedded
        self.warnings: list[str] = []

    def embed(
        self,
        batches: Iterable[Sequence[str]],
        make: Callable[[Iterable[Sequence[ChunkText]]], Made],
    ) -> None:
        """Keep what is made of each batch, until too many fail."""
        waiting: deque[tuple[int, Sequence[Chunk]]] = deque()

        def texts() -> Iterator[Sequence[ChunkText]]:
            for wanted in batches:
                chunks = self._store.get_chunks(wanted)
                waiting.append((len(wanted), chunks))
                yield [embedding_text(chunk) for chunk in chunks]

        with closing(make(texts())) as made:
            for vectors in made:
                wanted, chunks = waiting.popleft()
                self.forgotten += wanted - len(chunks)
                self._keep(chunks, vectors)
                self.batches += 1
                done = self.done + self.failed + self.forgotten
                self._listen(Progress("Embedding", done, self._total))
                if self.in_a_row >= _GIVE_UP:
                    return

    def make(self, texts: Sequence[ChunkText]) -> Vectors | None:
        """By the provider itself, here."""
        return try_vectors(self._provider, texts, self._labels)

    def _keep(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Another process may have changed a chunk while its vector was made: then it is of a text
        that is no more."""
        if vectors is None:
            made = [made for chunk in chunks for made in self._alone(chunk)]
        else:
            made = [(chunk.id, vector) for chunk, vector in zip(chunks, vectors, strict=True)]
            self.done += len(made)
            self.in_a_row = 0 if made else self.in_a_row
        with self._store.transaction():
            there = {chunk.id: chunk for chunk in self._store.get_chunks([id_ for id_, _ in made])}
            old = {chunk.id for chunk in chunks if not _is_same(chunk, there.get(chunk.id))}
            fresh = [(id_, vector) for id_, vector in made if id_ not in old]
            self._store.put_embeddings(self._embedder, fresh)
        self.forgotten, self.done = (
            self.forgotten + len(made) - len(fresh),
            self.done - len(made) + len(fresh),
        )

    def _alone(self, chunk: Chunk) -> list[tuple[str, bytes]]:
        if self.in_a_row >= _GIVE_UP:
            return []
        try:
            made = vectors_of(self._provider, [embedding_text(chunk)], self._labels)
        except Exception as exc:
            self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
            reason = str(exc) or repr(exc)
            self.warnings.append(f"Failed to generate embedding for chunk {chunk.id}: {reason}")
            return []
        self.done, self.in_a_row = self.done + 1, 0
        return [(chunk.id, vector) for vector in made]

    def report(self) -> Embedded:
        wanted = self._total - self.forgotten
        gave_up = self.in_a_row >= _GIVE_UP and self.done + self.failed < wanted
        if gave_up:
            self.warnings.append(
                f"{self._provider.name} failed {_GIVE_UP} times in a row: "
                f"{wanted - self.done - self.failed} more chunks were not tried"
            )
        return Embedded(wanted, wanted - self.done, tuple(self.warnings), gave_up)
