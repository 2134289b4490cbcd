"""Texts longer than a model's window: nothing is left out, and the parts become one vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.embeddings.long_texts import join_windows, split_windows


@given(count=st.integers(0, 2000), size=st.integers(1, 300))
def test_windows_are_the_whole_text_in_the_fewest_equal_parts(count: int, size: int) -> None:
    windows = split_windows(range(count), size)
    assert [number for window in windows for number in window] == list(range(count))
    lengths = [len(window) for window in windows]
    assert len(windows) == max(1, -(-count // size))
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1


def test_one_window_keeps_its_vector() -> None:
    assert join_windows(np.array([[0.6, 0.8]], np.float32)).tolist() == pytest.approx([0.6, 0.8])
