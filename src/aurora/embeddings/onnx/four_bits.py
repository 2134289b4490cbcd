"""Weights of four bits, 32 to a block with one float16 scale (Q4_0), made into float32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
BLOCK_WEIGHTS = 32
_ROWS_AT_ONCE = 8192  # what is worked out in between stays small


class Place(NamedTuple):
    """Where a tensor is, checked by whoever says so."""

    where: slice  # of bytes
    dimensions: tuple[int, ...]
    in_blocks: bool  # otherwise float32


class LazyTensors(Mapping[str, Floats]):
    """Tensors that are made when they are asked for: a vocabulary alone may be 384 MB."""

    def __init__(self, data: Bytes, places: Mapping[str, Place]) -> None:
        self._data, self._places = data, places

    def __getitem__(self, name: str) -> Floats:
        place = self._places[name]
        found = self._data[place.where]
        if not place.in_blocks:
            plain = np.frombuffer(found.tobytes(), "<f4")
            return plain.reshape(place.dimensions).astype(np.float32)
        rows, columns = place.dimensions
        return unpack_rows(found.view(BLOCK).reshape(rows, columns // BLOCK_WEIGHTS))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def unpack_rows(blocks: NDArray[np.void]) -> Floats:
    """Nibble j of a block is its weight j when low, its weight j + 16 when high."""
    rows, across = blocks.shape
    weights = np.empty((rows, across, 2, 16), np.float32)
    for start in range(0, rows, _ROWS_AT_ONCE):
        some, out = blocks[start : start + _ROWS_AT_ONCE], weights[start : start + _ROWS_AT_ONCE]
        out[:, :, 0] = some["nibbles"] & 0x0F
        out[:, :, 1] = some["nibbles"] >> 4
        out -= 8
        out *= some["scale"].astype(np.float32)[:, :, None, None]
    return weights.reshape(rows, across * BLOCK_WEIGHTS)
