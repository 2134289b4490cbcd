"""Auto: how far each chunk stands out, shares that follow what was found, use of whole files."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from math import nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.auto import OWN, Auto, Rules, Trust
from aurora.fusion.base import CandidateContext
from aurora.types import Fused, Hit, Ranking
from tests.fusion.rankings import Memory, checked, memories, rank, rankings_of, rows_of, scores
from tests.fusion.rankings import rows as any_row

NO_RULES = Rules(aside=0.0, elsewhere=0.0, file=0.0, context=0.0, variety=1.0)
PLAIN = Auto(rules=NO_RULES)
BM25 = Ranking("bm25", (Hit(1, 6.0, 1), Hit(2, 4.0, 2), Hit(3, 2.0, 3)), ceiling=8.0)
MEANING = Ranking("semantic", (Hit(3, 0.9, 1), Hit(2, 0.6, 2), Hit(1, 0.3, 3)), ceiling=1.0)
CODE = frozenset((1, 2, 3))

files = st.dictionaries(any_row, st.sampled_from(["", "a.py", "b.py", "c.md"]))
subsets = st.frozensets(any_row)
surroundings = st.builds(
    CandidateContext,
    best=subsets,
    files=files,
    code=subsets,
    aside=subsets,
    elsewhere=subsets,
    beside=st.dictionaries(
        any_row, st.lists(st.lists(any_row, max_size=3, unique=True), max_size=3), max_size=6
    ),
)
any_memory = memories("bm25", "semantic", "activation")


def in_deviations(values: list[float]) -> list[float]:
    """Above the least, in standard deviations; ten of them would be a score of 1."""
    deviation = statistics.pstdev(values)
    return [(value - min(values)) / deviation / 10.0 for value in values]


def value(outcomes: Iterable[Fused], row: int, signal: str) -> float:
    (outcome,) = [one for one in outcomes if one.row == row]
    return sum(part.value for part in outcome.contributions if part.signal == signal)


def told(ranking: Ranking, factor: float) -> Ranking:
    hits = tuple(hit._replace(score=hit.score * factor) for hit in ranking.hits)
    return Ranking(ranking.signal, hits, ranking.ceiling * factor)


@pytest.mark.parametrize(("code", "meaning"), [(CODE, 0.75), (frozenset(), 0.3)])
def test_each_signal_counts_by_how_far_a_chunk_stands_out(
    code: frozenset[int], meaning: float
) -> None:
    fused = PLAIN([BM25, MEANING], CandidateContext(CODE, {}, code))
    words = in_deviations([6.0, 4.0, 2.0])
    close = in_deviations([0.3, 0.6, 0.9])
    for row in (1, 2, 3):
        assert value(fused, row, "bm25") == pytest.approx((1 - meaning) * words[row - 1], abs=0.011)
        assert value(fused, row, "semantic") == pytest.approx(meaning * close[row - 1], abs=0.011)
    gap = value(fused, 1, "bm25") - value(fused, 3, "bm25")
    assert gap == pytest.approx((1 - meaning) * words[0])


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_shares_follow_how_much_of_what_was_found_is_code(share: float) -> None:
    """In between, they lie in between; trust says where."""
    code = frozenset(range(1, 1 + int(4 * share)))
    four = Ranking("bm25", tuple(Hit(row, 8.0 / row, row) for row in range(1, 5)), ceiling=8.0)
    same = Ranking("semantic", four.hits, ceiling=8.0)
    auto = Auto(Trust(0.2, 0.8), rules=NO_RULES)
    fused = auto([four, same], CandidateContext(frozenset(range(1, 5)), {}, code))
    meaning = value(fused, 1, "semantic") / fused[0].score
    assert meaning == pytest.approx(0.2 + 0.6 * share)


def test_where_a_signal_tells_nothing_apart_the_other_makes_the_order() -> None:
    flat = Ranking("bm25", tuple(Hit(row, 5.0 + row / 1e12, 1) for row in (1, 2, 3)), ceiling=8.0)
    assert rows_of(PLAIN([flat, MEANING])) == [3, 2, 1]
    vague = Ranking("semantic", tuple(Hit(row, 0.5, 1) for row in (1, 2, 3)), ceiling=1.0)
    assert rows_of(PLAIN([BM25, vague])) == [1, 2, 3]


def test_the_signal_that_separates_better_decides() -> None:
    """One that stands out by far against two that are close to each other."""
    clear = rank("bm25", {1: 8.0, **{row: 1.0 + row / 100 for row in range(2, 13)}})
    close = rank("semantic", {row: 0.5 + row / 100 for row in range(1, 13)})
    assert rows_of(PLAIN([clear, close]))[0] == 1


@pytest.mark.parametrize("ranking", [BM25, MEANING], ids=["words", "meaning"])
def test_a_missing_signal_leaves_its_share_to_the_other(ranking: Ranking) -> None:
    empty = Ranking({"bm25": "semantic", "semantic": "bm25"}[ranking.signal], (), ceiling=1.0)
    alone = PLAIN([ranking])
    assert rows_of(alone) == [hit.row for hit in ranking.hits]
    spread = in_deviations([hit.score for hit in ranking.hits])
    assert alone[0].score - alone[-1].score == pytest.approx(spread[0])
    assert scores(PLAIN([ranking, empty])) == scores(alone)


def test_one_alone_and_all_alike_have_the_same_score_everywhere() -> None:
    """They stand out from nothing at all: by as much as half of what they have deviates."""
    one = PLAIN([Ranking("bm25", (Hit(7, 3.0, 1),), ceiling=8.0)])
    alike = PLAIN([Ranking("bm25", tuple(Hit(row, 0.1, 1) for row in range(5)), ceiling=8.0)])
    assert {round(outcome.score, 12) for outcome in [*one, *alike]} == {0.2}
    assert rows_of(alike) == [0, 1, 2, 3, 4]


def test_without_any_ranking_there_is_nothing() -> None:
    assert Auto()([]).rows == []
    assert Auto()([Ranking("bm25", (), 8.0), Ranking("semantic", (), 1.0)]).rows == []


def test_a_score_is_no_less_for_a_signal_that_has_nothing_on_it() -> None:
    unknown = Ranking("semantic", MEANING.hits[:1], ceiling=1.0)
    assert value(PLAIN([BM25, unknown]), 1, "semantic") == 0.0
    assert all(one.score >= 0.0 for one in PLAIN([BM25, unknown]))


@checked
@given(any_memory, surroundings)
def test_wherever_they_stand_scores_are_in_range_and_sums_of_their_parts(
    memory: Memory, around: CandidateContext
) -> None:
    outcomes = Auto()(rankings_of(memory), around)
    assert set(rows_of(outcomes)) == {row for found in memory.values() for row in found}
    assert list(outcomes) == sorted(outcomes, key=lambda one: (-one.score, one.row))
    for one in outcomes:
        assert 0.0 <= one.score <= 1.0 + 1e-12
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score, abs=1e-12)


@checked
@given(any_memory, surroundings, subsets, st.sampled_from([Auto(), PLAIN]))
def test_chunks_that_are_not_measured_by_change_no_score_of_others(
    memory: Memory, around: CandidateContext, told: frozenset[int], auto: Auto
) -> None:
    """What only a filter brings: with it and without, all others are the same."""
    known = {row for found in memory.values() for row in found}
    if not around.best & known:
        return  # then all that there are are measured by
    whole = auto(rankings_of(memory), around)
    part = auto(rankings_of(memory, among=around.best | told), around)
    assert list(part) == [one for one in whole if one.row in around.best | told]


@checked
@given(
    any_memory,
    surroundings,
    st.sampled_from(["bm25", "semantic", "activation"]),
    st.integers(-6, 6).map(lambda exponent: 2.0**exponent),
)
def test_the_scale_of_a_signal_does_not_matter(
    memory: Memory, around: CandidateContext, signal: str, factor: float
) -> None:
    """Twice as high for all is no other opinion; a power of two has no rounding."""
    rankings = rankings_of(memory)
    other = [told(one, factor) if one.signal == signal else one for one in rankings]
    assert rows_of(Auto()(other, around)) == rows_of(Auto()(rankings, around))
    assert scores(Auto()(other, around)) == pytest.approx(scores(Auto()(rankings, around)))


def test_the_scale_of_use_does_not_matter_where_none_of_the_best_was_used() -> None:
    used = Ranking("activation", (Hit(2, 0.0625, 1),), ceiling=0.5)
    around = CandidateContext(frozenset({1}), {})
    once, twice = Auto()([used], around), Auto()([told(used, 2.0)], around)
    assert scores(once) == pytest.approx(scores(twice))
    assert scores(once)[2] > 0.0


@checked
@given(memories("bm25"), st.frozensets(any_row, min_size=1))
def test_words_alone_keep_their_order_in_front_and_behind(
    memory: Memory, best: frozenset[int]
) -> None:
    """Behind the chunks that are measured by, too, where a filter may find all it lets through."""
    found = memory.get("bm25", {})
    measured = frozenset(row for row in best if row in found)
    if not measured or min(found[row] for row in measured) < max(
        (score for row, score in found.items() if row not in measured), default=0.0
    ):
        return  # those that are measured by are the best
    outcomes = PLAIN(rankings_of(memory), CandidateContext(measured, {}))
    assert rows_of(outcomes) == sorted(found, key=lambda row: (-found[row], row))


def test_behind_those_that_are_measured_by_is_next_to_nothing_but_in_order() -> None:
    """Chunks 1 and 2 have 1 ± ½, and the least of them the hundredth that comes before the rest."""
    hits = (Hit(1, 1.5, 1), Hit(2, 0.5, 2), Hit(3, 0.25, 3), Hit(4, -1.0, 4))
    fused = PLAIN([Ranking("bm25", hits, ceiling=8.0)], CandidateContext(frozenset((1, 2)), {}))
    expected = {1: 2.0 / 10 + 0.01, 2: 0.01, 3: 0.01 * 0.5, 4: 0.0}
    assert scores(fused) == pytest.approx(expected)


def test_where_the_least_has_nothing_those_behind_it_have_nothing_too() -> None:
    """By `idf: robertson` a match may count less than none."""
    hits = (Hit(1, 2.0, 1), Hit(4, -1.0, 2))
    fused = PLAIN([Ranking("bm25", hits, ceiling=8.0)], CandidateContext(frozenset((1, 2)), {}))
    assert scores(fused) == pytest.approx({1: 2.0 / 10, 4: 0.0})


def test_a_word_among_many_may_count_more_than_three_deviations() -> None:
    """One of 26 stands out by 26 / √25; only of use no more than three count."""
    fused = PLAIN([rank("bm25", {0: 8.0, **dict.fromkeys(range(1, 26), 1.0)})])
    assert fused[0].score == pytest.approx(0.52 + 0.01)


def test_a_signal_without_a_share_counts_nothing() -> None:
    dated = Ranking("recency", (Hit(1, 0.5, 1), Hit(2, 1.0, 2)), ceiling=1.0)
    assert scores(PLAIN([BM25, MEANING, dated])) == scores(PLAIN([BM25, MEANING]))


# Use


def test_use_is_added_beside_words_and_meaning() -> None:
    used = Ranking("activation", (Hit(2, 0.5, 1),), ceiling=1.0)
    without, beside = PLAIN([BM25, MEANING]), PLAIN([BM25, MEANING, used])
    for row in (1, 3):
        assert scores(beside)[row] == scores(without)[row]
    (part,) = [p for one in beside for p in one.contributions if p.signal == "activation"]
    assert part.value == pytest.approx(0.15 * in_deviations([0.5, 0.0, 0.0])[0])
    assert scores(beside)[2] == pytest.approx(scores(without)[2] + part.value)
    assert scores(Auto(use=0.0, rules=NO_RULES)([BM25, MEANING, used])) == pytest.approx(
        scores(without)
    )


def test_who_works_on_a_file_is_interested_in_all_of_it() -> None:
    used = Ranking("activation", (Hit(2, 0.5, 1),), ceiling=1.0)
    around = CandidateContext(CODE, {1: "a.py", 2: "b.py", 3: "b.py"})
    fused = PLAIN([BM25, MEANING, used], around)
    assert value(fused, 3, "activation") == value(fused, 2, "activation") > 0.0
    assert value(fused, 1, "activation") == 0.0
    parts = {one.row: p for one in fused for p in one.contributions if p.signal == "activation"}
    told = {row: (part.raw, part.rank) for row, part in parts.items()}
    assert told == {2: (0.5, 1), 3: (0.0, 0)}  # the chunk's own


def test_a_file_that_nothing_was_found_of_has_no_use_to_share() -> None:
    """Chunk 3 is brought by a filter alone, and so is its file."""
    used = Ranking("activation", (Hit(2, 0.5, 1),), ceiling=1.0)
    around = CandidateContext(frozenset((1, 2)), {1: "a.py", 2: "b.py", 3: "c.py"})
    assert value(PLAIN([BM25, MEANING, used], around), 3, "activation") == 0.0


def test_a_chunk_that_was_used_more_than_its_file_keeps_its_own() -> None:
    """The file's share is what the best of it have; chunk 3 is not among them."""
    used = Ranking("activation", (Hit(3, 0.6, 1), Hit(2, 0.5, 2)), ceiling=1.0)
    around = CandidateContext(frozenset((1, 2)), {1: "a.py", 2: "b.py", 3: "b.py"})
    fused = PLAIN([BM25, MEANING, used], around)
    assert value(fused, 2, "activation") == pytest.approx(0.15 * 0.2)  # two deviations of 0.25
    assert value(fused, 3, "activation") == pytest.approx(0.15 * 0.24)


