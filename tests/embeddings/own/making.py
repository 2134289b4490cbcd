"""A model as the package holds it, but of few words and of numbers that mean nothing."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from string import ascii_lowercase, digits

import numpy as np
from numpy.typing import NDArray

WORDS = ["get", "http", "response", "code", "the", "config", "file", "pars", "##ing", "##e",
         "用户", "用", "认证", "パ", "ガ", "question", "about", "number"]  # fmt: skip
PIECES = [
    "[unknown]",
    *ascii_lowercase,
    *digits,
    *(f"##{sign}" for sign in ascii_lowercase + digits),
    *WORDS,
]
NUMBERS = {piece: number for number, piece in enumerate(PIECES)}

Tensors = dict[str, NDArray[np.generic]]


def make_tensors(pieces: int = len(PIECES), seed: int = 0) -> Tensors:
    """Random, but of a size that a trained model could have."""
    random = np.random.default_rng(seed)

    def whole(*shape: int) -> NDArray[np.generic]:
        return random.integers(-127, 128, shape).astype(np.int8)

    def half(low: float, high: float, *shape: int) -> NDArray[np.generic]:
        return random.uniform(low, high, shape).astype(np.float16)

    tensors: Tensors = {
        "table": whole(pieces, 256),
        "scale": half(0.005, 0.02, pieces),
        "weight": half(0.1, 2, pieces),
        "position": half(-0.2, 0.2, 128, 256),
    }
    for layer in (0, 1):
        tensors |= {f"{layer}.{gain}": half(0.5, 1.5, 256) for gain in ("gain1", "gain2")}
        for name, shape in {
            "qkv": (256, 768), "out": (256, 256), "up": (256, 1024), "down": (1024, 256)
        }.items():  # fmt: skip
            tensors[f"{layer}.{name}"] = whole(*shape)
            tensors[f"{layer}.{name}.scale"] = half(0.0005, 0.001, shape[1])
            tensors[f"{layer}.{name}.bias"] = half(-0.1, 0.1, shape[1])
    return tensors


def write_tensors(tensors: Tensors, path: Path) -> None:
    kinds = {"int8": "I8", "float16": "F16", "float32": "F32"}
    header, end = {}, 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        kind = kinds[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    data = b"".join(tensor.tobytes() for tensor in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_model(folder: Path, tensors: Tensors | None = None) -> Path:
    """All of it but the graph, in whose place are a few bytes."""
    write_tensors(tensors or make_tensors(), folder / "model.safetensors")
    (folder / "pieces.txt").write_text("\n".join([*PIECES, ""]), encoding="utf-8")
    (folder / "layers.onnx").write_bytes(b"no graph")
    return folder
