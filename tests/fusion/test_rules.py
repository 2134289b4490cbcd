"""The rules of `auto`, one by one: what each does, and that 0 turns it off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.auto import Rules
from aurora.fusion.base import CandidateContext, Order
from aurora.types import Contribution, Fused
from tests.fusion.rankings import checked, order_of, rows_of, scores
from tests.fusion.rankings import rows as any_row
from tests.fusion.test_auto import surroundings

NONE = Rules(aside=0.0, elsewhere=0.0, file=0.0, context=0.0, variety=1.0)
EVERYBODY = frozenset(range(1, 13))


def outcome(row: int, score: float) -> Fused:
    return Fused(row, score, (Contribution("bm25", row, score, score, score),))


def found(**by_row: float) -> Order:
    """`found(r1=0.5)`: best first, as a fusion gives them."""
    return order_of([outcome(int(name[1:]), s) for name, s in by_row.items()]).best_first()


def around(**known: object) -> CandidateContext:
    return CandidateContext(**{"best": EVERYBODY, "files": {}, "code": EVERYBODY, **known})  # type: ignore[arg-type]


def parts(outcomes: Order, signal: str) -> dict[int, float]:
    return {
        one.row: part.value
        for one in outcomes
        for part in one.contributions
        if part.signal == signal
    }


some = st.dictionaries(any_row, st.integers(0, 20).map(lambda n: n / 20)).map(
    lambda by_row: order_of([outcome(*each) for each in by_row.items()]).best_first()
)


def test_without_any_rule_nothing_changes() -> None:
    outcomes = found(r1=0.5, r2=0.3)
    there = around(
        files={1: "a", 2: "a"}, aside={1}, elsewhere={2}, beside={1: [[2]], 2: [[1]]}
    )  # fmt: skip
    assert list(NONE.apply(outcomes, there)) == list(outcomes)


@pytest.mark.parametrize("rule", ["aside", "elsewhere", "file", "context", "variety"])
def test_each_rule_has_an_effect_and_can_be_turned_off(rule: str) -> None:
    outcomes = found(r1=0.9, r2=0.8, r3=0.7, r4=0.1, r5=0.05)
    there = around(
        files={1: "a", 2: "a", 3: "a", 4: "b"}, aside={2}, elsewhere={3},
        beside={4: [[1]], 5: [[4]]},
    )  # fmt: skip
    alone = replace(NONE, **{rule: getattr(Rules(), rule)})
    assert parts(alone.vary(alone.apply(outcomes, there), there), rule)
    off = replace(Rules(), **{rule: getattr(NONE, rule)})
    assert parts(off.vary(off.apply(outcomes, there), there), rule) == {}


@checked
@given(some, surroundings)
def test_what_a_rule_did_is_a_part_of_the_score(outcomes: Order, there: CandidateContext) -> None:
    ruled = Rules().apply(outcomes, there)
    assert sorted(rows_of(ruled)) == sorted(rows_of(outcomes))
    for one in ruled:
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score, abs=1e-12)
        assert -1e-12 <= one.score <= 1.0 + 1e-12


@checked
@given(some, surroundings, st.frozensets(any_row))
def test_rules_are_measured_by_the_best_alone(
    outcomes: Order, there: CandidateContext, brought: frozenset[int]
) -> None:
    """Whatever a filter brings changes nothing for the others."""
    whole = Rules().apply(outcomes, there)
    part = Rules().apply(order_of([o for o in outcomes if o.row in there.best | brought]), there)
    assert list(part) == [one for one in whole if one.row in there.best | brought]


def test_what_exceeds_1_is_measured_by_the_highest_of_the_best() -> None:
    """Their file gains chunks 1 and 2 more than there is; so it does chunk 5, which is none."""
    outcomes = found(r1=0.9, r2=0.8, r3=0.0, r4=0.0, r5=0.95)
    there = around(best={1, 2, 3, 4}, files=dict.fromkeys((1, 2, 5), "a.py"))
    ruled = replace(NONE, file=0.35).apply(outcomes, there)
    gain = 0.35 * (0.9 - 1.7 / 4)
    expected = {1: 1.0, 5: 1.0, 2: (0.8 + gain) / (0.9 + gain), 3: 0.0, 4: 0.0}
    assert scores(ruled) == pytest.approx(expected)


# Aside


def test_tests_and_the_like_lose_a_little() -> None:
    ruled = replace(NONE, aside=0.1).apply(found(r1=0.5, r2=0.45, r3=0.1), around(aside={1, 3}))
    assert rows_of(ruled) == [2, 1, 3]
    assert scores(ruled) == {1: pytest.approx(0.4), 2: 0.45, 3: 0.05}
    assert ruled[1].contributions[-1] == Contribution("aside", 0, -0.1, -0.1, -0.1)


@checked
@given(some, st.frozensets(any_row))
def test_those_aside_keep_their_order_and_at_least_half(
    outcomes: Order, aside: frozenset[int]
) -> None:
    ruled = replace(NONE, aside=0.1).apply(outcomes, around(aside=aside))
    before = scores(outcomes)
    assert [row for row in rows_of(ruled) if row in aside] == [
        row for row in rows_of(outcomes) if row in aside
    ]
    assert all(scores(ruled)[row] >= before[row] / 2 - 1e-12 for row in before)


# File


def test_a_file_that_much_is_found_of_comes_first() -> None:
    """Two good chunks of one file before a single better one of another."""
    outcomes = found(r1=0.5, r2=0.45, r3=0.44, r4=0.0, r5=0.0)
    homes = {1: "alone.py", 2: "both.py", 3: "both.py", 4: "x.py", 5: "y.py"}
    ruled = replace(NONE, file=0.35).apply(outcomes, around(files=homes, best={1, 2, 3, 4, 5}))
    assert rows_of(ruled)[:3] == [2, 3, 1]
    gains = parts(ruled, "file")
    assert gains.keys() == {2, 3}  # a file with one chunk has no company
    middle = (0.5 + 0.45 + 0.44) / 5
    assert gains[2] == gains[3] == pytest.approx(0.35 * (0.5 - middle))


def test_a_chunk_without_a_home_is_of_no_file() -> None:
    ruled = replace(NONE, file=0.35).apply(
        found(r1=0.5, r2=0.4, r3=0.0), around(files={1: "", 2: ""})
    )
    assert parts(ruled, "file") == {}


@pytest.mark.parametrize("homes", [{}, {1: "long.md", 2: "long.md"}], ids=["no home", "prose"])
def test_no_file_is_measured_by_what_is_of_none(homes: dict[int, str]) -> None:
    """Chunks 1 and 2 have more together than the only file of code, and it gains in full."""
    outcomes = found(r1=0.6, r2=0.6, r3=0.5, r4=0.5, r5=0.0, r6=0.0)
    code = {3, 4} if homes else {1, 2, 3, 4}
    there = around(best=set(range(1, 7)), files={**homes, 3: "a.py", 4: "a.py"}, code=code)
    gains = parts(replace(NONE, file=0.35).apply(outcomes, there), "file")
    each = 0.35 * (0.6 - 2.2 / 6)
    assert gains == pytest.approx({3: each, 4: each})


def test_all_of_the_file_gains_what_only_a_filter_brings_too() -> None:
    outcomes = found(r1=0.5, r2=0.4, r3=0.0, r4=0.0)
    homes = dict.fromkeys((1, 2, 4), "a.py")
    ruled = replace(NONE, file=0.35).apply(outcomes, around(files=homes, best={1, 2, 3}))
    gains = parts(ruled, "file")
    assert gains[4] == gains[1] == gains[2] > 0.0


# Context


def test_an_answer_has_a_part_of_what_was_said_beside_it() -> None:
    """The question has the words; the answer follows it."""
    outcomes = found(r1=0.6, r2=0.0, r3=0.0, r9=0.0)
    ruled = replace(NONE, context=0.35).apply(
        outcomes, around(best={1, 2, 3, 9}, beside={1: [[2]], 2: [[1], [3]], 3: [[2, 77]]})
    )
    assert parts(ruled, "context") == {2: pytest.approx(0.35 * (0.6 - 0.15))}
    assert rows_of(ruled)[:2] == [1, 2]


def test_of_a_turn_with_several_chunks_the_best_counts() -> None:
    outcomes = found(r1=0.6, r2=0.5, r3=0.0, r9=0.0)
    ruled = replace(NONE, context=0.35).apply(
        outcomes, around(best={1, 2, 3, 9}, beside={3: [[1, 2]]})
    )
    assert parts(ruled, "context") == {3: pytest.approx(0.35 * (0.6 - 0.275))}


# Variety


def test_ten_results_are_not_one_file() -> None:
    """The best of it in full, then each a little less; another file comes in between."""
    outcomes = found(r1=0.5, r2=0.49, r3=0.48, r4=0.47, r5=0.42)
    homes = {1: "a.py", 2: "a.py", 3: "a.py", 4: "a.py", 5: "b.py"}
    ruled = replace(NONE, variety=0.9).vary(outcomes, around(files=homes))
    assert scores(ruled) == {
        1: 0.5, 2: pytest.approx(0.9 * 0.49), 3: pytest.approx(0.81 * 0.48),
        4: pytest.approx(0.729 * 0.47), 5: 0.42,
    }  # fmt: skip
    assert rows_of(ruled) == [1, 2, 5, 3, 4]


def test_what_was_asked_for_by_name_is_not_varied() -> None:
    """Overloads: the third comes before what is spelt otherwise, in whatever file that is."""
    named = [
        Fused(row, 0.9 - row / 100, (Contribution("exact", 1, 1.0, 1.0, 0.9 - row / 100),))
        for row in (1, 2, 3)
    ]
    outcomes = order_of([*named, *found(r4=0.8, r5=0.7)])
    homes = {1: "a.py", 2: "a.py", 3: "a.py", 4: "b.py", 5: "a.py"}
    varied = replace(NONE, variety=0.5).vary(outcomes, around(files=homes, named={1, 2, 3}))
    assert rows_of(varied) == [1, 2, 3, 4, 5]
    assert scores(varied)[5] == pytest.approx(0.7 / 8)


@checked
@given(
    some, st.dictionaries(any_row, st.sampled_from(["", "a.py", "b.py"])), st.frozensets(any_row)
)
def test_variety_keeps_the_order_within_a_file(
    outcomes: Order, homes: dict[int, str], best: frozenset[int]
) -> None:
    ruled = replace(NONE, variety=0.9).vary(outcomes, around(files=homes, best=best))
    for home in ("a.py", "b.py"):
        of_it = [row for row in rows_of(outcomes) if homes.get(row) == home]
        assert [row for row in rows_of(ruled) if row in of_it] == of_it
    without = [row for row in rows_of(outcomes) if not homes.get(row)]
    assert all(scores(ruled)[row] == scores(outcomes)[row] for row in without)


def test_a_long_document_gains_nothing_by_its_length() -> None:
    prose = around(files={1: "a", 2: "a", 3: "b"}, code=frozenset())
    assert parts(Rules().apply(found(r1=0.9, r2=0.8, r3=0.7), prose), "file") == {}
