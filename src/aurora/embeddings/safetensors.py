"""The safetensors format: a JSON header that says where each array lies, and then the arrays.

    8 bytes   length of the header, little-endian
    header    {"name": {"dtype": "F32", "shape": [30522, 384], "data_offsets": [start, stop]}, …}
    arrays    side by side; offsets count from here

The file is mapped, not read: an array costs nothing until its rows are touched.
"""

from __future__ import annotations

import json
import math
import reprlib
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.errors import EmbeddingError

_LENGTH = struct.Struct("<Q")
_LONGEST = 100_000_000  # bytes of header; the format's own bound
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I8": "i1"}  # I64: positions


def read_safetensors(path: Path) -> dict[str, NDArray[np.generic]]:
    """Every array of the file by name. Raises `EmbeddingError` for anything not as it should be."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(_LENGTH.size)
            length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else 0
            if not 2 <= length <= min(size - _LENGTH.size, _LONGEST):
                raise _damaged(path, "is no safetensors file, or its header is cut off")
            header = _parse(path, file.read(length))
        data = np.memmap(path, np.uint8, "r")[_LENGTH.size + length :]
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    return {name: _array(path, name, header[name], data) for name in header if name[:2] != "__"}


def _parse(path: Path, text: bytes) -> Mapping[str, object]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _damaged(path, f"has a header that is no JSON: {exc}") from exc
    if not isinstance(header, dict):
        raise _damaged(path, "has a header that names no arrays")
    return header


def _array(path: Path, name: str, entry: object, data: NDArray[np.uint8]) -> NDArray[np.generic]:
    kind, shape, start, stop = _read_entry(path, name, entry)
    if kind not in _TYPES:
        raise _damaged(path, f"has numbers of type {kind!r} in {name}, which are not read here")
    if not 0 <= start <= stop <= len(data):
        ends = f"{start} to {stop} of {len(data)} bytes"
        raise _damaged(path, f"is cut off, or lies: {name} is said to be at {ends}")
    dtype = np.dtype(_TYPES[kind])
    if math.prod(shape) * dtype.itemsize != stop - start:
        told = f"{name} of shape {reprlib.repr(shape)}"
        raise _damaged(path, f"lies: {told} does not fill {stop - start} bytes")
    try:
        numbers = data[start:stop].view(dtype).reshape(shape)
    except (ValueError, OverflowError) as exc:  # 65 dimensions, or nothing times 2**70
        raise _damaged(path, f"lies: no array has the shape of {name}: {exc}") from exc
    return _widened(numbers) if kind == "BF16" else numbers


def _read_entry(path: Path, name: str, entry: object) -> tuple[str, tuple[int, ...], int, int]:
    match entry:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(start), int(stop)]}:
            if all(isinstance(length, int) and length >= 0 for length in shape):
                return kind, tuple(shape), start, stop
    raise _damaged(path, f"does not say where {name} lies")


def _widened(halves: NDArray[np.generic]) -> NDArray[np.generic]:
    """A bfloat16 is the upper half of a float32; numpy has no such type."""
    wide: NDArray[np.generic] = (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return wide


def _damaged(path: Path, what: str) -> EmbeddingError:
    return EmbeddingError(f"{path} {what}", hint="get the file again")
