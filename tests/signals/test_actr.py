"""ACT-R's base level and the activations made of it, against ten lines of plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aurora.signals.activation import (
    ActivationEngine,
    approximate_strength,
    retrieval_probability,
)

DAY = 86_400.0
NOW = 1_800_000_000.0  # 2027: 20,833 days since 1970
ENGINE = ActivationEngine()
HYBRID = ActivationEngine(exact_uses=3)  # short histories are long ones to it

ages = st.floats(0.0, NOW / DAY) | st.integers(0, 40).map(float)
times = ages.map(lambda age: NOW - age * DAY)
histories = st.lists(times, max_size=30)
strange = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, NOW + 1e9, 0.0])
engines = st.sampled_from([ENGINE, HYBRID])


def strength(ages: Sequence[float], decay: float = 0.5) -> float:
    """The exact sum over all ages, in days."""
    return math.fsum(max(age, 1.0) ** -decay for age in ages)


def oracle(history: Sequence[float], *, now: float = NOW, decay: float = 0.5) -> float:
    """P, as the books have it."""
    total = 0.0
    for time in history:
        days = (now - time) / (24 * 60 * 60)
        total += 1 / math.pow(max(days, 1.0), decay)
    if total == 0.0:
        return 0.0
    return 1 / (1 + math.exp(-math.log(total)))


def activation(history: Sequence[float], engine: ActivationEngine = ENGINE) -> float:
    return engine.activations({7: history}, NOW)[7]


@given(histories)
def test_an_activation_is_what_the_books_say(history: list[float]) -> None:
    assert activation(history) == pytest.approx(oracle(history), abs=1e-12)


@pytest.mark.parametrize(
    ("days", "expected"),
    [([], 0.0), ([0], 0.5), ([1], 0.5), ([4], 1 / 3), ([100], 1 / 11), ([0, 0], 2 / 3)],
)
def test_activations_to_know_by_heart(days: list[int], expected: float) -> None:
    assert activation([NOW - day * DAY for day in days]) == pytest.approx(expected)


@given(histories, times, engines)
def test_a_use_raises_activation_by_half_at_most(
    history: list[float], use: float, engine: ActivationEngine
) -> None:
    """Also by the approximation, unless the use is older than all others: see the next test."""
    before, after = activation(history, engine), activation([*history, use], engine)
    assert 0.0 <= after < 1.0
    assert after - before <= 0.5 + 1e-12
    if engine is ENGINE or use >= min(history, default=0.0):
        assert after >= before - 1e-12


def test_an_older_first_use_thins_what_is_approximated() -> None:
    """The price of the approximation, in the only direction in which there is one."""
    history = [NOW] * 50
    assert activation([0.0, *history], HYBRID) < activation(history, HYBRID)
    assert activation([0.0, *history]) > activation(history)


def test_each_opening_adds_less_than_the_one_before() -> None:
    steps = [activation([NOW] * count) for count in range(10)]
    gains = [after - before for before, after in pairwise(steps)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] == 0.5


@given(histories.filter(bool), st.data(), engines)
def test_a_later_use_counts_no_less(
    history: list[float], data: st.DataObject, engine: ActivationEngine
) -> None:
    place = data.draw(st.integers(0, len(history) - 1))
    later = data.draw(st.floats(history[place], NOW))
    moved = [*history[:place], later, *history[place + 1 :]]
    assert activation(moved, engine) >= activation(history, engine) - 1e-12


@given(histories, st.floats(0.0, 1e12), engines)
def test_time_alone_only_lowers(
    history: list[float], passed: float, engine: ActivationEngine
) -> None:
    before = engine.activations({1: history}, NOW)
    assert engine.activations({1: history}, NOW + passed)[1] <= before[1] + 1e-12


@given(histories.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))), engines)
def test_the_order_of_uses_does_not_matter(
    orders: tuple[list[float], list[float]], engine: ActivationEngine
) -> None:
    assert activation(orders[0], engine) == activation(orders[1], engine)


@given(
    st.dictionaries(st.integers(), st.lists(times | strange, max_size=12), max_size=12),
    st.just(NOW) | strange,
    st.floats(0.0, 3.0) | st.just(1.0),
    st.integers(1, 12),
)
@example({1: [math.inf]}, math.inf, 0.5, 3)  # no number
@example({1: [-1e308]}, 1e308, 0.5, 3)  # too large a number
def test_whatever_the_uses_are_activations_are_in_range(
    uses: dict[int, list[float]], now: float, decay: float, exact_uses: int
) -> None:
    activations = ActivationEngine(decay, exact_uses).activations(uses, now)
    assert list(activations) == list(uses)
    assert all(0.0 <= value < 1.0 for value in activations.values())


def test_equal_histories_are_ties_wherever_they_stand() -> None:
    draw = Random(5)  # noqa: S311 - no secret
    history = [draw.uniform(0, NOW) for _ in range(7)]
    uses = {row: history if row % 3 else [draw.uniform(0, NOW)] for row in range(1000)}
    activations = ENGINE.activations(uses, NOW)
    assert len({value for row, value in activations.items() if row % 3}) == 1


@given(st.lists(st.one_of(times, strange), max_size=12))
def test_what_is_no_time_is_no_use_and_the_future_is_today(history: list[float]) -> None:
    usual = [min(time, NOW) for time in history if math.isfinite(time)]
    assert activation(history) == pytest.approx(activation(usual), abs=1e-12)


@given(st.lists(ages, min_size=1, max_size=40), st.integers(1, 10), st.floats(0.0, 2.0))
def test_the_approximation_is_never_off_by_more_than_its_others_can_differ(
    history: list[float], exact_uses: int, decay: float
) -> None:
    found = approximate_strength(history, decay, exact_uses=exact_uses)
    counted = sorted(max(age, 1.0) for age in history)
    others = counted[exact_uses - 1 :] if len(counted) > exact_uses else [1.0]
    slack = (len(others) - 1) * (others[0] ** -decay - others[-1] ** -decay)
    assert found == pytest.approx(strength(history, decay), rel=1e-12, abs=slack + 1e-12)


@pytest.mark.parametrize("shape", ["uniform", "bursty", "power law", "first year"])
@given(st.integers(), st.integers(201, 1000), st.floats(1.0, 4.0))
def test_long_histories_are_off_by_less_than_a_hundredth(
    shape: str, seed: int, size: int, length: float
) -> None:
    draw = Random(seed)  # noqa: S311 - no secret
    history = random_ages(draw, size, 10**length, shape=shape)
    exact, found = strength(history), approximate_strength(history)
    assert abs(retrieval_probability(found) - retrieval_probability(exact)) < 0.01
    if shape == "uniform":
        assert abs(math.log(found) - math.log(exact)) < 0.05


def random_ages(draw: Random, size: int, length: float, *, shape: str) -> list[float]:
    if shape == "uniform":
        return [draw.uniform(0, length) for _ in range(size)]
    if shape == "power law":
        return [min(draw.paretovariate(0.3 + length / 1e4), 2e4) for _ in range(size)]
    if shape == "first year":
        return [length - min(draw.expovariate(10 / length), length) for _ in range(size)]
    ages: list[float] = []
    while len(ages) < size:
        middle, width = draw.uniform(0, length), draw.uniform(0.1, 10)
        ages += [abs(draw.gauss(middle, width)) for _ in range(draw.randint(1, 60))]
    return ages[:size]


@given(st.floats(1.0, 20_833.0), st.floats(1.0, 20_833.0), st.integers(0, 2000), st.booleans())
def test_no_history_since_1970_is_off_by_more_than_four_hundredths(
    one: float, other: float, count: int, recent: bool
) -> None:
    """The two worst histories of any length: all but one use at either end of what is averaged."""
    young, old = min(one, other), max(one, other)
    history = [young] * 200 + [young if recent else old] * count + [old]
    exact, found = strength(history), approximate_strength(history)
    assert abs(retrieval_probability(found) - retrieval_probability(exact)) < 0.04


def test_the_approximation_is_petrovs() -> None:
    """Two uses exactly, then 2·(√16 − √4) / (½·(16 − 4)) for those between the second and last."""
    assert approximate_strength([16, 1, 9, 4], exact_uses=2) == pytest.approx(1 + 1 / 2 + 2 / 3)


@pytest.mark.parametrize("decay", [0.3, 0.5, 0.8])
def test_without_exact_uses_it_is_optimised_learning(decay: float) -> None:
    """B ≈ ln(n / (1−d)) − d·ln(L), which lets ages begin at 0 where ours begin at a day."""
    life, count = 1e12, 500
    found = approximate_strength([life] * count, decay, exact_uses=0)
    classical = math.log(count / (1 - decay)) - decay * math.log(life)
    assert math.log(found) == pytest.approx(classical, abs=0.005)


@given(st.floats(1.0, 1e300), st.floats(0.0, 1e-9), st.floats(0.0, 3.0))
def test_no_digits_are_lost_when_the_others_are_almost_as_old(
    age: float, spread: float, decay: float
) -> None:
    found = approximate_strength([age, age * (1 + spread)], decay, exact_uses=1)
    assert found == pytest.approx(2 * age**-decay, rel=1e-8)


@given(st.floats(1.0, 1e6), st.floats(1.5, 1e6))
def test_a_decay_of_one_lies_between_its_neighbours(age: float, factor: float) -> None:
    below, at, above = (
        approximate_strength([age, age * factor], decay, exact_uses=1)
        for decay in (1 - 1e-7, 1.0, 1 + 1e-7)
    )
    assert above <= at <= below
    assert above == pytest.approx(below, rel=1e-4)


@pytest.mark.parametrize(
    "wrong", [{"decay": -0.1}, {"decay": math.nan}, {"decay": math.inf}, {"exact_uses": 0}]
)
def test_an_engine_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ActivationEngine(**wrong)  # type: ignore[arg-type]
