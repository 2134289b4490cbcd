"""The weighted sum, against ten lines of brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.weighted import Weighted
from aurora.types import Contribution, Fused, Hit, Ranking
from tests.fusion.rankings import CEILINGS, Memory, checked, memories, rankings_of, scores

BM25 = Ranking("bm25", (Hit(1, 4.0, 1), Hit(2, 2.0, 2)), ceiling=8.0)
MEANING = Ranking("semantic", (Hit(2, 0.9, 1), Hit(3, 0.5, 2)), ceiling=1.0)
USE = Ranking("activation", (Hit(1, 1.0, 1),), ceiling=1.0)


def brute_force(memory: Memory, weights: dict[str, float], nudge: float = 0.0) -> dict[int, float]:
    """semantic · cos + keyword · bm25 / ceiling; what a chunk does not have counts as 0."""
    total = sum(weights[signal] for signal in memory if signal in weights) or 1.0
    nudge = nudge if "activation" in memory else 0.0
    found: dict[int, float] = {}
    for signal, raw in memory.items():
        relevance = weights.get(signal, 0.0) / total * (1 - nudge)
        for row, score in raw.items():
            part = (nudge if signal == "activation" else relevance) * score / CEILINGS[signal]
            found[row] = found.get(row, 0.0) + part
    return found


def test_one_signal_alone_keeps_its_order_and_gives_comparable_scores() -> None:
    assert list(Weighted()([BM25])) == [
        Fused(1, 0.5, (Contribution("bm25", 1, 4.0, 0.5, 0.5),)),
        Fused(2, 0.25, (Contribution("bm25", 2, 2.0, 0.25, 0.25),)),
    ]


def test_two_signals_are_added_over_their_union() -> None:
    """Seed 001: 0.7 for meaning, 0.3 for words."""
    fused = Weighted()([BM25, MEANING])
    assert [(one.row, pytest.approx(one.score)) for one in fused] == [
        (2, 0.7 * 0.9 + 0.3 * 0.25),
        (3, 0.7 * 0.5),
        (1, 0.3 * 0.5),
    ]


@pytest.mark.parametrize("ranking", [BM25, MEANING], ids=["words", "meaning"])
def test_the_weight_of_a_missing_signal_goes_to_the_others_in_proportion(ranking: Ranking) -> None:
    assert [one.score for one in Weighted()([ranking])] == [
        hit.score / ranking.ceiling for hit in ranking.hits
    ]


def test_the_nudge_is_taken_from_both_and_only_where_use_is_known() -> None:
    nudged = Weighted(nudge=0.05)
    assert scores(nudged([BM25, MEANING])) == scores(Weighted()([BM25, MEANING]))
    assert scores(nudged([BM25, MEANING, USE])) == pytest.approx(
        {
            1: 0.95 * 0.3 * 0.5 + 0.05,
            2: 0.95 * (0.7 * 0.9 + 0.3 * 0.25),
            3: 0.95 * 0.7 * 0.5,
        }
    )


def test_use_is_asked_for_only_where_it_has_a_share() -> None:
    assert "activation" not in Weighted().signals
    assert "activation" in Weighted(nudge=0.05).signals


def test_words_count_alike_whichever_signal_found_them() -> None:
    fulltext = Ranking("fulltext", BM25.hits, BM25.ceiling)
    assert scores(Weighted()([fulltext, MEANING])) == scores(Weighted()([BM25, MEANING]))


def test_a_signal_without_a_share_is_told_and_counts_nothing() -> None:
    dated = Ranking("recency", (Hit(1, 0.5, 1), Hit(9, 1.0, 2)), ceiling=1.0)
    fused = Weighted()([BM25, MEANING, dated])
    assert scores(fused) == {**scores(Weighted()([BM25, MEANING])), 9: 0.0}
    assert fused[-1].contributions == (Contribution("recency", 2, 1.0, 1.0, 0.0),)


@pytest.mark.parametrize("rankings", [[], [Ranking("bm25", (), 0.0)]], ids=["none", "empty"])
def test_nothing_in_nothing_out(rankings: list[Ranking]) -> None:
    assert Weighted()(rankings).rows == []


@checked
@given(memories("bm25", "semantic"), st.floats(0.1, 0.9))
def test_the_sum_is_the_sum(memory: Memory, alpha: float) -> None:
    fused = Weighted(alpha, 1 - alpha)(rankings_of(memory))
    expected = brute_force(memory, {"semantic": alpha, "bm25": 1 - alpha})
    assert scores(fused) == pytest.approx(expected)


@checked
@given(memories("fulltext", "semantic", "activation"), st.floats(0.01, 0.5))
def test_so_it_is_with_a_nudge(memory: Memory, nudge: float) -> None:
    fused = Weighted(nudge=nudge)(rankings_of(memory))
    expected = brute_force(memory, {"semantic": 0.7, "fulltext": 0.3}, nudge)
    assert scores(fused) == pytest.approx(expected)
