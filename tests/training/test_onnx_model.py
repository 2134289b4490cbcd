"""Writing an encoder as a graph: small ones, of any shape, against the float32 of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from aurora.embeddings.onnx import open_session
from tests.embeddings.pulling.small_model import random_tensors
from tests.training.reference import Reference
from training.onnx_model import EncoderShape, write_encoder
from training.quantise import quantise_rows

SHAPE = EncoderShape(layers=2, width=32, heads=4, inner=64, positions=16)
Tensors = dict[str, NDArray[np.float32]]


def make_tensors() -> Tensors:
    return random_tensors(SHAPE, 50)


class Tensored(Reference):
    """The reference with weights from memory."""

    def __init__(self, tensors: Tensors) -> None:
        self.weights, self.heads = tensors, SHAPE.heads


def run(
    path: Path, ids: list[list[int]], mask: list[list[int]] | None = None
) -> NDArray[np.float32]:
    row = np.array(ids, np.int64)
    seen = np.ones_like(row) if mask is None else np.array(mask, np.int64)
    inputs = {"input_ids": row, "attention_mask": seen}
    return open_session(path).run(["last_hidden_state"], inputs)[0]


def cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return np.asarray((one * other).sum(axis=-1) / lengths)


def test_a_graph_computes_what_the_paper_writes(tmp_path: Path) -> None:
    tensors = make_tensors()
    write_encoder(tensors, SHAPE, tmp_path / "x.onnx")
    for ids in ([3], [1, 2, 3, 4, 5], list(range(16))):
        wanted = Tensored(tensors).hidden(ids)
        found = run(tmp_path / "x.onnx", [ids])[0]
        assert found.shape == (len(ids), 32)
        assert cosines(found, wanted).min() > 0.999


def test_what_the_mask_hides_is_not_seen(tmp_path: Path) -> None:
    write_encoder(make_tensors(), SHAPE, tmp_path / "x.onnx")
    mask = [[1, 1, 1, 0]]
    one = run(tmp_path / "x.onnx", [[5, 6, 7, 8]], mask)[0][:3]
    other = run(tmp_path / "x.onnx", [[5, 6, 7, 9]], mask)[0][:3]
    seen = run(tmp_path / "x.onnx", [[5, 6, 7, 9]])[0][:3]
    assert cosines(one, other).min() > 0.999
    assert cosines(seen, other).max() < 0.99


def test_the_same_weights_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_encoder(make_tensors(), SHAPE, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_eight_bits_are_off_by_half_a_step_at_most() -> None:
    matrix = np.random.default_rng(2).normal(size=(20_000, 7)).astype(np.float32)
    matrix[3] = 0
    whole, scales = quantise_rows(matrix)
    assert (whole.dtype, scales.shape) == (np.int8, (20_000,))
    assert np.abs(whole).max(axis=1).tolist() == [127 if row.any() else 0 for row in matrix]
    error = np.abs(whole * scales[:, None] - matrix)
    assert (error <= scales[:, None] * 0.5001).all()
