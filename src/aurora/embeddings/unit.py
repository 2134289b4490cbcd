"""Vectors of length 1, so that a product of two is their cosine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Each row, or the one vector, by its length. What has no direction stays as it is."""
    wide = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return (wide / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
