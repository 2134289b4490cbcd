"""How sure a mean is: intervals and p-values, against enumeration and another library."""

from __future__ import annotations

from itertools import product
from types import ModuleType

import numpy as np
import pytest

from aurora.evaluation.metrics import FLIPS, estimate, randomisation_test

SCORES = np.random.default_rng(5).random((200, 2)) ** 2


@pytest.fixture
def stats() -> ModuleType:
    """Takes a second to import, which every worker would wait for while it collects."""
    from scipy import stats

    return stats


def test_an_interval_is_that_of_scipy(stats: ModuleType) -> None:
    for column, found in enumerate(estimate(SCORES.tolist())):
        theirs = stats.bootstrap(
            (SCORES[:, column],), np.mean, method="percentile", n_resamples=20_000, rng=1
        ).confidence_interval
        assert found.mean == pytest.approx(SCORES[:, column].mean())
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_the_same_scores_give_the_same_interval() -> None:
    assert estimate(SCORES.tolist()) == estimate(SCORES.tolist())


def test_what_is_always_the_same_has_no_width() -> None:
    assert [tuple(one) for one in estimate([[0.5, 1.0]] * 30)] == [(0.5, 0.5, 0.5), (1.0, 1.0, 1.0)]


def test_many_questions_are_drawn_in_parts() -> None:
    """Four million numbers at once are not enough for these."""
    found = estimate([[float(n % 2)] for n in range(5000)])[0]
    assert found.mean == 0.5
    assert (found.low, found.high) == pytest.approx((0.486, 0.514), abs=0.002)


@pytest.mark.parametrize(
    "differences",
    [
        [0.3, 0.1, 0.2, -0.05, 0.4, 0.0, 0.15],
        [0.1, 0.1, 0.1, -0.1],
        [0.5],
        [0.2, -0.2],
        [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
    ],
)
def test_a_p_value_is_the_share_of_signs_that_do_as_well(differences: list[float]) -> None:
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    exact = np.mean([one >= abs(sum(differences)) - 1e-9 for one in sums])
    assert randomisation_test(differences) == pytest.approx(exact, abs=0.015)


def test_a_p_value_is_near_that_of_a_paired_t_test(stats: ModuleType) -> None:
    one, other = SCORES.T
    for shift in (0.0, 0.02, 0.05):
        theirs = stats.ttest_rel(one + shift, other).pvalue
        assert randomisation_test((one + shift - other).tolist()) == pytest.approx(theirs, abs=0.02)


def test_no_difference_is_no_evidence() -> None:
    assert randomisation_test([0.0] * 50) == 1.0


def test_a_p_value_is_never_zero() -> None:
    assert randomisation_test([1.0] * 100) == 1 / (FLIPS + 1)
