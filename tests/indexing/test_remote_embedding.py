"""Many vectors are made by other machines, and nothing that goes wrong there costs a chunk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import pytest

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import ChunkText, Embedded, Vectors, embed_missing, try_vectors
from aurora.indexing.ray import load_same
from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Progress
from tests.builders import make_chunk
from tests.indexing import work
from tests.indexing.providers import VowelProvider, failing_for
from tests.indexing.test_embedding import made_of, vectors

MANY = 400  # chunks: a hundred batches of the provider, enough for other machines
AHEAD = 4  # batches that are under way


@dataclass
class Here:
    """A remote embedder in this process, which takes a few batches before it returns the first."""

    make: Callable[[], EmbeddingProvider]
    is_closed: bool = False

    def embed(
        self, embedder: Embedder, batches: Iterable[Sequence[ChunkText]]
    ) -> Generator[Vectors | None, None, None]:
        provider = load_same(self.make, embedder)
        waiting: list[Vectors | None] = []
        try:
            for texts in batches:
                waiting.append(try_vectors(provider, texts, {}))
                if len(waiting) > AHEAD:
                    yield waiting.pop(0)
            yield from waiting
        finally:
            self.is_closed = True


@pytest.fixture
def many(store: SQLiteStore) -> SQLiteStore:
    store.chunks.put_chunks(
        [make_chunk(name=f"f{n}", content=f"pie {n} " + "o" * n, path="1.py") for n in range(MANY)]
    )
    return store


def test_many_vectors_are_made_there_and_are_the_same(many: SQLiteStore) -> None:
    here = VowelProvider()
    told: list[Event] = []

    remote = Here(VowelProvider)
    assert embed_missing(many, here, remote=remote, listen=told.append) == Embedded(MANY)

    assert here.asked == []
    assert remote.is_closed
    assert vectors(many) == made_of(many)
    assert told == [Progress("Embedding", done, MANY) for done in range(4, MANY + 1, 4)]


def test_few_vectors_are_made_here(store: SQLiteStore) -> None:
    """Before another machine had started they are done."""
    store.chunks.put_chunks(
        [make_chunk(name=f"f{number}", path="1.py") for number in range(4 * 39)]
    )
    embedded = embed_missing(store, VowelProvider(), remote=Here(work.no_model))
    assert embedded == Embedded(4 * 39)


def test_one_text_that_fails_there_is_tried_here_and_named(many: SQLiteStore) -> None:
    here = failing_for("f7\n")

    embedded = embed_missing(many, here, remote=Here(partial(failing_for, "f7\n")))

    warning = "Failed to generate embedding for chunk 1.py:f7: model is away"
    assert embedded == Embedded(MANY, 1, (warning,))
    assert [len(texts) for texts in here.asked] == [1] * 4  # the four of its batch, each alone
    assert vectors(many).keys() == made_of(many).keys() - {"1.py:f7"}


def test_ten_failures_in_a_row_end_it(many: SQLiteStore) -> None:
    here, remote = failing_for("pie"), Here(partial(failing_for, "pie"))
    embedded = embed_missing(many, here, remote=remote)
    assert (embedded.failed, embedded.gave_up, len(here.asked)) == (MANY, True, 10)
    assert len(embedded.warnings) == 11
    assert remote.is_closed


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (work.no_model, "nothing can be embedded: There is no model vowels: get it"),
        (work.another_version, "the model is vowels (2), not vowels (1)"),
    ],
    ids=["missing", "another"],
)
def test_a_model_that_is_not_the_same_there_is_told_and_all_is_made_here(
    many: SQLiteStore, make: Callable[[], EmbeddingProvider], reason: str
) -> None:
    embedded = embed_missing(many, VowelProvider(), remote=Here(make))
    (warning,) = embedded.warnings
    assert reason in warning
    assert warning.endswith("What was left was embedded here")
    assert embedded == Embedded(MANY, warnings=(warning,))
    assert vectors(many) == made_of(many)


def test_a_chunk_that_changes_while_it_is_away_gets_no_old_vector(many: SQLiteStore) -> None:
    # It is in the second batch, which is under way by then.
    changed = make_chunk(name="f5", content="aaa", path="1.py")

    def change(event: Event) -> None:
        if event == Progress("Embedding", 4, MANY):
            many.chunks.put_chunks([changed])
            many.chunks.delete_chunks(["1.py:f6"])

    embedded = embed_missing(many, VowelProvider(), remote=Here(VowelProvider), listen=change)

    assert embedded == Embedded(MANY - 2)
    assert vectors(many).keys() == made_of(many).keys() - {"1.py:f5"}
    assert embed_missing(many, VowelProvider()) == Embedded(1)
    assert vectors(many) == made_of(many)


def test_what_was_made_before_an_interruption_is_kept(many: SQLiteStore) -> None:
    def interrupt(event: Event) -> None:
        if event == Progress("Embedding", 80, MANY):
            raise KeyboardInterrupt

    remote = Here(VowelProvider)
    with pytest.raises(KeyboardInterrupt):
        embed_missing(many, VowelProvider(), remote=remote, listen=interrupt)

    assert len(vectors(many)) == 80
    assert remote.is_closed
    assert embed_missing(many, VowelProvider()) == Embedded(MANY - 80)
    assert vectors(many) == made_of(many)
