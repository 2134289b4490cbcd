"""Makes vectors of chunks, in batches, with any provider.

A chunk that cannot be embedded is named in a warning and stays findable by its words; the next run
tries it again. `reembed` changes the model: it makes the new vectors beside those in use, which
serve all searches until the new ones replace them.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from aurora.concurrency import BackgroundTask
from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, ClusterError, EmbeddingError
from aurora.indexing.turns import PATIENCE, show_progress, write_turn
from aurora.quick_classes import dataclass
from aurora.stores.base import Embedder, Store, Work
from aurora.text import indexed_name
from aurora.types import EMBEDDING, Chunk, Listener, Note, Progress, ignore_events

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

LABEL_SHARE = 0.5  # weight of a label in the vector of its text: docs/concepts/embeddings.md
QUICK_FROM = 1_000  # chunks, for which a small transformer needs ten seconds
_SLOW_FROM = 50  # chunks; fewer are made sooner than the indexes of a large memory are brought up
_GIVE_UP = 10  # failures in a row after which the provider counts as away
_CACHE_BLOCK = 500  # chunks that are looked up in the cache at once
_RECIPE = b"1"  # of `vectors_of`; raise it when the same text comes to give another vector
_REMOTE_FROM = 40  # batches; fewer are done here before a cluster has loaded the model
# Words of a path, also those of getUserData. A number in a path says nothing.
_PATH_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])")
_SUFFIX = re.compile(r"\.\w+$")

Vectors: TypeAlias = list[bytes]
Results: TypeAlias = Generator[Vectors | None, None, None]  # of batches, in order
LabelRows: TypeAlias = "dict[str, NDArray[np.float64]]"  # vectors of the previous batch's labels


class ChunkText(NamedTuple):
    """The text that a vector is made of. A label has the same weight for a text of any length."""

    text: str
    label: str = ""


class RemoteEmbedder(Protocol):
    """Embeds batches on other machines, such as `RayEmbedder`."""

    def embed(self, embedder: Embedder, batches: Iterable[Sequence[ChunkText]]) -> Results:
        """The vectors of each batch, in order; None where each text must be tried alone.

        Raises `ClusterError` if the machines fail: batches without a result are not done.
        """
        ...


class CachedVectors(Protocol):
    """Vectors of one embedder by the digest of their text. No method raises."""

    @property
    def is_empty(self) -> bool: ...

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]: ...

    def put(self, vectors: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Keep vectors: the digest of the text, that of its file or document, the vector."""


class VectorCache(Protocol):
    """Vectors by content, which all memories of a user share."""

    def open(self, embedder: Embedder) -> AbstractContextManager[CachedVectors]: ...

    def forget(self, keys: Sequence[bytes], origins: Sequence[int]) -> None: ...


