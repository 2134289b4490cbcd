"""Texts that are longer than what a model reads at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.unit import unit_rows


def split_windows(ids: Sequence[int], size: int) -> list[Sequence[int]]:
    """The fewest windows of at most so many ids, as long as each other; at least one."""
    count = max(1, math.ceil(len(ids) / size))
    ends = [len(ids) * number // count for number in range(count + 1)]
    return [ids[start:stop] for start, stop in pairwise(ends)]


def join_windows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """One vector of length 1 out of those of a text's windows, in their order."""
    return unit_rows(vectors.mean(axis=0, dtype=np.float64))
