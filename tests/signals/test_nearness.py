"""Words near each other count more: by how much, for which chunks, and when nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aurora.signals.nearness import FIRST, GAIN, comparable, near_rows, with_nearness
from aurora.types import Hit, Ranking
from tests.builders import make_chunk

PHASE = comparable("Phase 2 plan")


def ranking(*scores: float) -> Ranking:
    """Rows from 1, with ranks as in a whole memory."""
    hits = [Hit(row, s, 1 + sum(o > s for o in scores)) for row, s in enumerate(scores, start=1)]
    return Ranking("bm25", tuple(sorted(hits, key=lambda hit: (-hit.score, hit.row))), 8.0)


def raised(keyword: Ranking, texts: Sequence[str], words: Sequence[str] = PHASE) -> Ranking:
    chunks = {row: make_chunk(text, name="x") for row, text in enumerate(texts, start=1)}
    return with_nearness(keyword, words, chunks)


def gain(text: str, words: Sequence[str] = PHASE) -> float:
    """The share of the score that a text gains."""
    [hit] = raised(ranking(1.0), [text], words).hits
    return hit.score - 1.0


FAR = " and so on" * 30


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("the Phase 2 plan is ready", 1.0),
        ("phase_2_plan", 1.0),
        ("Phase-2 (plan)", 1.0),
        ("plan 2 phase", 0.5),  # in one window, but in another order
        ("phase one; step 2; the plan", 0.5),
        (f"phase 2{FAR} plan", 0.5),  # two of three in a window, one of two pairs
        (f"phase{FAR} 2{FAR} plan", 0.0),
        (f"phase 2 of it{FAR} plan 2", 0.5),
        ("phase", 0.0),
        ("nothing of it", 0.0),
    ],
)
def test_a_text_gains_by_windows_and_by_pairs(text: str, share: float) -> None:
    assert gain(text) == pytest.approx(GAIN * share)


def test_forms_of_words_are_near_each_other_too() -> None:
    words = comparable("deleting users")
    assert gain("deletes a user", words) > 0.0
    assert gain("delete user", words) == pytest.approx(GAIN)


def test_the_name_of_a_chunk_is_part_of_its_text() -> None:
    chunk = make_chunk("pass", name="phase_2_plan")
    [hit] = with_nearness(ranking(1.0), PHASE, {1: chunk}).hits
    assert hit.score == pytest.approx(1.0 + GAIN)


def test_the_near_one_comes_first_and_has_its_rank() -> None:
    scattered, together = f"phase{FAR} 2{FAR} plan", "phase 2 plan"
    near = raised(ranking(1.0, 0.9), [scattered, together])
    assert [(hit.row, hit.rank) for hit in near.hits] == [(2, 1), (1, 2)]
    assert (near.signal, near.ceiling) == ("bm25", 8.0)


def test_nearness_outweighs_no_large_difference() -> None:
    near = raised(ranking(1.0, 0.7), [f"phase{FAR} 2{FAR} plan", "phase 2 plan"])
    assert [hit.row for hit in near.hits] == [1, 2]


def test_only_the_first_gain() -> None:
    """Ranks are those in the whole memory: a filter changes no score."""
    keyword = ranking(*(1.0 - n / 1000 for n in range(FIRST + 5)))
    assert near_rows(keyword) == list(range(1, FIRST + 1))
    near = {hit.row: hit for hit in raised(keyword, ["phase 2 plan"] * (FIRST + 5)).hits}
    before = {hit.row: hit for hit in keyword.hits}
    for row in range(1, FIRST + 1):
        assert near[row].score == pytest.approx(before[row].score * (1.0 + GAIN))
        assert near[row].rank == before[row].rank
    for row in range(FIRST + 1, FIRST + 6):
        assert near[row] == before[row]

    some = keyword._replace(hits=tuple(hit for hit in keyword.hits if hit.row % 7 == 0))
    for hit in raised(some, ["phase 2 plan"] * (FIRST + 5)).hits:
        assert hit.score == near[hit.row].score


def test_a_chunk_that_cannot_be_read_keeps_its_score() -> None:
    assert with_nearness(ranking(1.0, 0.5), PHASE, {}) == ranking(1.0, 0.5)


@pytest.mark.parametrize(
    "text", ["plan", "the plan", "plan plan", "planning plans", "", "???", "用户 认证 流程"]
)
def test_one_word_is_near_nothing(text: str) -> None:
    """Nor are words of a script without spaces."""
    assert comparable(text) == ()


def test_a_long_question_is_compared_by_its_first_words() -> None:
    words = comparable(" ".join(f"word{n}x" for n in range(100)))
    assert len(words) == 12


def test_a_short_word_is_not_looked_for_inside_of_others() -> None:
    words = comparable("api key")
    assert gain("rapid monkey", words) == 0.0
    assert gain("the api key", words) == pytest.approx(GAIN)
