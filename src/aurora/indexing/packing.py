"""Vectors as a store keeps them, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def packed(matrix: NDArray[np.float64]) -> Iterable[bytes]:
    """As `pack_vector` does it."""
    return (row.tobytes() for row in matrix.astype("<f2"))


def unit_rows(
    vectors: Sequence[Sequence[float]] | NDArray[np.float64], *, count: int, dimension: int
) -> NDArray[np.float64]:
    """Each at length 1. `ValueError`: one is no vector."""
    import numpy as np  # noqa: PLC0415 - those who import this module may embed nothing

    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} texts")
    if wrong := [len(vector) for vector in vectors if len(vector) != dimension]:
        raise ValueError(f"a vector of {wrong[0]} numbers, not {dimension}")
    matrix = np.asarray(vectors, np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector with numbers that are not finite")
    scaled = matrix / _or_one(np.abs(matrix).max(axis=1, initial=0.0))  # no square overflows then
    unit: NDArray[np.float64] = scaled / _or_one(np.linalg.norm(scaled, axis=1))
    return unit


def _or_one(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """As a column to divide by: a vector of no length stays as it is."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.where(lengths > 0.0, lengths, 1.0)[:, None]
