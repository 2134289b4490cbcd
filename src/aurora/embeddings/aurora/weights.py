"""The tensors of the bundled model, memory-mapped and checked.

    table     V × 256, int8        one row per piece, times
    scale     V, float16
    weight    V, float16           the weight of a piece in a text
    position  128 × 256, float16   added by the place of a piece in its window

and for each layer two gains, and four int8 matrices with a scale and a bias per column.

The file is in the safetensors format: the length of a header (8 bytes, little-endian), the header
as JSON, and the arrays side by side, with offsets that count from the end of the header:

    {"name": {"dtype": "F32", "shape": [30522, 384], "data_offsets": [start, stop]}, …}

A mapped array costs nothing until its rows are read.
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

from aurora.embeddings.aurora.tokens import PIECES
from aurora.errors import EmbeddingError
from aurora.package_manager import repair_command

TENSORS, GRAPH = "model.safetensors", "layers.onnx"
WIDTH = 256
WINDOW = 128  # pieces that see each other
LAYERS = 2
INNER = 1024
MATRICES = {
    "qkv": (WIDTH, 3 * WIDTH),
    "out": (WIDTH, WIDTH),
    "up": (WIDTH, INNER),
    "down": (INNER, WIDTH),
}

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[np.generic]]

_LENGTH = struct.Struct("<Q")
_MOST_HEADER = 100_000_000  # bytes; the limit of the format
_TYPES = {"F32": "<f4", "F16": "<f2", "I64": "<i8", "I8": "i1"}


def read_tensors(folder: Path, pieces: int) -> Tensors:
    """The tensors of a model with that many pieces. Raises `EmbeddingError` for any other file."""
    path = folder / TENSORS
    try:
        tensors = read_safetensors(path)
    except EmbeddingError as exc:
        raise EmbeddingError(exc.message, hint=repair_command()) from exc
    for name, (kind, shape) in _expected(pieces).items():
        tensor = tensors.get(name)
        if tensor is None or (tensor.dtype, tensor.shape) != (np.dtype(kind), shape):
            actual = f"{tensor.dtype} of {tensor.shape}" if tensor is not None else "missing"
            raise EmbeddingError(
                f"{path} is damaged, or {PIECES} belongs to another model: "
                f"{name} is {actual}, and should be {kind} of {shape}",
                hint=repair_command(),
            )
    return {name: np.asarray(tensor) for name, tensor in tensors.items()}


def _expected(pieces: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "table": ("int8", (pieces, WIDTH)),
        "scale": ("float16", (pieces,)),
        "weight": ("float16", (pieces,)),
        "position": ("float16", (WINDOW, WIDTH)),
    }
    for layer in range(LAYERS):
        shapes |= {f"{layer}.{gain}": ("float16", (WIDTH,)) for gain in ("gain1", "gain2")}
        for name, shape in MATRICES.items():
            shapes[f"{layer}.{name}"] = ("int8", shape)
            shapes |= {f"{layer}.{name}.{x}": ("float16", shape[1:]) for x in ("scale", "bias")}
    return shapes


def piece_vectors(tensors: Tensors, pieces: NDArray[np.int64]) -> Floats:
    """The vector of each piece, before any layer."""
    rows = tensors["table"][pieces].astype(np.float32)
    rows *= tensors["scale"][pieces].astype(np.float32)[:, None]
    return rows


def piece_weights(tensors: Tensors, pieces: NDArray[np.int64]) -> Floats:
    """The weight of each piece in a text."""
    return tensors["weight"][pieces].astype(np.float32)


def weights_digest(folder: Path) -> str:
    """A digest of the three files, in twelve digits."""
    import hashlib  # noqa: PLC0415 - a query needs none

    digest = hashlib.sha256()
    try:
        for name in (TENSORS, PIECES, GRAPH):
            digest.update((folder / name).read_bytes())
    except OSError as exc:
        raise EmbeddingError(
            f"{folder / name} cannot be read: {exc.strerror or exc}", hint=repair_command()
        ) from exc
    return digest.hexdigest()[:12]


def check_weights(folder: Path, expected: str) -> None:
    """Raises `EmbeddingError` where the files have another digest."""
    actual = weights_digest(folder)
    if actual != expected:
        raise EmbeddingError(
            f"The model in {folder} is damaged: its digest is {actual}, and should be {expected}",
            hint=repair_command(),
        )


def read_safetensors(path: Path) -> Tensors:
    """All arrays of a file by name. Raises `EmbeddingError` for an invalid file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(_LENGTH.size)
            length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else 0
            if not 2 <= length <= min(size - _LENGTH.size, _MOST_HEADER):
                raise _damaged(path, "is not a safetensors file, or its header is cut off")
            header = _parse_header(path, file.read(length))
        data = np.memmap(path, np.uint8, "r")[_LENGTH.size + length :]
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    return {name: _array(path, name, header[name], data) for name in header if name[:2] != "__"}


def _parse_header(path: Path, text: bytes) -> Mapping[str, object]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _damaged(path, f"has a header that is not JSON: {exc}") from exc
    if not isinstance(header, dict):
        raise _damaged(path, "has a header that names no arrays")
    return header


def _array(path: Path, name: str, entry: object, data: NDArray[np.uint8]) -> NDArray[np.generic]:
    kind, shape, start, stop = _parse_entry(path, name, entry)
    if kind not in _TYPES:
        raise _damaged(path, f"has numbers of type {kind!r} in {name}, which is not supported")
    if not 0 <= start <= stop <= len(data):
        ends = f"{start} to {stop} of {len(data)} bytes"
        raise _damaged(path, f"is cut off, or its header is wrong: {name} has the bytes {ends}")
    dtype = np.dtype(_TYPES[kind])
    if math.prod(shape) * dtype.itemsize != stop - start:
        named = f"{name} of shape {reprlib.repr(shape)}"
        raise _damaged(path, f"has a wrong header: {named} does not fill {stop - start} bytes")
    try:
        return data[start:stop].view(dtype).reshape(shape)
    except (ValueError, OverflowError) as exc:  # 65 dimensions, or 0 × 2**70
        raise _damaged(path, f"has a wrong header: the shape of {name} is invalid: {exc}") from exc


def _parse_entry(path: Path, name: str, entry: object) -> tuple[str, tuple[int, ...], int, int]:
    match entry:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(start), int(stop)]}:
            if all(isinstance(length, int) and length >= 0 for length in shape):
                return kind, tuple(shape), start, stop
    raise _damaged(path, f"does not say where {name} is")


def _damaged(path: Path, problem: str) -> EmbeddingError:
    return EmbeddingError(f"{path} {problem}", hint="get the file again")
