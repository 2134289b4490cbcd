"""Two stages, against brute force, and the rules of seeds 000 and 003 one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.staged import Staged
from aurora.types import Hit, Ranking
from tests.fusion.rankings import Memory, checked, memories, rank, rankings_of, rows_of, scores

TO_THE_LETTER = Staged({"bm25": 0.0, "semantic": 0.5, "activation": 0.5})
WORDS = rank("bm25", {1: 8.0, 2: 4.0, 3: 2.0})
MEANING = rank("semantic", {1: 0.25, 2: 0.5, 3: 0.75, 9: 1.0})
USE = rank("activation", {1: 0.5, 9: 1.0})


def brute_force(memory: Memory, weights: dict[str, float], top_k: int) -> dict[int, float]:
    """w_b · bm25 + w_s · semantic + w_a · activation, each min-max within the best by keyword."""
    words = memory["bm25"]
    chosen = sorted(words, key=lambda row: (-words[row], row))[:top_k]
    raw = {signal: [memory[signal].get(row, 0.0) for row in chosen] for signal in memory}
    raw = {signal: column for signal, column in raw.items() if any(column)}
    part = {signal: weights[signal] for signal in raw}
    if not any(part.values()):
        part = {s: float(s == "activation" or "activation" not in raw) for s in raw}
    found = dict.fromkeys(chosen, 0.0)
    for signal, column in raw.items():
        low, span = min(column), max(column) - min(column)
        for row, score in zip(chosen, column, strict=True):
            normalised = (score - low) / span if span else 1.0
            found[row] += part[signal] / sum(part.values()) * normalised
    return found


def test_thirty_forty_thirty() -> None:
    fused = scores(Staged()([WORDS, MEANING, USE]))
    assert fused == pytest.approx({1: 0.3 + 0.3, 2: 0.3 / 3 + 0.4 / 2, 3: 0.4})


def test_ut_hybrid_02_stage_2_goes_by_meaning_and_use_not_by_words() -> None:
    fused = TO_THE_LETTER([WORDS, MEANING, USE])
    assert [(one.row, one.score) for one in fused] == [(1, 0.5), (3, 0.5), (2, 0.25)]
    turned = rank("bm25", {1: 1.0, 2: 2.0, 3: 3.0})
    assert scores(TO_THE_LETTER([turned, MEANING, USE])) == scores(fused)
    for one in fused:
        assert [part.value for part in one.contributions if part.signal == "bm25"] == [0.0]


def test_ut_hybrid_03_the_raw_score_stays_in_the_contribution() -> None:
    first = Staged()([WORDS])[0]
    assert [(part.rank, part.raw) for part in first.contributions] == [(1, 8.0)]


def test_ut_hybrid_04_chunks_that_are_no_candidates_do_not_move_the_scale() -> None:
    """Chunk 9 has the highest cosine and the highest activation, but shares no word."""
    without = [rank("semantic", {1: 0.25, 2: 0.5, 3: 0.75}), rank("activation", {1: 0.5})]
    fused = TO_THE_LETTER([WORDS, MEANING, USE])
    assert rows_of(fused) == [1, 3, 2]
    assert scores(fused) == scores(TO_THE_LETTER([WORDS, *without]))


def test_ut_hybrid_06_a_memory_smaller_than_top_k_is_used_whole() -> None:
    assert rows_of(Staged(top_k=100)([WORDS])) == [1, 2, 3]


def test_ut_hybrid_07_custom_weights() -> None:
    fused = Staged({"bm25": 0.0, "semantic": 0.7, "activation": 0.3})([WORDS, MEANING, USE])
    assert scores(fused) == pytest.approx({1: 0.3, 2: 0.35, 3: 0.7})


@pytest.mark.parametrize(
    "rankings",
    [[WORDS, USE], [WORDS, rank("semantic", {}), USE], [WORDS, rank("semantic", {9: 1.0}), USE]],
    ids=["not asked", "nothing found", "nothing on any candidate"],
)
def test_without_meaning_30_40_30_becomes_50_0_50(rankings: list[Ranking]) -> None:
    """Seed 003, REQ-F2.2."""
    assert scores(Staged()(rankings)) == pytest.approx({1: 0.5 + 0.5, 2: 0.5 / 3, 3: 0.0})


def test_where_all_weights_are_zero_activation_decides_alone() -> None:
    weightless = Staged({"bm25": 0.0, "semantic": 0.0, "activation": 0.0})
    assert scores(weightless([WORDS, MEANING, USE])) == {1: 1.0, 2: 0.0, 3: 0.0}
    left = Staged({"bm25": 0.0, "semantic": 1.0, "activation": 0.0})
    assert scores(left([WORDS, USE])) == {1: 1.0, 2: 0.0, 3: 0.0}


def test_where_all_weights_are_zero_and_nothing_was_used_all_count_alike() -> None:
    weightless = Staged({"bm25": 0.0, "semantic": 0.0, "activation": 0.0})
    expected = {1: 0.5, 2: 0.5 / 3 + 0.5 / 2, 3: 0.5}
    assert scores(weightless([WORDS, MEANING])) == pytest.approx(expected)


def test_fr_10_5_without_a_keyword_hit_meaning_decides_alone() -> None:
    for rankings in ([MEANING, USE], [rank("bm25", {}), MEANING, USE]):
        assert scores(Staged()(rankings)) == {9: 1.0, 3: 0.75, 2: 0.5, 1: 0.25}


def test_with_neither_words_nor_meaning_there_is_nothing() -> None:
    """Use says nothing about a question."""
    assert Staged()([USE]).rows == []
    assert Staged()([]).rows == []


def test_a_single_candidate_is_the_best_of_all_that_there_are() -> None:
    assert scores(Staged()([rank("bm25", {5: 1.0}), MEANING, USE])) == {5: 1.0}


def test_chunks_that_only_a_filter_has_brought_in_are_measured_by_the_same_scale() -> None:
    """Stage 1 is chunks 1 and 2: chunk 3 has less of words than both, and more of meaning."""
    fused = Staged(top_k=2)([WORDS, MEANING])
    expected = {1: 0.3 / 0.7, 2: 0.4 / 0.7}
    assert scores(fused) == pytest.approx({**expected, 3: 0.4 / 0.7})
    assert scores(Staged(top_k=2)([rank("bm25", {1: 8.0, 2: 4.0}), MEANING])) == pytest.approx(
        expected
    )


def test_beside_a_single_candidate_what_a_filter_brings_has_nothing_of_words() -> None:
    assert scores(Staged(top_k=1)([WORDS])) == {1: 1.0, 2: 0.0, 3: 0.0}


def test_words_count_alike_whichever_signal_found_them() -> None:
    fulltext = Ranking("fulltext", WORDS.hits, WORDS.ceiling)
    assert scores(Staged()([fulltext, MEANING, USE])) == scores(Staged()([WORDS, MEANING, USE]))


@pytest.mark.parametrize("words", ["bm25", "fulltext"])
def test_what_is_given_no_weight_has_none(words: str) -> None:
    only_meaning = Staged({"semantic": 1.0})
    fused = only_meaning([Ranking(words, WORDS.hits, WORDS.ceiling), MEANING, USE])
    assert scores(fused) == {1: 0.0, 2: 0.5, 3: 1.0}


def test_scores_below_zero_are_scores_too() -> None:
    """`idf: robertson` counts a term against a match that most chunks have."""
    hits = (Hit(1, 1.0, 1), Hit(2, -1.0, 2), Hit(3, -3.0, 3))
    assert scores(Staged()([Ranking("bm25", hits, 8.0)])) == {1: 1.0, 2: 0.5, 3: 0.0}


sixths = st.integers(0, 6).map(lambda number: number / 6)
weightings = st.fixed_dictionaries({"bm25": sixths, "semantic": sixths, "activation": sixths})


@checked
@given(memories("bm25", "semantic", "activation"), weightings, st.integers(1, 12))
def test_the_formula_holds_for_the_best_by_keyword(
    memory: Memory, weights: dict[str, float], top_k: int
) -> None:
    memory = {"bm25": {3: 1.0}, **memory} if not memory.get("bm25") else memory
    chosen = [hit.row for hit in rank("bm25", memory["bm25"]).hits[:top_k]]
    fused = Staged(weights, top_k)(rankings_of(memory, among=chosen))
    assert scores(fused) == pytest.approx(brute_force(memory, weights, top_k))
