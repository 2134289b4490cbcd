"""Float32 rows as int8 with one scale per row: value ≈ whole × scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LARGEST = 127  # symmetric: -128 is left out, so that zero stays zero
_ROWS_AT_ONCE = 8192  # a vocabulary of a quarter million rows is not copied as a whole


class Quantised(NamedTuple):
    whole: NDArray[np.int8]
    scales: NDArray[np.float32]  # one per row


def quantise_rows(matrix: NDArray[np.generic]) -> Quantised:
    """The largest number of a row becomes ±127. A row of zeros stays one."""
    whole = np.empty(matrix.shape, np.int8)
    scales = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        block = np.asarray(matrix[rows], np.float32)
        largest = np.abs(block).max(axis=1)
        scales[rows] = np.where(largest > 0, largest / np.float32(_LARGEST), np.float32(1))
        whole[rows] = np.rint(block / scales[rows, None])
    return Quantised(whole, scales)
