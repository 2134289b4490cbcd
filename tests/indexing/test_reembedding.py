"""From one model to another: the old vectors serve until the new ones are there, and no longer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest

from aurora.errors import EmbeddingError
from aurora.indexing.embedding import Embedded, Reembedded, embed_missing, embedder_of, reembed
from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Note, Progress
from tests.builders import make_chunk
from tests.indexing.providers import VowelProvider, count_vowels, failing_for

OLD = Embedder("vowels", 5, "1")
NEW = Embedder("new", 5, "1")
CHUNKS = [make_chunk(name=f"f{number}", path="1.py") for number in range(12)]
IDS = [chunk.id for chunk in CHUNKS]


def named(provider: VowelProvider) -> VowelProvider:
    provider.name = "new"
    return provider


@pytest.fixture
def embedded(store: SQLiteStore) -> SQLiteStore:
    store.chunks.put_chunks(CHUNKS)
    assert embed_missing(store, VowelProvider()) == Embedded(12)
    return store


def state(store: SQLiteStore) -> tuple[Embedder | None, Embedder | None, int, int]:
    """Who is in use and who is next, and for how many chunks they have no vector."""
    missing = (store.vectors.find_unembedded(), store.vectors.find_unembedded(by_next=True))
    return store.vectors.embedder(), store.vectors.next_embedder(), *map(len, missing)


def test_all_vectors_are_made_and_then_take_over(embedded: SQLiteStore) -> None:
    provider = named(VowelProvider(batch_size=5))
    events: list[Event] = []
    assert reembed(embedded, provider, listen=events.append) == Reembedded(OLD, NEW, Embedded(12))
    assert state(embedded) == (NEW, None, 0, 12)
    assert [len(texts) for texts in provider.asked] == [5, 5, 2]
    assert events == [Progress("Embedding", done, 12) for done in (5, 10, 12)]


def test_an_error_of_several_lines_is_a_warning_in_one(embedded: SQLiteStore) -> None:
    for error, reason in (
        (EmbeddingError("The endpoint is away", hint="start it"), "The endpoint is away: start it"),
        (OSError("no\n\tway"), "no way"),
    ):
        provider = named(failing_for("def f7", error))
        embedded.chunks.put_chunks([make_chunk("def f7(): pass", name="f7", path="1.py")])
        warnings = reembed(embedded, provider).embedded.warnings
        assert warnings == (f"Failed to generate embedding for chunk 1.py:f7: {reason}",)


def test_a_memory_without_vectors_gets_its_first(store: SQLiteStore) -> None:
    store.chunks.put_chunks(CHUNKS)
    assert reembed(store, named(VowelProvider())) == Reembedded(None, NEW, Embedded(12))
    assert state(store) == (NEW, None, 0, 12)


def test_an_empty_memory_changes_hands_too(store: SQLiteStore) -> None:
    store.chunks.put_chunks(CHUNKS[:1])
    embed_missing(store, VowelProvider())
    store.chunks.delete_chunks(IDS)
    assert reembed(store, named(VowelProvider())) == Reembedded(OLD, NEW, Embedded())
    assert state(store) == (NEW, None, 0, 0)


def test_to_the_model_in_use_only_what_is_missing_is_made(embedded: SQLiteStore) -> None:
    """Whoever else was to take over is not any more."""
    embedded.vectors.start_reembedding(NEW)
    embedded.chunks.put_chunks([make_chunk(name="late", path="1.py")])
    provider = VowelProvider()
    assert reembed(embedded, provider) == Reembedded(OLD, OLD, Embedded(1))
    assert state(embedded) == (OLD, None, 0, 13)
    assert len(provider.asked) == 1


def test_what_cannot_be_embedded_is_named_and_keeps_nobody_waiting(embedded: SQLiteStore) -> None:
    done = reembed(embedded, named(failing_for("f7")))
    warning = "Failed to generate embedding for chunk 1.py:f7: model is away"
    assert done == Reembedded(OLD, NEW, Embedded(12, 1, (warning,)))
    assert (state(embedded), embedded.vectors.find_unembedded()) == ((NEW, None, 1, 12), [IDS[7]])


def test_a_model_that_is_away_takes_nothing_over(embedded: SQLiteStore) -> None:
    before = embedded.generation(), embedded.vectors.get_embeddings(IDS)
    done = reembed(embedded, named(failing_for("f")))
    assert not done.is_done
    assert (done.embedded.wanted, done.embedded.made, done.embedded.gave_up) == (12, 0, True)
    assert (embedded.generation(), embedded.vectors.get_embeddings(IDS)) == before
    assert state(embedded) == (OLD, NEW, 0, 12)


def test_a_model_that_embeds_nothing_takes_nothing_over(embedded: SQLiteStore) -> None:
    """However few there are: then it is not even away."""
    embedded.chunks.delete_chunks(IDS[3:])
    done = reembed(embedded, named(failing_for("f")))
    assert (done.is_done, done.embedded.failed, done.embedded.gave_up) == (False, 3, False)
    assert state(embedded) == (OLD, NEW, 0, 3)


def test_one_that_cannot_say_what_it_is_changes_nothing(embedded: SQLiteStore) -> None:
    class Failing(VowelProvider):
        @property
        def batch_size(self) -> int:
            raise OSError("disk")

        @batch_size.setter
        def batch_size(self, _: int) -> None: ...

    done = reembed(embedded, named(Failing()))
    told = "The embedding provider failed: OSError('disk')"
    assert done == Reembedded(OLD, NEW, Embedded(12, 12, (told,), gave_up=True), is_done=False)
    assert state(embedded) == (OLD, NEW, 0, 12)


def stopped_at(word: str) -> VowelProvider:
    def make(texts: Sequence[str]) -> list[list[float]]:
        if any(word in text for text in texts):
            raise KeyboardInterrupt
        return [count_vowels(text) for text in texts]

    return named(VowelProvider(make))


def test_an_interrupted_change_goes_on_where_it_was(embedded: SQLiteStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        reembed(embedded, stopped_at("f9"))
    assert state(embedded) == (OLD, NEW, 0, 4)
    provider, events = named(VowelProvider()), list[Event]()
    assert reembed(embedded, provider, listen=events.append) == Reembedded(OLD, NEW, Embedded(4))
    assert [len(texts) for texts in provider.asked] == [4]
    assert events[0] == Note("8 chunks have a vector of new already")
    assert state(embedded) == (NEW, None, 0, 12)


def test_a_change_that_goes_on_ends_also_where_the_rest_cannot_be_embedded(
    embedded: SQLiteStore,
) -> None:
    """Else the one chunk that no model takes would keep the others waiting for good."""
    with pytest.raises(KeyboardInterrupt):
        reembed(embedded, stopped_at("f11"))
    embedded.vectors.put_embeddings(NEW, [(id_, bytes(10)) for id_ in IDS[:11]])
    done = reembed(embedded, named(failing_for("f11")))
    assert (done.is_done, done.embedded.wanted, done.embedded.failed) == (True, 1, 1)
    assert (state(embedded), embedded.vectors.find_unembedded()) == ((NEW, None, 1, 12), [IDS[11]])


def test_a_change_of_mind_drops_what_was_made_for_the_first(embedded: SQLiteStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        reembed(embedded, stopped_at("f9"))
    third = VowelProvider(name="third")
    assert reembed(embedded, third) == Reembedded(OLD, embedder_of(third), Embedded(12))
    assert state(embedded) == (embedder_of(third), None, 0, 12)


def test_what_is_new_or_changed_meanwhile_is_embedded_before_the_end(
    embedded: SQLiteStore,
) -> None:
    """By another process: it goes on by the old model until then."""

    def make(texts: Sequence[str]) -> list[list[float]]:
        if any("f11" in text for text in texts):  # the last batch
            with closing(SQLiteStore(embedded.path)) as other:
                late = [
                    make_chunk(name="late", path="1.py"),
                    make_chunk("other", name="f0", path="1.py"),
                ]
                other.chunks.put_chunks(late)
                assert embed_missing(other, VowelProvider()) == Embedded(2)
                other.chunks.delete_chunks([IDS[1]])
        return [count_vowels(text) for text in texts]

    provider = named(VowelProvider(make))
    assert reembed(embedded, provider) == Reembedded(OLD, NEW, Embedded(14))
    assert state(embedded) == (NEW, None, 0, 12)
    assert sorted(provider.asked[-1]) == ["f0\nother", "late\ndef f(): pass"]
