"""Trained numbers as the files that are shipped: how they are rounded, and what both ways give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from aurora.embeddings.aurora.tokens import PIECES
from aurora.embeddings.aurora.weights import (
    GRAPH,
    INNER,
    LAYERS,
    TENSORS,
    WIDTH,
    WINDOW,
    read_tensors,
    weights_digest,
)
from aurora.embeddings.onnx import open_session
from training.model.export import MATRICES, export

HEADS = 4
SHAPES = {
    "qkv": (WIDTH, 3 * WIDTH),
    "out": (WIDTH, WIDTH),
    "up": (WIDTH, INNER),
    "down": (INNER, WIDTH),
}
WORDS = ["[unknown]", "a", "##b", "用户", "d", "e"]

Floats = NDArray[np.float32]
Arrays = dict[str, Floats]


def make_arrays() -> Arrays:
    """Numbers at random, of about the size that training gives them."""
    random = np.random.default_rng(1)

    def normal(*shape: int, size: float = 1.0, mean: float = 0.0) -> Floats:
        return random.normal(mean, size, shape).astype(np.float32)

    arrays = {
        "table": normal(len(WORDS), WIDTH, size=0.3),
        "weight": random.uniform(0.1, 2.0, len(WORDS)).astype(np.float32),
        "position": normal(WINDOW, WIDTH, size=0.1),
    }
    for layer in range(LAYERS):
        for gain in ("gain1", "gain2"):
            arrays[f"{layer}.{gain}"] = normal(WIDTH, size=0.2, mean=1.0)
        for name, shape in SHAPES.items():
            arrays[f"{layer}.{name}"] = normal(*shape, size=shape[0] ** -0.5)
            arrays[f"{layer}.{name}.bias"] = normal(shape[1], size=0.1)
    return arrays


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    pieces = tmp_path / "mine.txt"
    pieces.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    export(make_arrays(), pieces, tmp_path / "model")
    return tmp_path / "model"


def run(folder: Path, h: Floats, mask: Floats) -> Floats:
    session = open_session(folder / GRAPH)
    return np.asarray(session.run(["out"], {"h": h, "mask": mask})[0])  # type: ignore[dict-item]


def rms(rows: Floats) -> Floats:
    return np.asarray(rows / np.sqrt(np.square(rows).mean(axis=-1, keepdims=True) + 1e-6))


def layers(arrays: Arrays, h: Floats) -> Floats:
    """The two layers over one window, as the model's card writes them."""
    for layer in range(LAYERS):

        def affine(name: str, rows: Floats, at: str = f"{layer}.") -> Floats:
            return np.asarray(rows @ arrays[at + name] + arrays[f"{at}{name}.bias"])

        near = rms(h + arrays["position"][: len(h)]) * arrays[f"{layer}.gain1"]
        query, key, value = affine("qkv", near).reshape(len(h), 3, HEADS, -1).transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / 8
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        h = h + affine("out", (shares @ value).transpose(1, 0, 2).reshape(h.shape))
        inner = affine("up", rms(h) * arrays[f"{layer}.gain2"])
        h = h + affine("down", np.maximum(inner, 0))
    return h


def cosines(one: Floats, other: Floats) -> Floats:
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return np.asarray((one * other).sum(axis=-1) / lengths)


def test_the_package_reads_what_is_written(exported: Path) -> None:
    tensors, arrays = read_tensors(exported, len(WORDS)), make_arrays()
    assert (exported / PIECES).read_text(encoding="utf-8").split() == WORDS
    assert len(tensors) == len(arrays) + 1 + LAYERS * len(MATRICES)  # the scales
    np.testing.assert_array_equal(tensors["weight"], arrays["weight"].astype(np.float16))


@pytest.mark.parametrize("name", ["table", *(f"1.{name}" for name in MATRICES)])
def test_numbers_are_rounded_to_the_nearest(exported: Path, name: str) -> None:
    """By a scale of float16, whose last bit may move the largest of 127 steps by another 1/16."""
    tensors, exact = read_tensors(exported, len(WORDS)), make_arrays()[name]
    whole = tensors[name].astype(np.float32)
    kept = tensors["scale"][:, None] if name == "table" else tensors[f"{name}.scale"]
    scale = kept.astype(np.float32)
    steps = (whole * scale - exact) / scale
    assert np.abs(steps).max() <= 0.5 + 1 / 16
    assert np.abs(whole).max() == 127


def test_rows_and_columns_of_zeros_stay_zeros(tmp_path: Path) -> None:
    """Layers begin as such, and a piece may never have been seen."""
    arrays = make_arrays()
    arrays["table"][3] = 0
    for layer in range(LAYERS):
        for name in ("out", "down"):
            arrays[f"{layer}.{name}"][:] = 0
            arrays[f"{layer}.{name}.bias"][:] = 0
    pieces = tmp_path / PIECES
    pieces.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    export(arrays, pieces, tmp_path)
    assert not read_tensors(tmp_path, len(WORDS))["table"][3].any()
    h = np.random.default_rng(2).normal(0, 1, (1, 7, WIDTH)).astype(np.float32)
    np.testing.assert_array_equal(run(tmp_path, h, np.ones((1, 7), np.float32)), h)


def test_the_graph_computes_the_layers(exported: Path) -> None:
    """A full window, a short one, one of a single piece: what is padded changes none of them."""
    random, sizes = np.random.default_rng(3), (WINDOW, 9, 1)
    h = np.zeros((len(sizes), WINDOW, WIDTH), np.float32)
    mask = np.zeros(h.shape[:2], np.float32)
    for row, size in enumerate(sizes):
        h[row, :size] = random.normal(0, 0.3, (size, WIDTH))
        mask[row, :size] = 1
    out = run(exported, h, mask)
    for row, size in enumerate(sizes):
        expected = layers(make_arrays(), h[row, :size])
        assert cosines(out[row, :size], expected).min() > 0.999
        changed = cosines(h[row, :size], expected)
        assert changed.max() < 0.9  # the layers do something


def test_a_window_does_not_depend_on_those_beside_it(exported: Path) -> None:
    h = np.random.default_rng(4).normal(0, 0.3, (2, 12, WIDTH)).astype(np.float32)
    mask = np.ones((2, 12), np.float32)
    loud = h * np.array([1, 50], np.float32)[:, None, None]
    first = run(exported, h, mask)[0]
    np.testing.assert_allclose(run(exported, loud, mask)[0], first, atol=1e-5)
    np.testing.assert_allclose(run(exported, h[:1], mask[:1])[0], first, atol=1e-5)


def test_the_same_numbers_give_the_same_files(exported: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    export(make_arrays(), exported / PIECES, again)
    assert weights_digest(again) == weights_digest(exported)
    (again / TENSORS).write_bytes(b"others")
    assert weights_digest(again) != weights_digest(exported)
