"""One model takes over from another while the vector index is read, made, merged or saved.

Both make vectors of the same dimension: nothing but the index itself can tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from aurora.errors import EmbedderMismatchError
from aurora.indexing.embedding import (
    embed,
    embed_missing,
    embedder_of,
    embedding_text,
    reembed,
    vectors_of,
)
from aurora.packing import unpack_vector
from aurora.signals.base import Question
from aurora.signals.semantic import SemanticSignal
from aurora.signals.vector_index import VectorIndex, Vectors
from aurora.stores.base import Embedder, Revision
from aurora.stores.sqlite.store import SQLiteStore
from aurora.stores.sqlite.vectors import SQLiteVectors
from aurora.types import Event, Note
from tests.builders import NOW, make_chunk
from tests.indexing.providers import VowelProvider, count_vowels

CHUNKS = [make_chunk(vowel * 3, "_", f"_{vowel}") for vowel in "aeou"]
LATE = make_chunk("iii a", "_", "_ia")


class Reversed(VowelProvider):
    """The same numbers, from behind: no vector of a chunk here is one that the other makes."""

    def embed_query(self, text: str) -> Sequence[float]:
        return count_vowels(text)[::-1]


OLD = VowelProvider()
NEW = Reversed(lambda texts: [count_vowels(text)[::-1] for text in texts], fingerprint="2")
MODELS = {embedder_of(model): model for model in (OLD, NEW)}


class Watched(SQLiteStore):
    """Something happens when it is asked for the n-th time, counting each vector that is read."""

    def __init__(self, path: Path) -> None:
        self.asked, self.moment = 0, -1
        self.happen: Callable[[], None] = lambda: None
        super().__init__(path)
        self.vectors = WatchedVectors(self.database)
        self.vectors.count = self._count

    def _count(self) -> None:
        self.asked += 1
        if self.asked == self.moment:
            self.happen()

    def generation(self) -> int:
        self._count()
        return super().generation()


class WatchedVectors(SQLiteVectors):
    count: Callable[[], None]

    def embedder(self) -> Embedder | None:
        self.count()
        return super().embedder()

    def vector_revisions(self) -> dict[int, int]:
        self.count()
        return dict(super().vector_revisions())

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        for vector in super().iter_vectors(rows):
            self.count()
            yield vector


def take_over(path: Path) -> None:
    """By another process, as it were."""
    with closing(SQLiteStore(path)) as other:
        assert reembed(other, NEW).is_done


def fill(store: SQLiteStore) -> None:
    store.chunks.put_chunks(CHUNKS)
    embed_missing(store, OLD)


def fill_and_index(store: SQLiteStore) -> None:
    """So that there is an index to merge with."""
    fill(store)
    index_of(store).current()
    store.chunks.put_chunks([LATE])
    store.chunks.delete_chunks([CHUNKS[0].id])
    embed_missing(store, OLD)


def index_of(store: SQLiteStore, events: list[Event] | None = None) -> VectorIndex:
    listen = (events if events is not None else []).append
    return VectorIndex(store, store.path.with_name("vectors.idx"), now=lambda: NOW, listen=listen)


def of_one_embedder(vectors: Vectors, store: SQLiteStore) -> bool:
    """Whether each vector is what the embedder that they name makes of the chunk."""
    rows, model = list(contents(vectors)), MODELS[vectors.embedder]
    chunks = store.chunks.get_rows(rows)
    made = vectors_of(model, [embedding_text(chunks[row]) for row in rows])
    narrow = [list(unpack_vector(vector)) for vector in made]
    return list(contents(vectors).values()) == narrow


def stored(store: SQLiteStore) -> dict[int, list[float]]:
    vectors = store.vectors.iter_vectors()
    return {row: list(unpack_vector(vector)) for (row, _), vector in vectors}


def contents(vectors: Vectors) -> dict[int, list[float]]:
    return {row: list(vector) for row, _, vector in vectors.items()}


def at_every_moment(
    folder: Path, prepare: Callable[[SQLiteStore], None], work: Callable[[Watched], None]
) -> int:
    """Do the work with a takeover at its first question to the store, its second, and so on."""
    for moment in count(1):
        path = folder / str(moment) / "memory.db"
        with closing(SQLiteStore(path)) as store:
            prepare(store)
        with closing(Watched(path)) as watched:
            watched.asked, watched.moment = 0, moment
            watched.happen = lambda path=path: take_over(path)
            work(watched)
            if watched.asked < moment:
                return moment - 1
    raise AssertionError


@pytest.mark.parametrize("prepare", [fill, fill_and_index], ids=["made", "merged"])
def test_no_index_ever_holds_vectors_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[SQLiteStore], None]
) -> None:
    """Neither the one in use, nor the file, nor what the next process makes of it."""
    monkeypatch.setattr("aurora.stores.shared.PAGE", 1)  # a page may be of either

    def work(store: Watched) -> None:
        index = index_of(store)
        assert of_one_embedder(index.current(), store)
        assert of_one_embedder(index_of(store)._load(), store)
        if store.vectors.embedder() == embedder_of(NEW):
            for later in (index, index_of(store)):
                assert later.current().embedder == embedder_of(NEW)
                assert contents(later.current()) == stored(store)

    assert at_every_moment(tmp_path, prepare, work) > len(CHUNKS)


def test_a_question_is_asked_of_the_model_whose_vectors_it_meets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.shared.PAGE", 1)

    def work(store: Watched) -> None:
        signal = SemanticSignal(index_of(store), MODELS.__getitem__)
        for _ in range(2):
            for row, text in enumerate(["aa", "ee", "oo", "uu"], start=1):
                assert signal.score(Question(text, NOW)).best(9) == [row]

    assert at_every_moment(tmp_path, fill, work) > len(CHUNKS)


def test_a_long_running_index_says_that_another_model_took_over(tmp_path: Path) -> None:
    events: list[Event] = []
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        fill(store)
        index = index_of(store, events)
        assert index.current().embedder == embedder_of(OLD)
        take_over(store.path)
        assert index.current().embedder == embedder_of(NEW)
        assert contents(index.current()) == stored(store)
    assert events == [Note("Rebuilding vector index (vectors of another model)...")]


def test_vectors_that_wait_to_take_over_are_in_no_index(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        fill(store)
        index = index_of(store)
        before = index.current()
        store.vectors.start_reembedding(embedder_of(NEW))
        assert embed(store, NEW, [chunk.id for chunk in CHUNKS]).made == len(CHUNKS)
        assert index.current() is before
        assert contents(index_of(store).current()) == contents(before)


def test_who_asks_with_the_old_model_after_the_change_is_told(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        fill(store)
        signal = SemanticSignal(index_of(store), lambda _: OLD)
        assert signal.score(Question("aa", NOW)).best(9) == [1]
        take_over(store.path)
        with pytest.raises(EmbedderMismatchError, match="as it is now: 1, not 2"):
            signal.score(Question("aa", NOW))
