"""Vectors as they are stored everywhere: packed into bytes, and out of them again."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

VECTOR_WIDTH = 2  # bytes a number


def pack_vector(values: Sequence[float]) -> bytes:
    """A vector as it is stored everywhere: little-endian float16, two bytes a dimension.

    Raises `OverflowError` for a number beyond 65,504; a vector of length 1 has none. What the other
    sixteen bits would tell changes no ranking: see docs/concepts/embeddings.md.
    """
    return struct.pack(f"<{len(values)}e", *values)


def unpack_vector(packed: bytes) -> Sequence[float]:
    """The numbers of a stored vector."""
    return struct.unpack(f"<{len(packed) // VECTOR_WIDTH}e", packed)


def unit_vector(values: Sequence[float]) -> Sequence[float]:
    """The vector scaled to length 1; one that is zero, or not finite, stays as it is."""
    largest = max(map(abs, values), default=0.0)
    if not 0.0 < largest < math.inf:
        return values
    scaled = [value / largest for value in values]  # their squares neither vanish nor overflow
    length = math.hypot(*scaled)
    return [value / length for value in scaled]
