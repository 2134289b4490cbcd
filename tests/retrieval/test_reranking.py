"""A second look at the first results: what it may change, what it costs, and what stays."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.onnx import OnnxProvider
from aurora.errors import EmbeddingError
from aurora.retrieval.rerank import FIRST, LateInteraction
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.types import Event, Kind, Note, Query, Rerank, SearchResult
from tests.builders import NOW, make_chunk
from tests.retrieval.meaning import index_folder

COLOURS = {"red": 0, "green": 1, "blue": 2}


@dataclass
class ColourTokens:
    """A vector a word, along its colour's axis; another word has no direction."""

    read: list[str] = field(default_factory=list)

    def token_vectors(self, text: str, *, is_query: bool = False) -> NDArray[np.float32]:
        self.read += [] if is_query else [text]
        rows = np.zeros((len(text.split()), len(COLOURS)), np.float32)
        for row, word in zip(rows, text.split(), strict=True):
            if word in COLOURS:
                row[COLOURS[word]] = 1.0
        return rows


@pytest.fixture
def store(store: Store) -> Store:
    store.chunks.put_chunks(
        make_chunk(name=f"note{n}", path=f"n{n}.md", kind=Kind.KNOWLEDGE, content=content)
        for n, content in enumerate(
            [
                "paint paint paint",
                "paint red",
                "paint red green",
                *(f"paint paint {shade}" for shade in range(40)),
            ]
        )
    )
    return store


def look(
    store: Store,
    reranker: LateInteraction | None,
    text: str = "paint red green",
    *,
    limit: int = 10,
    heard: list[Event] | None = None,
) -> tuple[SearchResult, ...]:
    def rerankers(_: Rerank) -> LateInteraction:
        if reranker is None:
            raise EmbeddingError("The model is not installed", hint="aur models pull x")
        return reranker

    retriever = HybridRetriever(
        store,
        HybridConfig(rerank=Rerank.LOCAL, min_score=0.0),
        index_folder=index_folder(store),
        now=lambda: NOW,
        rerankers=rerankers,
        listen=(heard if heard is not None else []).append,
    )
    return retriever.retrieve(Query(text, limit)).results


def test_each_word_of_the_question_looks_for_its_like(store: Store) -> None:
    results = look(store, LateInteraction(ColourTokens(), share=1.0), "paint red green")
    by_name = {result.chunk.name: result.normalised("rerank") for result in results}
    assert by_name["note2"] == pytest.approx(2 / 3)  # `paint` has no direction
    assert by_name["note1"] == pytest.approx(1 / 3)
    assert [result.chunk.name for result in results[:2]] == ["note2", "note1"]


def test_the_parts_still_sum_to_the_score_and_the_order_is_by_score(store: Store) -> None:
    results = look(store, LateInteraction(ColourTokens()), limit=40)
    assert len(results) == 40
    assert all(first.score >= second.score for first, second in pairwise(results))
    for place, result in enumerate(results):
        assert sum(part.value for part in result.contributions) == pytest.approx(result.score)
        named = [part.signal for part in result.contributions]
        assert ("rerank" in named) == (place < FIRST)


def test_each_place_keeps_its_confidence(store: Store) -> None:
    """A reranker says which result is better, not how sure it is."""
    plain = look(store, LateInteraction(ColourTokens(), seconds=0.0), "paint red green")
    again = look(store, LateInteraction(ColourTokens(), seconds=60.0), "paint red green")
    assert [result.score for result in again] == [result.score for result in plain]


def test_only_the_first_are_looked_at_and_how_many_are_asked_for_changes_nothing(
    store: Store,
) -> None:
    tokens = ColourTokens()
    many = look(store, LateInteraction(tokens, seconds=60.0), limit=43)
    assert len(tokens.read) == FIRST
    few = look(store, LateInteraction(ColourTokens(), seconds=60.0), limit=3)
    assert few == many[:3]


def test_when_the_time_is_over_the_rest_keeps_its_place(store: Store) -> None:
    ticks = iter(range(1000))
    heard: list[Event] = []
    plain = look(store, LateInteraction(ColourTokens(), seconds=0.0), limit=43)
    box = LateInteraction(ColourTokens(), seconds=5.0, clock=lambda: float(next(ticks)))
    some = look(store, box, limit=43, heard=heard)
    assert Note(f"Reranked 4 of {FIRST} in the time there was") in heard
    assert sorted(r.chunk.id for r in some[:4]) == sorted(r.chunk.id for r in plain[:4])
    assert [r.chunk.id for r in some[4:]] == [r.chunk.id for r in plain[4:]]
    assert all(first.score >= second.score for first, second in pairwise(some))


def test_a_model_that_is_too_slow_changes_nothing(store: Store) -> None:
    class Slow(ColourTokens):
        def token_vectors(self, text: str, *, is_query: bool = False) -> NDArray[np.float32]:
            time.sleep(0.0 if is_query else 0.5)
            return super().token_vectors(text, is_query=is_query)

    heard: list[Event] = []
    results = look(store, LateInteraction(Slow(), seconds=0.1), heard=heard)
    assert Note(f"Reranked 0 of {FIRST} in the time there was") in heard
    assert results == look(store, LateInteraction(ColourTokens(), seconds=0.0))


def test_a_definition_asked_for_by_name_stays_first(store: Store) -> None:
    store.chunks.put_chunks([make_chunk("def red_green(): pass", "a.py", name="red_green")])
    tokens = ColourTokens()
    best = look(store, LateInteraction(tokens), "red_green")[0]
    assert (best.chunk.name, tokens.read) == ("red_green", [])


def test_without_the_model_the_order_is_as_it_was_and_that_is_said(store: Store) -> None:
    heard: list[Event] = []
    results = look(store, None, heard=heard)
    said = "Not reranked: The model is not installed: aur models pull x"
    assert Note(said, warning=True) in heard
    assert results == look(store, LateInteraction(ColourTokens(), seconds=0.0))


def test_a_real_model_finds_the_answer_that_shares_fewer_words(store: Store, models: Path) -> None:
    store.chunks.put_chunks(
        make_chunk(name=name, path=f"{name}.md", kind=Kind.KNOWLEDGE, content=content)
        for name, content in {
            "list": "A user of a list of a group.",
            "answer": "The account is removed, and the user with it.",
            "other": "Letters are sent on Mondays.",
        }.items()
    )
    model = OnnxProvider(ProviderOptions(models=models))
    question = "delete user"
    plain = look(store, LateInteraction(model, seconds=0.0), question)
    again = look(store, LateInteraction(model, seconds=60.0), question)
    assert (plain[0].chunk.name, again[0].chunk.name) == ("list", "answer")