@pytest.mark.parametrize("strength", [0.5, 0.9])
def test_a_single_use_among_many_counts_no_more_than_three_deviations(strength: float) -> None:
    """One of a hundred stands out by ten, however little it was used."""
    words = rank("bm25", {row: 10.0 - row / 20 for row in range(100)})
    fused = PLAIN([words, rank("activation", {60: strength})])
    assert value(fused, 60, "activation") == pytest.approx(0.15 * 0.3)
    assert rows_of(fused)[:10] == list(range(10))


# The last step


def test_variety_is_that_of_its_rules() -> None:
    found = PLAIN([BM25])
    around = CandidateContext(CODE, dict.fromkeys((1, 2, 3), "a.py"))
    varied = list(Auto().vary(found, around))
    assert varied == list(Rules().vary(found, around)) != list(found)


# What is told


def test_what_is_told_as_comparable_is_the_share_of_the_ceiling() -> None:
    parts = {(p.signal, one.row): p for one in PLAIN([BM25, MEANING]) for p in one.contributions}
    assert parts["bm25", 1][:4] == ("bm25", 1, 6.0, 0.75)
    assert parts["semantic", 3][:4] == ("semantic", 1, 0.9, 0.9)
    beyond = Ranking("bm25", (Hit(1, nextafter(8.0, 9.0), 1), Hit(2, 1.0, 2)), ceiling=8.0)
    assert PLAIN([beyond])[0].contributions[0].normalised == 1.0


def test_a_script_that_the_model_hardly_knows_makes_meaning_count_less() -> None:
    doubting = Auto().with_weak_semantics()
    assert 0.0 < doubting.trust.prose < OWN.prose / 2
    assert 0.0 < doubting.trust.code < OWN.code / 2
    assert rows_of(doubting([BM25, MEANING]))[0] == 1
