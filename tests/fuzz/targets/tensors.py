"""Files of models: tensors, and the pieces of words. An input that begins with `{` is the header of
a tensor file in its first line, and then the numbers."""

from __future__ import annotations

import re

import numpy as np

from aurora.embeddings.aurora.tokens import PIECES, UNKNOWN, read_tokenizer
from aurora.embeddings.aurora.weights import TENSORS, read_safetensors, read_tensors
from aurora.errors import EmbeddingError
from tests.fuzz.inputs import require_told, scratch_file, text_of

_WORD = re.compile("[a-z]{1,30}")


def check(data: bytes) -> None:
    content = _framed(data) if data.startswith(b"{") else data
    path = scratch_file(TENSORS, content)
    try:
        tensors = read_safetensors(path)
    except EmbeddingError as exc:
        require_told(exc)
    else:
        for tensor in tensors.values():
            assert tensor.nbytes <= 2 * len(content)  # bfloat16 becomes float32
            np.asarray(tensor).sum(dtype=np.float64 if tensor.dtype.kind == "f" else None)
    _check_own(data)


def _framed(data: bytes) -> bytes:
    header, _, numbers = data.partition(b"\n")
    return len(header).to_bytes(8, "little") + header + numbers


def _check_own(data: bytes) -> None:
    """Nothing that short is our model; as its pieces, it may be anything."""
    path = scratch_file(PIECES, data)
    try:
        read_tensors(path.parent, 2)
    except EmbeddingError as exc:
        require_told(exc)
    else:
        raise AssertionError("a model out of nothing")
    try:
        words = read_tokenizer(path)
    except EmbeddingError as exc:
        require_told(exc)
        return
    text = text_of(data)
    pieces = words.encode(text)
    assert pieces
    assert all(UNKNOWN <= piece < words.size for piece in pieces)
    words.knows(text)
    for piece in filter(_WORD.fullmatch, text.split("\n")[1:20]):
        assert len(words.encode(piece)) == 1  # as it stands there
        assert words.encode(piece) != [UNKNOWN]
