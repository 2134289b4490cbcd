"""The way of a query through the retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aurora.errors import QueryError
from aurora.retrieval.candidates import NO_PROVIDER
from aurora.retrieval.confidence import MIN_RELEVANCE
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Reasoning, Store, Uses
from aurora.stores.sqlite.search import SQLiteSearch
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Criteria, Kind, Note, Query, SearchResult, SearchResults
from tests.builders import NOW, hide, make_chunk
from tests.retrieval.meaning import WordProvider, index_folder, remember, retriever_on
from tests.signals.corpus import standard_library_chunks


def test_results_carry_chunk_score_and_reasons(store: Store) -> None:
    chunk = make_chunk("def login(): check the password", name="login")
    store.chunks.put_chunks([chunk, make_chunk("unrelated", name="g")])

    answer = retriever_on(store).retrieve(Query("password", limit=5))

    assert (answer.fusion, answer.signals) == ("auto", ("bm25",))
    assert [result.chunk for result in answer.results] == [chunk]
    result = answer.results[0]
    assert 0 < result.score < 1
    assert sum(part.value for part in result.contributions) == pytest.approx(result.score)
    assert [(part.signal, part.rank) for part in result.contributions] == [
        ("bm25", 1), ("exact", 1),
    ]  # fmt: skip


def test_the_first_three_of_ten_are_the_three_of_three(store: Store) -> None:
    store.chunks.put_chunks(standard_library_chunks()[:600])
    retriever = retriever_on(store, stage1_top_k=10)
    for query in ("open file", "encode", "parse header value", "event loop callback"):
        everything = first(retriever.retrieve(Query(query, limit=200)))
        for limit in (1, 3, 10, 50):
            assert first(retriever.retrieve(Query(query, limit=limit))) == everything[:limit]


def first(answer: SearchResults) -> list[SearchResult]:
    """Without the number of rows that each stands for: the limit decides how many are seen."""
    return [replace(result, more=0) for result in answer.results]


def test_more_results_than_candidates_can_be_asked_for(store: Store) -> None:
    store.chunks.put_chunks([make_chunk(f"words {n}", name=f"f{n}") for n in range(150)])
    answer = retriever_on(store, stage1_top_k=100).retrieve(Query("words", limit=150))
    assert len(answer.results) == 150


def test_a_candidate_not_worth_showing_hides_no_other(store: Store) -> None:
    """One signal may be at its end long before the other."""
    strong = [
        make_chunk("pad " * 60 + str(n), name=f"car_{n}", path=f"p{n}.py") for n in range(300)
    ]
    faint = make_chunk("auto auto " + "zebra " * 60, name="faint", path="w.py")
    remember(store, *strong, faint)
    answer = retriever_on(store, WordProvider()).retrieve(Query("car", limit=250))
    assert len(answer.results) == 250


def test_a_filter_looks_no_deeper_than_it_has_to(tmp_path: Path) -> None:
    """Where all that may be a result is found, nothing else is fused for it."""

    class Watched(SQLiteSearch):
        most = 0

        def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
            self.most = max(self.most, len(rows))
            return super().get_uses(rows)

    store = SQLiteStore(tmp_path / "memory.db")
    store.search = watched = Watched(store.database)
    store.chunks.put_chunks([make_chunk(f"words {n}", name=f"f{n}") for n in range(500)])
    store.chunks.put_chunks([make_chunk("words 500", name="C", kind=Kind.CLASS)])
    retriever = retriever_on(store, fusion="staged", stage1_top_k=20)
    answer = retriever.retrieve(Query("words", criteria=Criteria(kinds=(Kind.CLASS,))))
    assert [result.chunk.name for result in answer.results] == ["C"]
    assert watched.most == 21
    store.close()


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_query_is_an_error_with_an_example(store: Store, text: str) -> None:
    with pytest.raises(QueryError, match="empty") as caught:
        retriever_on(store).retrieve(Query(text))
    assert "aur mem search" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "???",
        "xyzabc123",
        "'; DROP TABLE chunks; --",
        '"unclosed',
        "NEAR(zz",
        "* AND OR NOT",
        "\udcff",
    ],
    ids=["punctuation", "unknown", "sql", "quote", "fts", "operators", "surrogate"],
)
def test_no_query_is_a_syntax_error(store: Store, text: str) -> None:
    store.chunks.put_chunks([make_chunk("plain words here")])
    assert retriever_on(store).retrieve(Query(text)).results == ()


def test_a_chunk_forgotten_meanwhile_is_left_out(store: Store) -> None:
    """Another process deletes between ranking and fetching: the index still knows the id."""
    store.chunks.put_chunks([make_chunk("one word"), make_chunk("two words word", name="g")])
    retriever = retriever_on(store)
    assert len(retriever.retrieve(Query("word")).results) == 2
    frozen = store.generation()
    store.chunks.delete_chunks(["a.py:f"])
    store.generation = lambda: frozen  # type: ignore[method-assign]
    assert [r.chunk_id for r in retriever.retrieve(Query("word")).results] == ["a.py:g"]


def test_failed_reasoning_is_found_and_a_replaced_one_never(store: Store) -> None:
    for name, score in (("good", 0.8), ("bad", 0.2)):
        chunk = make_chunk(f"retry with backoff, {name}", name=name, kind=Kind.REASONING)
        store.chunks.put_chunks([chunk])
        store.chunks.put_reasoning(chunk.id, Reasoning("verification", score, 1, NOW))
    retriever = retriever_on(store)
    found = {result.chunk.name for result in retriever.retrieve(Query("backoff")).results}
    assert found == {"good", "bad"}
    hide(store, "a.py:good")
    assert [r.chunk.name for r in retriever.retrieve(Query("backoff")).results] == ["bad"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_mistake(limit: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, not {limit}"):
        Query("words", limit=limit)


def test_words_that_every_chunk_has_are_no_answer_to_a_long_question(store: Store) -> None:
    """Otherwise a question about something else would be answered with the least bad rows."""
    store.chunks.put_chunks([make_chunk(f"the thing {n}", name=f"f{n}") for n in range(50)])
    store.chunks.put_chunks([make_chunk("the kubernetes ingress", name="ingress")])
    retriever = retriever_on(store, min_score=MIN_RELEVANCE)
    assert retriever.retrieve(Query("what does the quantum teleporter do")).results == ()
    nothing = retriever.retrieve(Query("the quantum"))
    assert (nothing.results, nothing.weak is not None) == ((), True)
    found = retriever.retrieve(Query("what does the kubernetes ingress do")).results
    assert found[0].chunk.name == "ingress"


def test_a_phrase_that_no_chunk_has_is_searched_by_its_words(store: Store) -> None:
    """People put titles in quotes, too; the answer says what it did."""
    store.chunks.put_chunks(
        [make_chunk("start up lean and early", name="notes"), make_chunk("lean")]
    )
    events: list[object] = []
    retriever = HybridRetriever(
        store,
        HybridConfig(min_score=0.0),
        index_folder=index_folder(store),
        now=lambda: NOW,
        listen=events.append,
    )
    answer = retriever.retrieve(Query('who reads "the lean startup early"'))
    assert [result.chunk.name for result in answer.results] == ["notes", "f"]
    told = Note('No chunk has "the lean startup early" word for word, searching for the words')
    assert answer.notes == (told, Note(NO_PROVIDER, warning=True))
    assert events == list(answer.notes)
    strict = retriever.retrieve(Query('"lean and early" start')).results
    assert [result.chunk.name for result in strict] == ["notes"]
