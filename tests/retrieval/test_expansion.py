"""More words beside a query: what they may change, what stays, and what happens without them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import LlmError
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.rerank import EXPANDED, EXPANSION, Expand, merge
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.types import Contribution, Event, Fused, Kind, Mode, Note, Query, SearchResults
from tests.builders import NOW, make_chunk
from tests.retrieval.meaning import WordProvider, index_folder, remember

NOTES = {
    "bread": "how to bake bread",
    "login": "log in with a name",
    "session": "a session is a cookie with a token",
    "both": "log in and get a session cookie",
}


@pytest.fixture
def filled(store: Store) -> Store:
    remember(
        store,
        *(
            make_chunk(content, f"{name}.md", name, kind=Kind.KNOWLEDGE)
            for name, content in NOTES.items()
        ),
        *(
            make_chunk("log " * (n % 7 + 1) + "cookie " * (n % 5) + f"p{n}", f"n{n}.md", f"n{n}")
            for n in range(150)
        ),
    )
    return store


def search(
    store: Store,
    expand: Expand | Sequence[str] | None,
    text: str = "log in",
    *,
    limit: int = 10,
    heard: list[Event] | None = None,
    wanted: bool | None = None,
    mode: Mode | None = None,
    **config: object,
) -> SearchResults:
    """With the terms given, or those that a function gives; None: not expanded."""
    embedder = WordProvider()
    retriever = HybridRetriever(
        store,
        HybridConfig(expand=expand is not None, min_score=0.0, **config),  # type: ignore[arg-type]
        index_folder=index_folder(store),
        now=lambda: NOW,
        embedders=lambda _: embedder,
        expand=expand if callable(expand) else lambda _: expand or (),
        listen=(heard if heard is not None else []).append,
    )
    return retriever.retrieve(Query(text, limit, mode, expand=wanted))


def ids(answer: SearchResults) -> list[str]:
    return [result.chunk.id for result in answer.results]


def test_terms_find_what_the_query_has_no_word_of(filled: Store) -> None:
    plain = search(filled, None, "sign on", mode=Mode.KEYWORD)
    assert plain.results == ()
    heard: list[Event] = []
    more = search(filled, ["session", "token"], "sign on", mode=Mode.KEYWORD, heard=heard)
    assert more.results[0].chunk.name == "session"
    assert more.notes[-1] == heard[-1] == Note("Expanded with: session, token")


def test_a_score_is_a_part_of_both_searches(filled: Store) -> None:
    plain = {one.chunk.id: one for one in search(filled, None, "cookie", limit=100).results}
    second = {one.chunk.id: one for one in search(filled, None, "cookie token", limit=100).results}
    for one in search(filled, ["token"], "cookie").results[:3]:
        [part] = [part for part in one.contributions if part.signal == "expansion"]
        again = second[one.chunk.id].score
        assert part.raw == part.normalised == pytest.approx(again)
        assert part.value == pytest.approx(EXPANSION * again)
        first = plain[one.chunk.id].score if one.chunk.id in plain else 0.0
        expected = (1 - EXPANSION) * first + EXPANSION * again
        assert one.score == pytest.approx(expected)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", Mode)
def test_parts_sum_to_scores_and_the_first_do_not_depend_on_how_many_are_asked_for(
    filled: Store, fusion: str, mode: Mode
) -> None:
    many = search(filled, ["cookie", "token"], limit=140, fusion=fusion, mode=mode).results
    assert len(many) > EXPANDED
    for limit in (1, 7, 60, 120):
        few = search(filled, ["cookie", "token"], limit=limit, fusion=fusion, mode=mode).results
        assert few == many[:limit]
    assert all(first.score >= second.score for first, second in pairwise(many[:EXPANDED]))
    for one in many:
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score)


def test_a_definition_asked_for_by_name_stays_first(filled: Store) -> None:
    """Whatever the terms say: which one was meant is for the query to say."""
    filled.chunks.put_chunks(
        [
            make_chunk("def log_in(): pass", "a.py", "log_in"),
            make_chunk("def session(): pass", "b.py", "session"),
        ]
    )
    assert ids(search(filled, ["session"], "log_in"))[0] == "a.py:log_in"
    assert ids(search(filled, ["log_in"], "session"))[0] == "b.py:session"
    assert ids(search(filled, ["session"], "how to log on"))[0] != "b.py:session"


def test_without_terms_the_answer_is_the_one_without_expansion(filled: Store) -> None:
    def fails(_: str) -> Sequence[str]:
        raise LlmError("The endpoint sleeps", hint="wake it")

    plain = search(filled, None)
    heard: list[Event] = []
    failed = search(filled, fails, heard=heard)
    note = Note("Not expanded: The endpoint sleeps: wake it", warning=True)
    assert failed.results == plain.results
    assert note in heard
    assert note in failed.notes
    nothing = search(filled, [])
    assert (nothing.results, nothing.notes) == (plain.results, plain.notes)


def test_the_terms_are_asked_for_before_the_search_and_of_its_words_alone(
    filled: Store,
) -> None:
    """The first search, which embeds the question, goes on while somebody thinks of terms."""
    asked, begun, searched = [], threading.Event(), threading.Event()

    class Watched(WordProvider):
        def embed_query(self, text: str) -> list[float]:
            assert begun.wait(10)
            searched.set()
            return super().embed_query(text)

    def expand(words: str) -> Sequence[str]:
        asked.append(words)
        begun.set()
        assert searched.wait(10)
        return ["cookie"]

    embedder = Watched()
    retriever = HybridRetriever(
        filled,
        HybridConfig(expand=True),
        index_folder=index_folder(filled),
        now=lambda: NOW,
        embedders=lambda _: embedder,
        expand=expand,
    )
    assert retriever.retrieve(Query("log in path:*.md -bread")).results
    assert asked == ["log in"]
    assert embedder.questions == ["log in", "log in cookie"]


def test_a_query_says_whether_it_is_expanded_else_the_settings(filled: Store) -> None:
    asked: list[str] = []

    def expand(words: str) -> Sequence[str]:
        asked.append(words)
        return ["cookie"]

    search(filled, expand, "one", wanted=False)
    assert asked == []
    search(filled, expand, "two", wanted=True)
    search(filled, expand, "three")
    assert asked == ["two", "three"]


def test_a_filter_holds_for_what_the_terms_find(filled: Store) -> None:
    assert ids(search(filled, ["cookie"], "log path:s*.md")) == ["session.md:session"]


def test_a_retriever_without_anybody_to_ask_says_so(filled: Store) -> None:
    retriever = HybridRetriever(
        filled,
        HybridConfig(),
        index_folder=index_folder(filled),
        now=lambda: NOW,
    )
    notes = retriever.retrieve(Query("log in", expand=True)).notes
    assert (
        Note("Not expanded: No language model is set up to expand queries", warning=True) in notes
    )


rankings = st.dictionaries(st.integers(1, 300), st.floats(0.0, 1.0), max_size=150)


def fused(scores: dict[int, float]) -> list[Fused]:
    order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [
        Fused(row, score, (Contribution("bm25", rank, score, score, score),))
        for rank, (row, score) in enumerate(order, start=1)
    ]


@given(rankings, rankings)
def test_merging_loses_nobody_of_the_first_and_sorts_by_score(
    first: dict[int, float], second: dict[int, float]
) -> None:
    merged = merge(fused(first), fused(second))
    rows = [one.row for one in merged]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(first) | {one.row for one in fused(second)[:EXPANDED]}
    for one in merged:
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score)
    inner = [one for one in merged if one.row in {o.row for o in fused(first)[:EXPANDED]}]
    assert all(a.score >= b.score for a, b in pairwise(inner))
