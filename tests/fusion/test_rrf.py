"""Reciprocal ranks, against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.rrf import ReciprocalRank
from aurora.types import Contribution, Fused, Hit, Ranking
from tests.fusion.rankings import Memory, checked, memories, rankings_of, rows_of, scores

BM25 = Ranking("bm25", (Hit(1, 4.0, 1), Hit(2, 2.0, 2)), ceiling=8.0)
MEANING = Ranking("semantic", (Hit(2, 0.9, 1), Hit(3, 0.5, 2)), ceiling=1.0)


def brute_force(memory: Memory, k: int) -> dict[int, float]:
    """Σ 1 / (k + rank); a rank is one more than the number of chunks that are better."""
    found: dict[int, float] = {}
    for raw in memory.values():
        for row, score in raw.items():
            rank = 1 + len([one for one in raw.values() if one > score])
            found[row] = found.get(row, 0.0) + 1 / (k + rank)
    return found


def test_what_two_signals_find_comes_before_the_first_of_one() -> None:
    first, *others = ReciprocalRank()([BM25, MEANING])
    assert first == Fused(
        2,
        1 / 62 + 1 / 61,
        (
            Contribution("bm25", 2, 2.0, 61 / 62, 1 / 62),
            Contribution("semantic", 1, 0.9, 1.0, 1 / 61),
        ),
    )
    assert scores(others) == {1: 1 / 61, 3: 1 / 62}


def test_only_ranks_count_not_the_distances_between_scores() -> None:
    narrow = Ranking("bm25", (Hit(1, 2.01, 1), Hit(2, 2.0, 2)), ceiling=8.0)
    assert scores(ReciprocalRank()([narrow])) == scores(ReciprocalRank()([BM25]))


def test_equal_scores_have_equal_parts_and_stay_in_the_order_of_rows() -> None:
    alike = Ranking("bm25", (Hit(4, 2.0, 1), Hit(7, 2.0, 1), Hit(1, 1.0, 3)), ceiling=8.0)
    fused = ReciprocalRank()([alike])
    assert rows_of(fused) == [4, 7, 1]
    assert [one.score for one in fused] == [1 / 61, 1 / 61, 1 / 63]


@checked
@given(memories("bm25", "semantic"), st.integers(1, 100))
def test_every_score_is_the_sum_of_reciprocal_ranks(memory: Memory, k: int) -> None:
    assert scores(ReciprocalRank(k)(rankings_of(memory))) == pytest.approx(brute_force(memory, k))
