"""Old notes fade, definitions lead."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion import base
from aurora.signals.exact import ASSUMED, FOLDED, HEADED, INSIDE, MENTIONED, SPELT, leads
from aurora.types import Contribution, Fused, Hit, Ranking
from tests.fusion.rankings import checked, levels, order_of, rows, rows_of, scores

ONE = Fused(1, 0.75, (Contribution("bm25", 1, 6.0, 0.75, 0.75),))
TWO = Fused(2, 0.5, (Contribution("bm25", 2, 4.0, 0.5, 0.5),))


def ranked(signal: str, scores: dict[int, float]) -> Ranking:
    hits = [Hit(r, s, 1 + sum(o > s for o in scores.values())) for r, s in scores.items()]
    return Ranking(signal, tuple(sorted(hits, key=lambda hit: (-hit.score, hit.row))))


def fade(outcomes: Iterable[Fused], recency: Ranking) -> list[Fused]:
    return list(base.fade(order_of([*outcomes]), recency))


def lead(outcomes: Iterable[Fused], exact: Ranking) -> list[Fused]:
    return list(base.lead(order_of([*outcomes]), exact))


def outcome(row: int, hundredths: list[int]) -> Fused:
    """One contribution of so many hundredths for each number, as a fusion of several would give."""
    values = [each / 100 for each in hundredths]
    return Fused(row, fsum(values), tuple(Contribution("bm25", 1, v, 1.0, v) for v in values))


hundredths = st.lists(st.integers(0, 33), min_size=1, max_size=3)
orders = st.dictionaries(rows, hundredths).map(
    lambda found: list(order_of([outcome(*each) for each in found.items()]).best_first())
)


def test_a_dated_note_fades_and_the_rest_stays() -> None:
    assert fade([ONE, TWO], ranked("recency", {1: 0.5})) == [
        TWO,
        Fused(1, 0.375, (*ONE.contributions, Contribution("recency", 1, 0.5, 0.5, -0.375))),
    ]


@checked
@given(orders, st.dictionaries(rows, levels))
def test_every_dated_score_is_multiplied_and_every_other_kept(
    outcomes: list[Fused], factors: dict[int, float]
) -> None:
    faded = fade(outcomes, ranked("recency", factors))
    assert scores(faded) == pytest.approx(
        {one.row: one.score * factors.get(one.row, 1.0) for one in outcomes}
    )
    undated = [one for one in outcomes if one.row not in factors]
    assert [one for one in faded if one.row not in factors] == undated
    assert_whole(faded)


def test_without_a_definition_nothing_changes() -> None:
    assert lead([ONE, TWO], ranked("exact", {})) == [ONE, TWO]


def test_a_definition_leads_even_if_nothing_else_has_found_it() -> None:
    led = lead([ONE, TWO], ranked("exact", {7: ASSUMED}))
    assert rows_of(led) == [7, 1, 2]
    assert led[0] == Fused(7, 0.8, (Contribution("exact", 1, ASSUMED, ASSUMED, 0.8),))
    assert [one.score for one in led[1:]] == pytest.approx([0.2 * 0.75, 0.2 * 0.5])


def test_of_two_definitions_the_closer_name_leads_and_then_the_better_match() -> None:
    perfect = ONE._replace(score=1.0, contributions=(Contribution("bm25", 1, 8.0, 1.0, 1.0),))
    for closer, other in ((SPELT, FOLDED), (FOLDED, ASSUMED)):
        assert rows_of(lead([perfect, TWO], ranked("exact", {1: other, 2: closer}))) == [2, 1]
    assert rows_of(lead([TWO, ONE], ranked("exact", {1: SPELT, 2: SPELT}))) == [1, 2]


def test_a_heading_helps_but_does_not_lead() -> None:
    """It counts 0.3, and all else 0.7: not enough beside a perfect match of everything else."""
    led = lead([ONE, TWO], ranked("exact", {2: HEADED}))
    assert [(one.row, one.score) for one in led] == [
        (2, pytest.approx(0.7 * 0.5 + 0.3)),
        (1, pytest.approx(0.7 * 0.75)),
    ]
    perfect = ONE._replace(score=1.0, contributions=(Contribution("bm25", 1, 8.0, 1.0, 1.0),))
    assert rows_of(lead([perfect], ranked("exact", {7: HEADED}))) == [1, 7]


@pytest.mark.parametrize("level", [MENTIONED, INSIDE, ASSUMED, FOLDED, SPELT])
def test_an_identifier_leads_however_well_the_others_match(level: float) -> None:
    """Inside a longer question, and where a chunk only contains it, too."""
    perfect = ONE._replace(score=1.0, contributions=(Contribution("bm25", 1, 8.0, 1.0, 1.0),))
    assert rows_of(lead([perfect, TWO], ranked("exact", {7: level}))) == [7, 1, 2]
    assert rows_of(lead([perfect, TWO], ranked("exact", {2: level}))) == [2, 1]


def test_each_level_leads_the_next_however_well_that_matches() -> None:
    perfect = ONE._replace(score=1.0, contributions=(Contribution("bm25", 1, 8.0, 1.0, 1.0),))
    falling = [SPELT, FOLDED, ASSUMED, INSIDE, MENTIONED, HEADED]
    for closer, other in pairwise(falling):
        assert rows_of(lead([perfect], ranked("exact", {1: other, 7: closer}))) == [7, 1]


def test_beside_a_definition_a_heading_stays_behind_however_well_it_matches() -> None:
    """`app.route` is a function's name with a qualifier to guess, and a note's heading."""
    perfect = ONE._replace(score=1.0, contributions=(Contribution("bm25", 1, 8.0, 1.0, 1.0),))
    assert rows_of(lead([perfect, TWO], ranked("exact", {1: HEADED, 7: ASSUMED}))) == [7, 1, 2]
    assert rows_of(lead([TWO], ranked("exact", {2: HEADED, 7: ASSUMED}))) == [7, 2]


some_levels = st.sampled_from([HEADED, MENTIONED, INSIDE, ASSUMED, FOLDED, SPELT])


@checked
@given(orders, st.dictionaries(rows, some_levels, max_size=4))
def test_definitions_come_before_everything_and_the_rest_keeps_its_order(
    outcomes: list[Fused], found: dict[int, float]
) -> None:
    led = lead(outcomes, ranked("exact", found))
    leading = {row: level for row, level in found.items() if leads(level)}
    assert set(rows_of(led)) == {*rows_of(outcomes), *found}
    assert set(rows_of(led)[: len(leading)]) == leading.keys()
    rest = [row for row in rows_of(outcomes) if row not in found]
    assert [row for row in rows_of(led) if row not in found] == rest
    by_level = [(leading.get(one.row, 0.0), one.score, -one.row) for one in led]
    assert by_level == sorted(by_level, reverse=True)
    assert_sums(led)


@checked
@given(orders, st.dictionaries(rows, some_levels, min_size=1), st.sets(rows))
def test_a_chunk_has_its_score_whichever_others_there_are(
    outcomes: list[Fused], found: dict[int, float], allowed: set[int]
) -> None:
    """Where a definition was found, all are measured by it, also those that a filter leaves."""
    exact = ranked("exact", found)
    some = [one for one in outcomes if one.row in allowed]
    led = [one for one in lead(outcomes, exact) if one.row in allowed]
    assert [one for one in lead(some, exact) if one.row in allowed] == led


def assert_whole(outcomes: list[Fused]) -> None:
    """In order, in range, and nothing in a score that no contribution accounts for."""
    assert [(one.score, -one.row) for one in outcomes] == sorted(
        ((one.score, -one.row) for one in outcomes), reverse=True
    )
    assert_sums(outcomes)


def assert_sums(outcomes: list[Fused]) -> None:
    for one in outcomes:
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score, abs=1e-12)
        assert 0.0 <= one.score <= 1.0 + 1e-12
