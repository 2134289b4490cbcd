"""The model's numbers, mapped: what the files hold, and whether they fit together.

    table     V × 256, int8        a row a piece,
    scale     V, float16           times this,
    weight    V, float16           counts this much in a text
    position  128 × 256, float16   where in a window a piece stands

and for each layer its gains, and four matrices of int8 with a scale and a bias a column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.own.words import PIECES, REPAIR
from aurora.embeddings.safetensors import read_safetensors
from aurora.errors import EmbeddingError

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
