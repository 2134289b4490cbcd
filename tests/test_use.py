"""Showing a result never changes the next ranking; opening one does, boundedly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import FUSIONS, HybridConfig
from aurora.types import SearchResult
from tests.builders import NOW, make_chunk
from tests.retrieval.meaning import WordProvider

CHUNKS = [
    make_chunk("test " * (n + 1) + "query " * n + "pad " * 5, name=f"f{n}", path=f"{n}.py")
    for n in range(8)
]
OPENED = CHUNKS[3].id
_NUDGE = HybridConfig().nudge
WEIGHTS = {
    "weighted": {"bm25": 0.3 * (1 - _NUDGE), "semantic": 0.7 * (1 - _NUDGE), "activation": _NUDGE},
    "staged": {"bm25": 0.3, "semantic": 0.4, "activation": 0.3},
}
ROUNDED = 1e-9


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    places = Places(tmp_path / "home", tmp_path)
    with Memory(places, now=lambda: NOW, embedder=WordProvider()) as memory:
        memory.admin.create()
        memory.admin.store.chunks.put_chunks(CHUNKS)
        embed_missing(memory.admin.store, WordProvider())
        yield memory


def results(memory: Memory, fusion: str) -> dict[str, SearchResult]:
    return {r.chunk_id: r for r in memory.search("test query", fusion=fusion).results}


def ranked(result: SearchResult) -> SearchResult:
    """All that comes of ranking: how often it was opened is told in any case."""
    return replace(result, accesses=0, last_access=None)


def others(memory: Memory, fusion: str) -> list[SearchResult]:
    """All but the one that is opened, as they are, to the bit."""
    return [r for id_, r in results(memory, fusion).items() if id_ != OPENED]


def fused(result: SearchResult, fusion: str) -> float:
    """What the fusion made of it. The contributions are scaled to the confidence, all alike."""
    part = max(result.contributions, key=lambda part: part.value)
    if part.value == 0.0:
        return 0.0
    return result.score * WEIGHTS[fusion][part.signal] * part.normalised / part.value


def activation(result: SearchResult) -> float:
    """Before it is normalised."""
    return next((part.raw for part in result.contributions if part.signal == "activation"), 0.0)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_ten_searches_are_equal_to_the_bit(memory: Memory, fusion: str) -> None:
    memory.get(OPENED)
    first = memory.search("test query", fusion=fusion)
    assert len(first.results) == 8
    for _ in range(9):
        assert memory.search("test query", fusion=fusion) == first


def test_opening_raises_one_chunk_by_no_more_than_the_nudge_and_no_other(memory: Memory) -> None:
    """In `weighted`, where use stands beside relevance. At its place, it is as sure as before."""
    most, bystanders = _NUDGE + ROUNDED, others(memory, "weighted")
    before = results(memory, "weighted")[OPENED]
    start = fused(before, "weighted")

    memory.get(OPENED)

    after = results(memory, "weighted")[OPENED]
    assert 0.0 < activation(after) - activation(before) <= 0.5
    assert 0.0 < fused(after, "weighted") - start <= most
    assert after.score == before.score
    assert others(memory, "weighted") == bystanders
    for _ in range(10):
        memory.get(OPENED)
        again = results(memory, "weighted")[OPENED]
        assert activation(after) < activation(again) <= activation(after) + 0.5
        assert fused(after, "weighted") < fused(again, "weighted") <= start + most
        after = again


def test_opening_raises_one_chunk_by_no_more_than_its_weight_in_staged(memory: Memory) -> None:
    """Measured between the chunk used most and one never used, as long as these stay."""
    for _ in range(100):
        memory.get(CHUNKS[0].id)
    bystanders, before = others(memory, "staged"), results(memory, "staged")[OPENED]
    most = HybridConfig().activation_weight + ROUNDED

    memory.get(OPENED)

    after = results(memory, "staged")[OPENED]
    assert activation(before) == 0.0
    assert activation(after) == 0.5
    assert 0.0 < fused(after, "staged") - fused(before, "staged") <= most
    assert [(one.chunk_id, fused(one, "staged")) for one in others(memory, "staged")] == [
        (one.chunk_id, pytest.approx(fused(one, "staged"))) for one in bystanders
    ]


@pytest.mark.parametrize("fusion", ["weighted", "staged"])
def test_a_thousand_openings_stay_below_1(memory: Memory, fusion: str) -> None:
    before = fused(results(memory, fusion)[OPENED], fusion)
    for _ in range(1000):
        memory.get(OPENED)
    after = results(memory, fusion)[OPENED]
    assert 0.99 < activation(after) < 1.0
    bound = {"weighted": HybridConfig().nudge, "staged": HybridConfig().activation_weight}
    assert fused(after, fusion) <= before + bound[fusion] + ROUNDED
    assert all(result.score <= 1.0 for result in results(memory, fusion).values())


@pytest.mark.parametrize("fusion", ["rrf", "cascade"])
def test_fusions_without_use_do_not_notice_an_opening(memory: Memory, fusion: str) -> None:
    before = results(memory, fusion)
    memory.get(OPENED)
    after = results(memory, fusion)
    assert {id_: ranked(result) for id_, result in after.items()} == before


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
@pytest.mark.parametrize("fusion", FUSIONS)
def test_by_words_or_by_meaning_alone_use_has_no_say(
    memory: Memory, fusion: str, mode: str
) -> None:
    before = memory.search("test query", mode=mode, fusion=fusion)
    memory.get(OPENED)
    after = memory.search("test query", mode=mode, fusion=fusion)
    assert replace(after, results=tuple(map(ranked, after.results))) == before
    assert after.signals == ("bm25" if mode == "keyword" else mode,)


def test_a_result_tells_how_often_it_was_opened_and_when_last(memory: Memory) -> None:
    for hours in (5, 1, 3):
        memory.admin.store.chunks.record_access(OPENED, NOW - timedelta(hours=hours))
    opened = results(memory, "weighted")
    assert (opened[OPENED].accesses, opened[OPENED].last_access) == (3, NOW - timedelta(hours=1))
    assert opened[OPENED].last_used == NOW - timedelta(hours=1)
    assert {(one.accesses, one.last_used) for id_, one in opened.items() if id_ != OPENED} == {
        (0, None)
    }
