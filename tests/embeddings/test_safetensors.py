"""safetensors: the arrays of a file as they were written, and a word for what is wrong with it."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.aurora.weights import read_safetensors
from aurora.errors import EmbeddingError


def write(path: Path, header: object, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(kind: str, shape: list[int], start: int, stop: int) -> dict[str, object]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, stop]}


def test_arrays_come_back_with_type_and_shape(tmp_path: Path) -> None:
    floats = np.arange(6, dtype="<f4").reshape(2, 3)
    halves = np.array([0.5, -2.0], "<f2")
    header = {
        "__metadata__": {"format": "pt"},
        "a.weight": entry("F32", [2, 3], 0, 24),
        "b": entry("F16", [2], 24, 28),
    }
    read = read_safetensors(write(tmp_path / "x", header, floats.tobytes() + halves.tobytes()))
    assert list(read) == ["a.weight", "b"]
    assert read["a.weight"].dtype == np.float32
    assert read["a.weight"].tolist() == floats.tolist()
    assert read["b"].dtype == np.float16
    assert read["b"].tolist() == [0.5, -2.0]


def test_arrays_need_not_begin_at_a_round_address(tmp_path: Path) -> None:
    header = {"a": entry("F32", [1], 1, 5), "none": entry("F32", [0, 4], 5, 5)}
    read = read_safetensors(write(tmp_path / "x", header, b"?" + struct.pack("<f", 2.5)))
    assert read["a"].tolist() == [2.5]
    assert read["none"].shape == (0, 4)


def test_the_file_is_mapped_and_cannot_be_written_to(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"a": entry("F32", [1], 0, 4)}, bytes(4))
    array = read_safetensors(path)["a"]
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not a safetensors file"),
        (b"\x05\0\0", "not a safetensors file"),
        (struct.pack("<Q", 2**60) + b"{}", "header is cut off"),
        (struct.pack("<Q", 50) + b"{", "header is cut off"),
        (struct.pack("<Q", 3) + b"{]}", "header that is not JSON"),
        (struct.pack("<Q", 2) + b"\xff\xfe", "header that is not JSON"),
        (struct.pack("<Q", 2) + b"[]", "names no arrays"),
    ],
)
def test_a_file_that_is_no_safetensors_file_is_named(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    (tmp_path / "broken.safetensors").write_bytes(content)
    with pytest.raises(EmbeddingError, match=f"broken.safetensors.*{fault}"):
        read_safetensors(tmp_path / "broken.safetensors")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (entry("F32", [2], 0, 12), "a.w has the bytes 0 to 12 of 8 bytes"),
        (entry("F32", [2], -8, 0), "a.w has the bytes -8 to 0"),
        (entry("F32", [3], 0, 8), "a.w of shape (3,) does not fill 8 bytes"),
        (entry("F32", [2] + [1] * 64, 0, 8), "the shape of a.w is invalid"),
        (entry("F32", [0, 2**70], 0, 0), "the shape of a.w is invalid"),
        (entry("Q4", [2], 0, 8), "type 'Q4' in a.w"),
        (entry("F32", [-2, -1], 0, 8), "does not say where a.w is"),
        ({"dtype": "F32", "shape": [2]}, "does not say where a.w is"),
        ({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}, "does not say where a.w is"),
        (7, "does not say where a.w is"),
    ],
)
def test_an_array_that_cannot_be_there_is_named(tmp_path: Path, said: object, fault: str) -> None:
    with pytest.raises(EmbeddingError, match=re.escape(fault)):
        read_safetensors(write(tmp_path / "x", {"a.w": said}, bytes(8)))


def test_a_truncated_download_is_found_before_anything_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"a": entry("F32", [100], 0, 400)}, bytes(400))
    read_safetensors(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EmbeddingError, match="cut off"):
        read_safetensors(path)


def test_a_file_that_is_not_there_is_an_error_for_people(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="No such file"):
        read_safetensors(tmp_path / "nowhere")
