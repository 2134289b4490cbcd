"""Writing an encoder as a graph: small ones, of any shape, against the float32 of the paper."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from aurora.embeddings.onnx.graph import EncoderShape, write_encoder
from aurora.embeddings.onnx.quantise import quantise_rows
from aurora.embeddings.onnx.session import open_session, products_overflow
from aurora.errors import EmbeddingError
from tests.embeddings.reference import Reference

SHAPE = EncoderShape(layers=2, width=32, heads=4, inner=64, positions=16)
Tensors = dict[str, NDArray[np.float32]]


def make_tensors(shape: EncoderShape = SHAPE, words: int = 50) -> Tensors:
    """Random weights by the names that they have in a BERT."""
    random = np.random.default_rng(1)
    width, inner = shape.width, shape.inner
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, width),
        "embeddings.position_embeddings.weight": (shape.positions, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for number in range(shape.layers):
        at = f"encoder.layer.{number}"
        for name, (out, into) in {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }.items():
            sizes |= {f"{at}.{name}.weight": (out, into), f"{at}.{name}.bias": (out,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            sizes |= {f"{at}.{name}.weight": (width,), f"{at}.{name}.bias": (width,)}
    # Norms near 1, so that what comes out is made by the layers, not by biases.
    return {
        name: random.normal("Norm.weight" in name, 0.2, size).astype(np.float32)
        for name, size in sizes.items()
    }


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


def test_onnxruntime_reports_to_nobody(tmp_path: Path) -> None:
    """Where it does, it begins with a file that numbers the session."""
    write_encoder(make_tensors(), SHAPE, tmp_path / "model.onnx")
    (scratch := tmp_path / "scratch").mkdir()
    code = (
        "import sys; from pathlib import Path\n"
        "from aurora.embeddings.onnx.session import open_session\n"
        "open_session(Path(sys.argv[1]))"
    )
    environ = {name: os.environ[name] for name in os.environ if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.onnx"],
        env={**environ, "TMPDIR": str(scratch)},
        check=True,
    )
    assert list(scratch.iterdir()) == []


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


def test_half_precision_is_read_as_well(tmp_path: Path) -> None:
    tensors = make_tensors()
    write_encoder({n: t.astype(np.float16) for n, t in tensors.items()}, SHAPE, tmp_path / "x")
    assert cosines(run(tmp_path / "x", [[1, 2]])[0], Tensored(tensors).hidden([1, 2])).min() > 0.99


def test_a_tensor_that_is_missing_is_named(tmp_path: Path) -> None:
    for name in make_tensors():
        tensors = make_tensors()
        del tensors[name]
        with pytest.raises(EmbeddingError, match=name):
            write_encoder(tensors, SHAPE, tmp_path / "x.onnx")


def test_a_tensor_of_another_shape_is_named(tmp_path: Path) -> None:
    for name, tensor in make_tensors().items():
        tensors = make_tensors() | {name: tensor[..., :-1]}
        with pytest.raises(EmbeddingError, match=name):
            write_encoder(tensors, SHAPE, tmp_path / "x.onnx")
    assert not (tmp_path / "x.onnx").exists()


def test_eight_bits_are_off_by_half_a_step_at_most() -> None:
    matrix = np.random.default_rng(2).normal(size=(20_000, 7)).astype(np.float32)
    matrix[3] = 0
    whole, scales = quantise_rows(matrix)
    assert (whole.dtype, scales.shape) == (np.int8, (20_000,))
    assert np.abs(whole).max(axis=1).tolist() == [127 if row.any() else 0 for row in matrix]
    error = np.abs(whole * scales[:, None] - matrix)
    assert (error <= scales[:, None] * 0.5001).all()


@pytest.mark.parametrize(
    ("machine", "flags", "overflow"),
    [
        ("aarch64", None, False),
        ("arm64", None, False),
        ("x86_64", "flags : fpu avx2 fma", True),
        ("x86_64", "flags : avx2 avx512bw", True),
        ("x86_64", "flags : avx2 avx512_vnni", False),
        ("x86_64", "flags : avx2 avx_vnni", False),
        ("AMD64", None, True),
    ],
)
def test_only_old_intel_processors_need_the_slow_products(
    tmp_path: Path, machine: str, flags: str | None, overflow: bool
) -> None:
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(flags, encoding="utf-8")
    assert products_overflow(machine, tmp_path / "cpuinfo") is overflow
