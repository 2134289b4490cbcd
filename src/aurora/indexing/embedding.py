"""Vectors for the chunks that have none, in batches, through any provider.

What cannot be embedded is told (seed 000, FR-10.2) and stays findable by keyword (Q5); the next run
tries it again.

Vectors of chunks, made here or by other processes with the same model.

Texts go there and vectors come back; what a vector belongs to, nobody there knows.

From one model to another: vectors are made beside those in use, and take their place at the end.

Until then every search goes by the old ones. What was made is kept batch by batch, so a run that
was killed is taken up where it was.
"""

from __future__ import annotations

import logging
import platform
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, ClusterError, EmbeddingError
from aurora.indexing.ray import packed, unit_rows
from aurora.indexing.turns import write_turn
from aurora.stores.base import Embedder, Store
from aurora.types import Chunk, Listener, Note, Progress, ignore_events

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aurora.indexing.ray import Spreader

logger = logging.getLogger(__name__)


LABEL_SHARE = 0.5  # of a label in the vector of its text: docs/concepts/embeddings.md

Vectors: TypeAlias = list[bytes]
LabelRows: TypeAlias = "dict[str, NDArray[np.float64]]"  # of the batch before
Made: TypeAlias = Generator[Vectors | None, None, None]  # none: each text must be tried alone


class ChunkText(NamedTuple):
    """What a vector is made of. A label weighs the same, however long the text is."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class RemoteEmbedder:
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
        self._labels: LabelRows = {}

    def __call__(self, texts: Sequence[ChunkText]) -> Vectors | None:
        if self._provider is None:
            self._provider = self._checked()
        return try_vectors(self._provider, texts, self._labels)

    def _checked(self) -> EmbeddingProvider:
        try:
            provider = self._make()
            found = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except Exception as exc:  # no such model there, or no package for it
            said = exc.in_one_line if isinstance(exc, AuroraError) else repr(exc)
            raise ClusterError(f"On {platform.node()} nothing can be embedded: {said}") from exc
        if found != self._embedder:
            raise ClusterError(
                f"On {platform.node()} the model is {found.name} ({found.fingerprint}), "
                f"not {self._embedder.name} ({self._embedder.fingerprint})",
                hint="give all machines the same model and the same version of Aurora",
            )
        return provider


def vectors_of(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows | None = None
) -> Vectors:
    """As a store keeps them. Raises whatever the provider does; it may be anybody's code.

    `labels`: what is known of the batch before. The chunks of a file come one after the other, and
    its path is asked for once.
    """
    made = _unit_rows(provider, [text.text for text in texts])
    labels = {} if labels is None else labels
    if told := list(dict.fromkeys(text.label for text in texts if text.label)):
        _learn(provider, told, labels)
        for at, text in enumerate(texts):
            if text.label:
                made[at] += LABEL_SHARE * labels[text.label]
        made = unit_rows(made, count=len(texts), dimension=provider.dimension)
    return list(packed(made))


def _learn(provider: EmbeddingProvider, told: Sequence[str], labels: LabelRows) -> None:
    """From now on, these are known and no others."""
    new = [label for label in told if label not in labels]
    rows = dict(zip(new, _unit_rows(provider, new), strict=True)) if new else {}
    known = {label: labels[label] for label in told if label in labels}
    labels.clear()
    labels.update(known | rows)


def _unit_rows(provider: EmbeddingProvider, texts: Sequence[str]) -> NDArray[np.float64]:
    made = provider.embed_batch(texts)
    return unit_rows(made, count=len(texts), dimension=provider.dimension)


def try_vectors(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows
) -> Vectors | None:
    """None where they cannot be made together: one text may be the reason."""
    if not texts:
        return []
    try:
        return vectors_of(provider, texts, labels)
    except Exception as exc:  # in any way
        logger.info("a batch of %d could not be embedded: %r", len(texts), exc)
        return None


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
    elsewhere: RemoteEmbedder | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Give every chunk that may be found a vector, if it has none: one of `quick`, where there are
    many and none has one yet."""
    missing = store.vectors.find_unembedded()
    if not missing:
        return Embedded()  # a model that is not needed is not loaded, not even for its name
    if quick is not None and len(missing) >= MANY and store.vectors.embedder() is None:
        return embed(store, quick, missing, listen=listen)
    return embed(store, provider, missing, elsewhere=elsewhere, listen=listen)


