"""The model's numbers, mapped: what the files hold, and whether they fit together.

    table     V × 256, int8        a row a piece,
    scale     V, float16           times this,
    weight    V, float16           counts this much in a text
    position  128 × 256, float16   where in a window a piece stands

and for each layer its gains, and four matrices of int8 with a scale and a bias a column.

The safetensors format: a JSON header that says where each array lies, and then the arrays.

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

from aurora.embeddings.aurora.tokens import PIECES, REPAIR
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


WIDTH = 256
WINDOW = 128  # pieces that see each other
LAYERS = 2
INNER = 1024
TENSORS, GRAPH = "model.safetensors", "layers.onnx"

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[np.generic]]

_MATRICES = {
    "qkv": (WIDTH, 3 * WIDTH),
    "out": (WIDTH, WIDTH),
    "up": (WIDTH, INNER),
    "down": (INNER, WIDTH),
}


def read_tensors(folder: Path, pieces: int) -> Tensors:
    """Those of the model for so many pieces. Raises `EmbeddingError` where something is amiss."""
    path = folder / TENSORS
    try:
        tensors = read_safetensors(path)
    except EmbeddingError as exc:
        raise EmbeddingError(exc.message, hint=REPAIR) from exc
    for name, (kind, shape) in _expected(pieces).items():
        found = tensors.get(name)
        if found is None or (found.dtype, found.shape) != (np.dtype(kind), shape):
            there = f"{found.dtype} of {found.shape}" if found is not None else "missing"
            raise EmbeddingError(
                f"{path} is damaged, or {PIECES} is another model's: "
                f"{name} is {there}, and should be {kind} of {shape}",
                hint=REPAIR,
            )
    return {name: np.asarray(tensor) for name, tensor in tensors.items()}


def weights_digest(folder: Path) -> str:
    """What the three files hold, in twelve digits."""
    import hashlib  # noqa: PLC0415 - a question needs none

    digest = hashlib.sha256()
    try:
        for name in (TENSORS, PIECES, GRAPH):
            digest.update((folder / name).read_bytes())
    except OSError as exc:
        raise EmbeddingError(
            f"{folder / name} cannot be read: {exc.strerror or exc}", hint=REPAIR
        ) from exc
    return digest.hexdigest()[:12]


def check_weights(folder: Path, expected: str) -> None:
    """Raises `EmbeddingError` for files that hold anything else."""
    found = weights_digest(folder)
    if found != expected:
        raise EmbeddingError(
            f"The model in {folder} is damaged: it is {found}, and should be {expected}",
            hint=REPAIR,
        )


def rows_of(tensors: Tensors, pieces: NDArray[np.int64]) -> Floats:
    """The vector of each piece, before any layer."""
    rows = tensors["table"][pieces].astype(np.float32)
    rows *= tensors["scale"][pieces].astype(np.float32)[:, None]
    return rows


def weights_of(tensors: Tensors, pieces: NDArray[np.int64]) -> Floats:
    """What each piece counts in a text."""
    return tensors["weight"][pieces].astype(np.float32)


def _expected(pieces: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "table": ("int8", (pieces, WIDTH)),
        "scale": ("float16", (pieces,)),
        "weight": ("float16", (pieces,)),
        "position": ("float16", (WINDOW, WIDTH)),
    }
    for layer in range(LAYERS):
        shapes |= {f"{layer}.{gain}": ("float16", (WIDTH,)) for gain in ("gain1", "gain2")}
        for name, shape in _MATRICES.items():
            shapes[f"{layer}.{name}"] = ("int8", shape)
            shapes |= {f"{layer}.{name}.{x}": ("float16", shape[1:]) for x in ("scale", "bias")}
    return shapes
