"""Vectors as they are stored: two bytes a number, of length 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.packing import VECTOR_WIDTH, pack_vector, unit_vector, unpack_vector

finite = st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(-1, 1)


@given(st.lists(st.floats(width=16, allow_nan=False)))
def test_what_float16_can_say_comes_back_as_it_was(values: list[float]) -> None:
    packed = pack_vector(values)
    assert len(packed) == VECTOR_WIDTH * len(values)
    assert list(unpack_vector(packed)) == values


@given(st.lists(shares))
def test_of_the_numbers_of_a_unit_vector_three_digits_are_kept(values: list[float]) -> None:
    kept = unpack_vector(pack_vector(values))
    assert all(
        abs(a - b) <= max(abs(a) * 2**-11, 2**-25) for a, b in zip(values, kept, strict=True)
    )


def test_a_number_that_float16_has_not_is_refused() -> None:
    with pytest.raises(OverflowError):
        pack_vector([65_520.0])


@given(st.lists(finite, min_size=1).filter(any))
def test_any_direction_has_a_vector_of_length_1(values: list[float]) -> None:
    """However long or short it was: its square may lie beyond what a number can be."""
    unit = unit_vector(values)
    assert math.hypot(*unit) == pytest.approx(1.0, abs=1e-12)
    pack_vector(unit)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 4.0], [0.6, 0.8]),
        ([-3e300, 4e300], [-0.6, 0.8]),
        ([3e-300, 4e-300], [0.6, 0.8]),
        ([5e-324, 0.0], [1.0, 0.0]),
        ([1.7e308] * 4, [0.5] * 4),
        ([-2.0], [-1.0]),
    ],
    ids=["plain", "huge", "tiny", "least", "most", "one"],
)
def test_the_direction_stays(values: list[float], expected: list[float]) -> None:
    assert unit_vector(values) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[], [0.0, -0.0], [math.inf, 1.0], [1.0, -math.inf]])
def test_what_has_no_direction_stays_as_it_is(values: list[float]) -> None:
    assert unit_vector(values) == values
