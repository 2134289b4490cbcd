"""The weighted sum, against ten lines of brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.weighted import Weighted
from aurora.types import Contribution, Fused, Hit, Ranking

BM25 = Ranking("bm25", (Hit("a", 4.0), Hit("b", 2.0)), ceiling=8.0)
MEANING = Ranking("semantic", (Hit("b", 0.9), Hit("c", 0.5)), ceiling=1.0)


def test_one_signal_alone_keeps_its_order_and_gives_comparable_scores() -> None:
    assert Weighted()([BM25]) == [
        Fused("a", 0.5, (Contribution("bm25", 1, 4.0, 0.5, 0.5),)),
        Fused("b", 0.25, (Contribution("bm25", 2, 2.0, 0.25, 0.25),)),
    ]


def test_two_signals_are_added_over_their_union() -> None:
    fused = Weighted({"bm25": 0.3, "semantic": 0.7})([BM25, MEANING])
    assert [(one.chunk_id, pytest.approx(one.score)) for one in fused] == [
        ("b", 0.3 * 0.25 + 0.7 * 0.9),
        ("c", 0.7 * 0.5),
        ("a", 0.3 * 0.5),
    ]


def test_the_weight_of_a_missing_signal_goes_to_the_others_in_proportion() -> None:
    """Seed 003: 30/40/30 without embeddings is 50/0/50."""
    used = Ranking("activation", (Hit("a", 1.0),), ceiling=1.0)
    fused = Weighted({"bm25": 0.3, "semantic": 0.4, "activation": 0.3})([BM25, used])
    assert fused[0].chunk_id == "a"
    assert fused[0].score == pytest.approx(0.5 * 0.5 + 0.5 * 1.0)


@pytest.mark.parametrize("rankings", [[], [Ranking("bm25", (), 0.0)]], ids=["none", "empty"])
def test_nothing_in_nothing_out(rankings: list[Ranking]) -> None:
    assert Weighted()(rankings) == []


def hits(names: list[str], scores: list[float]) -> tuple[Hit, ...]:
    ordered = sorted(zip(names, scores, strict=False), key=lambda pair: -pair[1])
    return tuple(Hit(name, score) for name, score in ordered)


names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
scores = st.lists(st.floats(0, 10), min_size=8, max_size=8)
rankings = st.builds(
    lambda n, s, signal: Ranking(signal, hits(n, s), 10.0),
    names, scores, st.sampled_from(["bm25", "semantic"]),
)  # fmt: skip


@given(st.lists(rankings, max_size=2, unique_by=lambda r: r.signal), st.floats(0.1, 0.9))
def test_the_sum_is_the_sum(given_rankings: list[Ranking], weight: float) -> None:
    weights = {"bm25": weight, "semantic": 1 - weight}
    total = sum(weights[r.signal] for r in given_rankings) or 1.0
    expected: dict[str, float] = {}
    for ranking in given_rankings:
        for hit in ranking.hits:
            share = weights[ranking.signal] / total * hit.score / 10.0
            expected[hit.chunk_id] = expected.get(hit.chunk_id, 0.0) + share

    fused = Weighted(weights)(given_rankings)

    assert {one.chunk_id: pytest.approx(one.score) for one in fused} == expected
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)
    for one in fused:
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score)
        assert 0.0 <= one.score <= 1.0 + 1e-9
