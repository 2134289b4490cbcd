"""A trained model as the files that the package ships.

    python -m training.model.export model.npz pieces.txt OUT

Numbers of the table become int8 with a scale a row, those of the layers with a scale a column:
the largest becomes ±127, all others are rounded to the nearest. What little is left is float16.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.aurora.tokens import PIECES, read_tokenizer
from aurora.embeddings.aurora.weights import GRAPH, LAYERS, TENSORS, read_tensors, weights_digest
from training.model.graph import write_layers
from training.quantise import quantise_rows

MATRICES = ("qkv", "out", "up", "down")
_TYPES = {"int8": "I8", "float16": "F16"}
_ALIGNED = 64  # bytes: the first array begins at a multiple of this
_LEAST_WEIGHT = 6e-8  # that float16 has

Arrays = Mapping[str, NDArray[np.generic]]


def export(arrays: Arrays, pieces: Path, out: Path) -> None:
    """Write all three files. `arrays` are those of a trained model, by the names of the file."""
    out.mkdir(parents=True, exist_ok=True)
    if pieces.resolve() != (out / PIECES).resolve():
        shutil.copyfile(pieces, out / PIECES)
    write_tensors(quantised(arrays), out / TENSORS)
    write_layers(read_tensors(out, read_tokenizer(out / PIECES).size), out / GRAPH)


def quantised(arrays: Arrays) -> dict[str, NDArray[np.generic]]:
    found: dict[str, NDArray[np.generic]] = {}
    found["table"], found["scale"] = _whole(arrays["table"].astype(np.float32))
    weight = np.maximum(arrays["weight"].astype(np.float32), _LEAST_WEIGHT)
    found["weight"] = weight.astype(np.float16)
    matrices = {f"{layer}.{name}" for layer in range(LAYERS) for name in MATRICES}
    for name, array in arrays.items():
        if name in matrices:
            whole, scale = _whole(array.astype(np.float32).T)
            found[name], found[f"{name}.scale"] = np.ascontiguousarray(whole.T), scale
        elif name not in found:
            found[name] = array.astype(np.float16)
    return found


def _whole(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Rounded by the scale that is kept, which has eleven bits, not by the exact one."""
    scale = quantise_rows(rows).scales.astype(np.float16)
    scale = np.maximum(scale, np.float16(6e-8))
    whole = np.rint(rows / scale.astype(np.float32)[:, None])
    return np.clip(whole, -127, 127).astype(np.int8), scale


def write_tensors(tensors: Arrays, path: Path) -> None:
    """As safetensors. All numbers of 16 bits lie at even places: nothing before them is odd."""
    header, blocks, at = {}, [], 0
    for name, array in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        entry = {"dtype": _TYPES[str(array.dtype)], "shape": list(array.shape)}
        header[name] = entry | {"data_offsets": [at, at + len(data)]}
        blocks.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNED)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("pieces", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    export(np.load(options.model), options.pieces, options.out)
    sizes = {name: (options.out / name).stat().st_size for name in (TENSORS, PIECES, GRAPH)}
    for name, size in sizes.items():
        print(f"{name:18} {size / 1e6:6.2f} MB")
    print(
        f"{'in all':18} {sum(sizes.values()) / 1e6:6.2f} MB, digest {weights_digest(options.out)}"
    )
    from training.model.check import compare  # noqa: PLC0415 - torch is needed for this alone

    compare(options.model, options.out)


if __name__ == "__main__":
    main()