def embed(
    store: Store,
    provider: EmbeddingProvider,
    chunk_ids: Sequence[str],
    *,
    elsewhere: RemoteEmbedder | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Give these chunks vectors. Each batch is kept as soon as it is made.

    Many are made `elsewhere`, if that is given; what cannot be made there is made here.
    """
    try:
        embedder, size = embedder_of(provider), max(provider.batch_size, 1)
        store.vectors.put_embeddings(
            embedder, ()
        )  # refused here, where vectors of another are there
    except Exception as exc:  # a provider may fail in any way, and chunks are found by words then
        logger.warning("no vectors are made: %r", exc)
        return Embedded(len(chunk_ids), len(chunk_ids), (_said(exc),), gave_up=True)
    run = _Run(store, provider, embedder, len(chunk_ids), listen)
    batches = [chunk_ids[at : at + size] for at in range(0, len(chunk_ids), size)]
    if elsewhere is not None and len(batches) >= _WORTH:
        try:
            run.embed(batches, lambda texts: elsewhere.embed(embedder, texts))
        except ClusterError as exc:
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
                chunks = self._store.chunks.get_chunks(wanted)
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
            there = {
                chunk.id: chunk for chunk in self._store.chunks.get_chunks([id_ for id_, _ in made])
            }
            old = {chunk.id for chunk in chunks if not _is_same(chunk, there.get(chunk.id))}
            fresh = [(id_, vector) for id_, vector in made if id_ not in old]
            self._store.vectors.put_embeddings(self._embedder, fresh)
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


@dataclass(frozen=True, slots=True)
class Reembedded:
    """Whose vectors the memory had, whose it was to have, and how far that came."""

    before: Embedder | None
    wanted: Embedder
    embedded: Embedded
    is_done: bool = True


def reembed(
    store: Store,
    provider: EmbeddingProvider,
    *,
    elsewhere: RemoteEmbedder | None = None,
    listen: Listener = ignore_events,
) -> Reembedded:
    """Make the provider's vectors those of the memory. One who indexes at a time."""
    with write_turn(store, listen=listen):
        before, wanted = store.vectors.embedder(), embedder_of(provider)
        if before is None or before == wanted:
            store.vectors.stop_reembedding()  # whoever else was to take over no longer is
            made = embed_missing(store, provider, elsewhere=elsewhere, listen=listen)
            return Reembedded(before, wanted, made)
        store.vectors.start_reembedding(wanted)
        embedded = _embed_all(store, provider, elsewhere, listen)
        # A model that embeds nothing takes nothing over; what it made before counts, too.
        there, missing = _count(store)
        is_done = not embedded.gave_up and (there > 0 or not missing)
        if is_done:
            store.vectors.finish_reembedding()
        return Reembedded(before, wanted, embedded, is_done)


def _embed_all(
    store: Store, provider: EmbeddingProvider, elsewhere: RemoteEmbedder | None, listen: Listener
) -> Embedded:
    there, missing = _count(store)
    if there:
        listen(Note(f"{there:,} chunks have a vector of {provider.name} already"))
    first = embed(store, provider, missing, elsewhere=elsewhere, listen=listen)
    # What came or changed meanwhile. Where some failed, what changed cannot be told from them: it
    # waits for the next run of indexing.
    tried = set(missing) if first.failed else set()
    late = [id_ for id_ in store.vectors.find_unembedded(by_next=True) if id_ not in tried]
    return first if first.gave_up or not late else first + embed(store, provider, late)


def _count(store: Store) -> tuple[int, list[str]]:
    """How many chunks have a vector of the next embedder, and which have none."""
    missing = store.vectors.find_unembedded(by_next=True)
    return sum(store.chunks.count_chunks().values()) - len(missing), missing
