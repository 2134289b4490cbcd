"""Seed 003: creating a retriever opens nothing; the first question opens, the others reuse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

import pytest

from aurora.retrieval.retriever import HybridRetriever
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.vector_index import Vectors
from aurora.stores.base import Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Mode, Query, SearchResults
from tests.builders import make_chunk
from tests.retrieval.meaning import WordProvider, remember, retriever_on
from tests.threads import together

FILES = {"bm25.idx", "vectors.idx"}
index_files = pytest.mark.one_store("about index files, which a server's memory does not have")


class CountOpens(Protocol):
    def __call__(self) -> list[str]: ...


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> CountOpens:
    """The names of the index files that were looked for, in the order they were."""
    seen: list[str] = []
    real = DerivedIndex._open_or_merge

    def count(index: DerivedIndex[Vectors], generation: int) -> object:
        seen.append(index._path.name)
        return real(index, generation)

    monkeypatch.setattr(DerivedIndex, "_open_or_merge", count)
    return lambda: seen


def fill(store: Store) -> None:
    remember(store, *(make_chunk(f"test query {n}", name=f"f{n}") for n in range(300)))


def folder(store: SQLiteStore) -> Path:
    return store.path.parent / "indexes"


@index_files
def test_lazy_loading_not_triggered_on_init(store: SQLiteStore, opens: CountOpens) -> None:
    """No index is opened or written, and the provider not asked."""
    fill(store)
    provider = WordProvider()
    retriever_on(store, provider)
    assert opens() == []
    assert not folder(store).exists()
    assert (provider.queries, provider.batches) == ([], 0)


def test_a_retriever_on_a_store_that_cannot_be_read_is_made_all_the_same(tmp_path: Path) -> None:
    closed = SQLiteStore(tmp_path / "memory.db")
    closed.close()
    assert isinstance(retriever_on(closed, WordProvider()), HybridRetriever)


@index_files
def test_lazy_loading_triggered_on_first_retrieve(store: SQLiteStore, opens: CountOpens) -> None:
    fill(store)
    provider = WordProvider()
    answer = retriever_on(store, provider).retrieve(Query("test query", limit=5))
    assert len(answer.results) == 5
    assert {file.name for file in folder(store).glob("*.idx")} == FILES == set(opens())
    assert provider.queries == ["test query"]


@index_files
def test_lazy_loading_reuses_index_on_subsequent_calls(
    store: SQLiteStore, opens: CountOpens
) -> None:
    fill(store)
    retriever = retriever_on(store, WordProvider())
    retriever.retrieve(Query("test query 1", limit=5))
    first = retriever.bm25.current()
    for file in folder(store).iterdir():
        file.unlink()

    assert len(retriever.retrieve(Query("test query 2", limit=5)).results) == 5

    assert retriever.bm25.current() is first
    assert list(folder(store).iterdir()) == []
    assert len(opens()) == 2


@index_files
@pytest.mark.parametrize("built", [False, True], ids=["to-build", "to-open"])
def test_lazy_loading_thread_safety(store: SQLiteStore, opens: CountOpens, built: bool) -> None:
    """Ten threads at once: each index is built, or opened, exactly once; all get one answer."""
    fill(store)
    if built:
        retriever_on(store, WordProvider()).retrieve(Query("test query"))
    opens().clear()
    before = {file.name: file.stat().st_ino for file in folder(store).glob("*.idx")}
    provider, answers = WordProvider(), list[SearchResults]()
    retriever = retriever_on(store, provider)

    together(10, lambda: answers.append(retriever.retrieve(Query("test query", limit=5))))

    assert sorted(opens()) == sorted(FILES)
    assert [len(answer.results) for answer in answers] == [5] * 10
    assert all(answer == answers[0] for answer in answers)
    after = {file.name: file.stat().st_ino for file in folder(store).glob("*.idx")}
    assert after.keys() == FILES
    assert before in ({}, after)
    assert (len(provider.queries), provider.batches) == (10, 0)


@index_files
def test_by_keyword_alone_neither_vectors_nor_provider_are_touched(store: SQLiteStore) -> None:
    fill(store)
    provider = WordProvider()
    retriever_on(store, provider, mode=Mode.KEYWORD).retrieve(Query("test query"))
    assert [file.name for file in folder(store).glob("*.idx")] == ["bm25.idx"]
    assert provider.queries == []


def test_a_cascade_asks_for_meaning_only_where_words_find_too_little(store: Store) -> None:
    fill(store)
    provider = WordProvider()
    retriever = retriever_on(store, provider, fusion="cascade")
    retriever.retrieve(Query("test query", limit=300))
    assert provider.queries == []
    retriever.retrieve(Query("test query", limit=301))
    assert provider.queries == ["test query"]


class SlowlyLoaded(WordProvider):
    """A model that is loaded with the first question, and counts how often that was."""

    loads = 0
    is_there = False

    def embed_query(self, text: str) -> list[float]:
        if not self.is_there:
            self.loads += 1
            for _ in range(100_000):  # long enough for another thread to look as well
                pass
            self.is_there = True
        return super().embed_query(text)


def test_ten_threads_load_one_model(store: Store) -> None:
    fill(store)
    provider, before = SlowlyLoaded(), sys.getswitchinterval()
    retriever = retriever_on(store, provider)
    sys.setswitchinterval(1e-6)
    try:
        answers = together(10, lambda: retriever.retrieve(Query("test query")).results)
    finally:
        sys.setswitchinterval(before)
    assert (provider.loads, len(provider.queries)) == (1, 10)
    assert answers == [answers[0]] * 10
