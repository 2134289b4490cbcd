"""The stored form of vectors: little-endian float16, two bytes per dimension."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

VECTOR_WIDTH = 2  # bytes per number


def pack_vector(values: Sequence[float]) -> bytes:
    """Pack a vector. `OverflowError` for a number beyond 65,504, which no unit vector has.

    The other sixteen bits of a float32 change no ranking: see docs/concepts/embeddings.md.
    """
    return struct.pack(f"<{len(values)}e", *values)


def unpack_vector(packed: bytes) -> Sequence[float]:
    """Return the numbers of a packed vector."""
    return struct.unpack(f"<{len(packed) // VECTOR_WIDTH}e", packed)


def unit_vector(values: Sequence[float]) -> Sequence[float]:
    """Scale a vector to length 1; a zero or infinite vector stays as it is."""
    largest = max(map(abs, values), default=0.0)
    if not 0.0 < largest < math.inf:
        return values
    scaled = [value / largest for value in values]  # their squares neither vanish nor overflow
    length = math.hypot(*scaled)
    return [value / length for value in scaled]