def cache_key(text: ChunkText) -> bytes:
    """A digest of all that a vector depends on, beside its embedder."""
    digest = hashlib.blake2b(_RECIPE, digest_size=16)
    label = text.label.encode("utf-8", "surrogatepass")
    digest.update(len(label).to_bytes(8, "little") + label)
    digest.update(text.text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def cache_origin(chunk: Chunk) -> int:
    """A number for the file of a chunk, or for its document or lesson."""
    name = (chunk.path or chunk.id).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(name, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def forget_vectors(cache: VectorCache, chunks: Iterable[Chunk]) -> None:
    """Remove the vectors of chunks, and of all earlier versions of their files."""
    keys, origins = set(), set()
    for chunk in chunks:
        keys.add(cache_key(embedding_text(chunk)))
        origins.add(cache_origin(chunk))
    if keys:
        cache.forget(sorted(keys), sorted(origins))


@dataclass(frozen=True, slots=True)
class Embedded:
    """The number of chunks without a vector, and what failed for some of them."""

    wanted: int = 0
    failed: int = 0
    warnings: tuple[str, ...] = ()
    gave_up: bool = False  # the provider was away, so not all chunks were tried
    cached: int = 0  # of `made`: taken from the cache

    @property
    def made(self) -> int:
        return self.wanted - self.failed

    def plus(self, other: Embedded) -> Embedded:
        return Embedded(
            self.wanted + other.wanted,
            self.failed + other.failed,
            (*self.warnings, *other.warnings),
            self.gave_up or other.gave_up,
            self.cached + other.cached,
        )


def embedding_text(chunk: Chunk) -> ChunkText:
    """The text of a chunk, and its label: the path, and the title of prose."""
    name = chunk.qualified_name or indexed_name(chunk)
    path = " ".join(_PATH_WORD.findall(_SUFFIX.sub("", chunk.telling_path)))
    if chunk.kind.is_prose:
        label = " ".join(filter(None, (name, path)))
        return ChunkText(chunk.content, label if label != chunk.content else "")
    return ChunkText("\n".join(filter(None, (name, chunk.content))), path)


def embedder_of(provider: EmbeddingProvider) -> Embedder:
    """The provider's name, dimension and fingerprint. `EmbeddingError` if it fails."""
    try:
        return Embedder(provider.name, provider.dimension, provider.fingerprint)
    except Exception as exc:
        raise _as_aurora_error(exc) from exc


def _as_aurora_error(exc: Exception) -> AuroraError:
    """A provider may fail in any way."""
    failed = f"The embedding provider failed: {exc!r}"
    return exc if isinstance(exc, AuroraError) else EmbeddingError(failed)


def try_vectors(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows | None = None
) -> Vectors | None:
    """The vectors of a batch; None if it fails, which may be due to one of its texts."""
    if not texts:
        return []
    try:
        return vectors_of(provider, texts, labels)
    except Exception as exc:  # a provider may fail in any way
        logger.info("a batch of %d could not be embedded: %r", len(texts), exc)
        return None


def vectors_of(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows | None = None
) -> Vectors:
    """The vectors as a store keeps them. Raises whatever the provider raises.

    `labels` are those of the previous batch: chunks of one file follow each other, so its path is
    embedded once.
    """
    rows = _embed_rows(provider, [text.text for text in texts])
    labels = {} if labels is None else labels
    if wanted := list(dict.fromkeys(text.label for text in texts if text.label)):
        new = [label for label in wanted if label not in labels]
        new_rows = dict(zip(new, _embed_rows(provider, new), strict=True)) if new else {}
        for label in labels.keys() - wanted:
            del labels[label]
        labels |= new_rows
        for at, text in enumerate(texts):
            if text.label:
                rows[at] += LABEL_SHARE * labels[text.label]
        rows = unit_rows(rows, count=len(texts), dimension=provider.dimension)
    return pack_rows(rows)


def _embed_rows(provider: EmbeddingProvider, texts: Sequence[str]) -> NDArray[np.float64]:
    vectors = provider.embed_batch(texts)
    return unit_rows(vectors, count=len(texts), dimension=provider.dimension)


def pack_rows(rows: NDArray[np.float64]) -> Vectors:
    """Each row as `pack_vector` packs it."""
    return [row.tobytes() for row in rows.astype("<f2")]


def unit_rows(
    vectors: Sequence[Sequence[float]] | NDArray[np.float64], *, count: int, dimension: int
) -> NDArray[np.float64]:
    """The vectors, each scaled to length 1. `ValueError` if one is not a vector."""
    import numpy as np  # noqa: PLC0415 - `add` without an embedder needs no numpy

    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} texts")
    if wrong := [len(vector) for vector in vectors if len(vector) != dimension]:
        raise ValueError(f"a vector of {wrong[0]} numbers, not {dimension}")
    matrix: NDArray[np.float64] = np.array(vectors, np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector with numbers that are not finite")

    largest = np.abs(matrix).max(axis=1, initial=0.0)
    matrix /= np.where(largest > 0.0, largest, 1.0)[:, None]  # so that no square overflows
    lengths = np.linalg.norm(matrix, axis=1)
    return matrix / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def embed_missing(
    store: Store,
    provider: EmbeddingProvider,
    *,
    quick: EmbeddingProvider | None = None,
    remote: RemoteEmbedder | None = None,
    cache: VectorCache | None = None,
    before_model: Callable[[], None] | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Make all missing vectors; by `quick`, if there are many and the memory has none yet."""
    missing = store.vectors.find_unembedded()
    if not missing:
        return Embedded()  # the model is not loaded
    if (
        quick is not None
        and len(missing) >= QUICK_FROM
        and store.vectors.embedder() is None
        and _has_many_uncached(store, provider, missing, cache)
    ):
        provider, remote, cache = quick, None, None  # a look into the cache takes as long
    return embed(
        store,
        provider,
        missing,
        remote=remote,
        cache=cache,
        before_model=before_model,
        listen=listen,
    )


def _has_many_uncached(
    store: Store, provider: EmbeddingProvider, chunk_ids: Sequence[str], cache: VectorCache | None
) -> bool:
    """Whether the cache lacks so many vectors that a quick provider is better."""
    if cache is None:
        return True
    try:
        embedder = embedder_of(provider)
    except AuroraError:  # `quick` may work
        return True
    uncached = 0
    with cache.open(embedder) as cached:
        if cached.is_empty:
            return True
        for _, vectors in _look_up(store, cached, chunk_ids):
            uncached += vectors.count(None)
            if uncached >= QUICK_FROM:
                return True
    return False


class _Batch(NamedTuple):
    """Chunks with their texts, and the generations that the texts have at least."""

    chunks: Sequence[Chunk]
    texts: Sequence[ChunkText]
    generations: Mapping[str, int]
    gone: int  # other chunks that were wanted


def _read(store: Store, chunk_ids: Sequence[str]) -> _Batch:
    """Read the chunks that still exist."""
    generations, chunks = store.chunks.generations(chunk_ids), store.chunks.get_chunks(chunk_ids)
    texts = [embedding_text(chunk) for chunk in chunks]
    return _Batch(chunks, texts, generations, len(chunk_ids) - len(chunks))


def _look_up(
    store: Store, cached: CachedVectors, chunk_ids: Sequence[str]
) -> Iterator[tuple[_Batch, list[bytes | None]]]:
    """The chunks, batch by batch, and the vectors that the cache has of them."""
    for at in range(0, len(chunk_ids), _CACHE_BLOCK):
        batch = _read(store, chunk_ids[at : at + _CACHE_BLOCK])
        keys = [cache_key(text) for text in batch.texts]
        vectors = cached.get(list(set(keys)))
        yield batch, [vectors.get(key) for key in keys]


def embed(
    store: Store,
    provider: EmbeddingProvider,
    chunk_ids: Sequence[str],
    *,
    remote: RemoteEmbedder | None = None,
    cache: VectorCache | None = None,
    before_model: Callable[[], None] | None = None,
    listen: Listener = ignore_events,
) -> Embedded:
    """Make vectors of chunks, and store them batch by batch. `remote` makes many batches.

    Vectors in the cache are not made again; new ones are added to it. `before_model` is called when
    the cache's vectors are stored, if the model must make many others.
    """
    try:
        embedder, size = embedder_of(provider), max(provider.batch_size, 1)
        store.vectors.put_embeddings(embedder, ())  # raises for vectors of another embedder
    except Exception as exc:  # a provider may fail in any way; words still find the chunks
        logger.warning("no vectors are made: %r", exc)
        reason = _as_aurora_error(exc).in_one_line
        return Embedded(len(chunk_ids), len(chunk_ids), (reason,), gave_up=True)
    with cache.open(embedder) if cache else nullcontext() as cached:
        run = _Run(store, provider, embedder, cached=cached, total=len(chunk_ids), listen=listen)
        new = run.use_cache(chunk_ids)
        if len(new) >= _SLOW_FROM and before_model is not None:
            before_model()
        batches = [new[at : at + size] for at in range(0, len(new), size)]
        if remote is not None and len(batches) >= _REMOTE_FROM:
            try:
                run.embed(batches, lambda texts: remote.embed(embedder, texts))
            except ClusterError as exc:
                logger.warning("the rest is embedded here: %r", exc)
                run.warnings.append(f"{exc.in_one_line}. What was left was embedded here")
        if run.in_a_row < _GIVE_UP:
            run.embed(batches[run.batches :], run.embed_here)
        return run.report()


class _Run:
    """One run of embedding: its counters, and what it does with each batch."""

    def __init__(
        self,
        store: Store,
        provider: EmbeddingProvider,
        embedder: Embedder,
        *,
        cached: CachedVectors | None,
        total: int,
        listen: Listener,
    ) -> None:
        self._store, self._provider, self._embedder = store, provider, embedder
        self._cached, self._total, self._listen = cached, total, listen
        self._labels: LabelRows = {}
        self.batches = 0  # done
        self.done = self.failed = self.in_a_row = self.cached = 0
        self.forgotten = 0  # chunks that were removed or changed meanwhile
        self.warnings: list[str] = []

    def use_cache(self, chunk_ids: Sequence[str]) -> Sequence[str]:
        """Store the vectors that the cache has; returns the other ids."""
        if self._cached is None or self._cached.is_empty:
            return chunk_ids
        new: list[str] = []
        for batch, vectors in _look_up(self._store, self._cached, chunk_ids):
            self.forgotten += batch.gone
            new += [c.id for c, v in zip(batch.chunks, vectors, strict=True) if v is None]
            known = len(vectors) - vectors.count(None)
            if known:
                self.done += known
                self._store_vectors(batch, vectors)
                self._tell_progress()
        self.cached = self.done
        return new

    def _tell_progress(self) -> None:
        done = self.done + self.failed + self.forgotten
        self._listen(Progress(EMBEDDING, done, self._total))

    def embed(
        self,
        batches: Iterable[Sequence[str]],
        make: Callable[[Iterable[Sequence[ChunkText]]], Results],
    ) -> None:
        """Store what `make` makes of each batch, until too many fail."""
        waiting: deque[_Batch] = deque()

        def texts() -> Iterator[Sequence[ChunkText]]:
            for chunk_ids in batches:
                waiting.append(batch := _read(self._store, chunk_ids))
                yield batch.texts

        with closing(make(texts())) as results:
            for vectors in results:
                self.forgotten += waiting[0].gone
                self._put(waiting.popleft(), vectors)
                self.batches += 1
                self._tell_progress()
                if self.in_a_row >= _GIVE_UP:
                    return

    def embed_here(self, batches: Iterable[Sequence[ChunkText]]) -> Results:
        """The next batches are read, and the last ones stored, while the provider works."""
        make = partial(try_vectors, self._provider)
        at_once: int = getattr(self._provider, "batches_at_once", 1)
        if at_once == 1:
            yield from map(partial(make, labels=self._labels), batches)
            return
        running: deque[BackgroundTask[Vectors | None]] = deque()
        for texts in batches:
            running.append(BackgroundTask(partial(make, texts)))
            if len(running) == at_once:
                yield running.popleft().result()
        for batch in running:
            yield batch.result()

    def _put(self, batch: _Batch, vectors: Sequence[bytes | None] | None) -> None:
        """Store new vectors, and keep them in the cache."""
        if vectors is None:
            pairs = zip(batch.chunks, batch.texts, strict=True)
            vectors = [self._embed_alone(chunk, text) for chunk, text in pairs]
        else:
            self.done += len(vectors)
            self.in_a_row = 0 if vectors else self.in_a_row
        if self._cached is not None:
            self._cached.put(
                (cache_key(text), cache_origin(chunk), vector)
                for chunk, text, vector in zip(batch.chunks, batch.texts, vectors, strict=True)
                if vector is not None
            )
        self._store_vectors(batch, vectors)

    def _store_vectors(self, batch: _Batch, vectors: Sequence[bytes | None]) -> None:
        """Store vectors of chunks that are unchanged. Another process may have changed some."""
        ids = [chunk.id for chunk in batch.chunks]
        made = [(id_, vector) for id_, vector in zip(ids, vectors, strict=True) if vector]
        with self._store.transaction():
            now, before = self._store.chunks.generations(ids), batch.generations
            kept = [(id_, v) for id_, v in made if id_ in now and now[id_] == before.get(id_)]
            self._store.vectors.put_embeddings(self._embedder, kept)
        self.forgotten += len(made) - len(kept)
        self.done -= len(made) - len(kept)

    def _embed_alone(self, chunk: Chunk, text: ChunkText) -> bytes | None:
        if self.in_a_row >= _GIVE_UP:
            return None
        try:
            [vector] = vectors_of(self._provider, [text], self._labels)
        except Exception as exc:
            self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
            message = exc.in_one_line if isinstance(exc, AuroraError) else str(exc)
            reason = " ".join(message.split()) or repr(exc)
            self.warnings.append(f"Failed to generate embedding for chunk {chunk.id}: {reason}")
            return None
        self.done, self.in_a_row = self.done + 1, 0
        return vector

    def report(self) -> Embedded:
        wanted = self._total - self.forgotten
        gave_up = self.in_a_row >= _GIVE_UP and self.done + self.failed < wanted
        if gave_up:
            self.warnings.append(
                f"{self._provider.name} failed {_GIVE_UP} times in a row: "
                f"{wanted - self.done - self.failed} more chunks were not tried"
            )
        return Embedded(wanted, wanted - self.done, tuple(self.warnings), gave_up, self.cached)


@dataclass(frozen=True, slots=True)
class Reembedded:
    """The embedder before, the wanted one, and how far the change came."""

    before: Embedder | None
    wanted: Embedder
    embedded: Embedded
    is_done: bool = True


def reembed(
    store: Store,
    provider: EmbeddingProvider,
    *,
    remote: RemoteEmbedder | None = None,
    cache: VectorCache | None = None,
    make_searchable: Callable[[], None] = lambda: None,
    waits: bool = True,
    listen: Listener = ignore_events,
) -> Reembedded:
    """Replace the memory's vectors by the provider's. A killed run continues where it stopped.

    Index runs may go on meanwhile: only the beginning and the end take a turn with them.
    `make_searchable` is called once the vectors are replaced. Another process that replaces the
    vectors is waited for, or without `waits` raises `StoreBusyError`.
    """
    turn = partial(write_turn, store, listen=listen)
    with write_turn(store, Work.VECTORS, listen=listen, patience=PATIENCE * waits) as tell:
        tell(Progress(EMBEDDING, 0, 0))
        with turn():
            before, wanted = store.vectors.embedder(), embedder_of(provider)
            if before is None or before == wanted:
                store.vectors.stop_reembedding()  # a change to a third embedder is abandoned
                embedded = embed_missing(store, provider, remote=remote, cache=cache, listen=listen)
                return Reembedded(before, wanted, embedded)
            store.vectors.start_reembedding(wanted)
        run = _Replacing(store, provider, remote, cache, show_progress(tell, listen))
        run.embed(least=_SLOW_FROM)
        with turn():
            run.embed(least=1)
            # A model that embeds nothing replaces nothing. Vectors of an earlier run count, too.
            count, missing = _count_next(store)
            is_done = not run.embedded.gave_up and (count > 0 or not missing)
            if is_done:
                store.vectors.finish_reembedding()
                make_searchable()
        return Reembedded(before, wanted, run.embedded, is_done)


class _Replacing:
    """Makes the vectors of the next embedder."""

    def __init__(
        self,
        store: Store,
        provider: EmbeddingProvider,
        remote: RemoteEmbedder | None,
        cache: VectorCache | None,
        listen: Listener,
    ) -> None:
        self._store = store
        self._embed = partial(embed, store, provider, remote=remote, cache=cache, listen=listen)
        self._failed = set[str]()  # and all chunks of the same pass: they cannot be told apart
        self.embedded = Embedded()
        if count := _count_next(store)[0]:
            listen(Note(f"{count:,} chunks have a vector of {provider.name} already"))

    def embed(self, *, least: int) -> None:
        """Embed until fewer than `least` chunks are left: others may be added meanwhile."""
        while not self.embedded.gave_up:
            missing = [id_ for id_ in _count_next(self._store)[1] if id_ not in self._failed]
            if len(missing) < least:
                return
            embedded = self._embed(missing)
            self.embedded = self.embedded.plus(embedded)
            if embedded.failed:
                self._failed |= set(missing)


def _count_next(store: Store) -> tuple[int, list[str]]:
    """The number of chunks with a vector of the next embedder, and the ids of the others."""
    missing = store.vectors.find_unembedded(by_next=True)
    return sum(store.chunks.count_chunks().values()) - len(missing), missing
