"""Texts longer than a model's window: nothing is left out, and the parts become one vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.embeddings.compute import join_windows, split_windows


@given(count=st.integers(0, 2000), size=st.integers(1, 300))
def test_windows_are_the_whole_text_and_full_but_for_the_last(count: int, size: int) -> None:
    windows = split_windows(range(count), size)
    assert [number for window in windows for number in window] == list(range(count))
    assert all(len(window) == size for window in windows[:-1])
    assert len(windows[-1]) <= size


def test_a_text_without_a_token_is_one_empty_window() -> None:
    assert split_windows([], 10) == [[]]


def test_one_window_keeps_its_vector() -> None:
    vectors = np.array([[0.6, 0.8]], np.float32)
    assert join_windows(vectors, [7]).tolist() == pytest.approx([0.6, 0.8])


def test_windows_count_by_their_tokens_and_the_first_twice() -> None:
    """2 · 10 along the first axis, 10 along the second, 20 along the third: length 30."""
    joined = join_windows(np.eye(3, dtype=np.float32), [10, 10, 20])
    assert joined.tolist() == pytest.approx([2 / 3, 1 / 3, 2 / 3])


def test_windows_that_say_the_opposite_leave_no_direction_and_no_fault() -> None:
    vectors = np.array([[1, 0], [-1, 0]], np.float32)
    assert join_windows(vectors, [5, 10]).tolist() == [0.0, 0.0]
