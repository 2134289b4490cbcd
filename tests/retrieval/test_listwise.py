"""A second look that names an order: who moves where, with what score, and who stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import LlmError
from aurora.retrieval.rerank import FIRST, Listwise, Reranker, fill_slots
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.types import (
    Contribution,
    Event,
    Kind,
    Note,
    Query,
    Rerank,
    SearchResult,
    SearchResults,
)
from tests.builders import NOW, make_chunk
from tests.retrieval.meaning import index_folder


def results(count: int) -> list[SearchResult]:
    """Named a, b, c … with scores that fall."""
    scores = [1.0 - place / 64 for place in range(count)]
    return [
        SearchResult(
            make_chunk(name=chr(ord("a") + place)),
            score,
            (Contribution("bm25", place + 1, score, score, score),),
        )
        for place, score in enumerate(scores)
    ]


def names(some: Sequence[SearchResult]) -> str:
    return "".join(result.chunk.name for result in some)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([2, 0, 1, 3], "cabd"),
        ([3, 0], "dbca"),  # b and c are not named: they stay
        ([2], "abcd"),
        ([3, 2, 1, 0], "dcba"),
        ([0, 1, 2, 3], "abcd"),
    ],
)
def test_who_is_not_named_keeps_the_place(order: list[int], expected: str) -> None:
    assert names(fill_slots(results(4), order)) == expected


def test_who_moves_gets_the_score_of_the_place_and_says_what_that_changed() -> None:
    plain = results(3)
    moved = fill_slots(plain, [2, 0])
    assert [result.score for result in moved] == [result.score for result in plain]
    gain = plain[0].score - plain[2].score
    assert moved[0].contributions[-1] == Contribution("rerank", 1, gain, gain, gain)
    assert moved[1] is plain[1]
    assert moved[2].contributions[-1] == Contribution("rerank", 2, -gain, -gain, -gain)


@given(st.data())
def test_nobody_is_lost_and_the_parts_sum_to_the_scores(data: st.DataObject) -> None:
    plain = results(data.draw(st.integers(1, FIRST)))
    order = data.draw(st.lists(st.sampled_from(range(len(plain))), unique=True))
    moved = fill_slots(plain, order)
    assert sorted(names(moved)) == sorted(names(plain))
    assert [result.score for result in moved] == [result.score for result in plain]
    for result in moved:
        assert sum(part.value for part in result.contributions) == pytest.approx(result.score)
    places = [names(moved).index(plain[place].chunk.name) for place in order]
    assert places == sorted(places)  # those named follow each other as named
    for place in set(range(len(plain))).difference(order):
        assert moved[place] is plain[place]


@pytest.fixture
def filled(store: Store) -> Store:
    store.chunks.put_chunks(
        make_chunk(
            name=f"note{n}", path=f"n{n}.md", kind=Kind.KNOWLEDGE, content="paint " * (n + 1)
        )
        for n in range(40)
    )
    return store


class Backwards:
    """Names all texts from the last to the first, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Sequence[str]]] = []

    def rank(self, question: str, texts: Sequence[str]) -> Sequence[int]:
        self.asked.append((question, texts))
        return range(len(texts))[::-1]


def look(
    store: Store,
    reranker: Reranker | None,
    text: str = "paint",
    *,
    limit: int = 10,
    if_unsure: bool = False,
    heard: list[Event] | None = None,
) -> SearchResults:
    def rerankers(_: Rerank) -> Reranker:
        assert reranker is not None
        return reranker

    retriever = HybridRetriever(
        store,
        HybridConfig(
            rerank=Rerank.LLM if reranker else Rerank.NONE,
            rerank_if_unsure=if_unsure,
            min_score=0.0,
        ),
        index_folder=index_folder(store),
        now=lambda: NOW,
        rerankers=rerankers,
        listen=(heard if heard is not None else []).append,
    )
    return retriever.retrieve(Query(text, limit))


def test_the_first_are_named_anew_and_the_rest_follows(filled: Store) -> None:
    plain = look(filled, None, limit=40).results
    again = look(filled, Listwise(Backwards().rank), limit=40).results
    assert [one.chunk.id for one in again] == [
        *(one.chunk.id for one in plain[:FIRST][::-1]),
        *(one.chunk.id for one in plain[FIRST:]),
    ]
    assert all(first.score >= second.score for first, second in pairwise(again))
    assert look(filled, Listwise(Backwards().rank), limit=3).results == again[:3]


def test_a_reader_sees_where_a_text_is_and_the_lines_that_say_most(store: Store) -> None:
    body = "import os\n" * 50 + "def brush():\n    wet paint here\n" + "x = 1\n" * 100
    store.chunks.put_chunks(
        [
            make_chunk(body, "house/walls.py", "Walls", kind=Kind.CODE),
            make_chunk("paint", "b.py", "b", kind=Kind.CODE),
        ]
    )
    reader = Backwards()
    look(store, Listwise(reader.rank), "wet paint")
    [(question, texts)] = reader.asked
    assert question == "wet paint"
    [walls] = [text for text in texts if text.startswith("Walls")]
    assert walls.startswith("Walls house/walls.py\nwet paint here x = 1 x = 1")
    assert all(len(text) <= 401 for text in texts)


def test_a_definition_asked_for_by_name_stays_first_and_nobody_is_asked(
    filled: Store,
) -> None:
    filled.chunks.put_chunks([make_chunk("def paint(): pass", "a.py", name="paint")])
    reader = Backwards()
    assert look(filled, Listwise(reader.rank)).results[0].chunk.id == "a.py:paint"
    assert reader.asked == []


def test_a_model_that_talks_nonsense_changes_nothing_but_is_told(filled: Store) -> None:
    def nonsense(_: str, __: Sequence[str]) -> Sequence[int]:
        raise LlmError("It answered with prose", hint="set another `llm.model`")

    heard: list[Event] = []
    answer = look(filled, Listwise(nonsense), heard=heard)
    note = Note("Not reranked: It answered with prose: set another `llm.model`", warning=True)
    assert note in heard
    assert note in answer.notes
    assert answer.results == look(filled, None).results


def test_a_search_that_is_sure_has_no_second_look_where_only_the_unsure_have(
    filled: Store,
) -> None:
    question = "red varnish for old oak doors"
    filled.chunks.put_chunks(
        [
            make_chunk(
                "red varnish for old oak doors",
                "v.md",
                "varnish",
                kind=Kind.KNOWLEDGE,
                id="varnish",
            )
        ]
    )
    reader = Backwards()
    sure = look(filled, Listwise(reader.rank), question, if_unsure=True)
    assert (sure.results[0].chunk.id, reader.asked) == ("varnish", [])
    look(filled, Listwise(reader.rank), "paint", if_unsure=True)
    assert len(reader.asked) == 1
    look(filled, Listwise(reader.rank), "red varnish paint")
    assert len(reader.asked) == 2
