"""The two layers of the model in plain numpy.

Windows lie one below the other, so nothing is padded: all but the attention works on rows that know
nothing of each other. What a matrix is multiplied with anyway (gains, the scale of the scores) is
part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from aurora.embeddings.own.threads import one_thread_each, side_by_side
from aurora.embeddings.own.weights import INNER, LAYERS, WIDTH, Floats, Tensors

_HEADS = 4
_SCORE = (WIDTH / _HEADS) ** -0.5
_ROWS = 512  # or so at a time: what they need stays in the cache
_LEAST = 1e-6  # keeps a row of zeros from being divided by nothing


class _Layer(NamedTuple):
    qkv: Floats
    qkv_bias: Floats
    out: Floats
    out_bias: Floats
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats


_Part = tuple[Floats, list[int]]  # some windows below each other, and their lengths


class Layers:
    """What pieces mean beside each other."""

    def __init__(self, tensors: Tensors, *, threads: int = 1) -> None:
        self._position = tensors["position"].astype(np.float32)
        self._layers = [_read_layer(tensors, layer) for layer in range(LAYERS)]
        self._threads = threads

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        """Of windows of these lengths, a row a piece; the rows that are given are written over."""
        with one_thread_each() as alone:
            threads = self._threads if alone else 1
            turns = max(1, math.ceil(len(rows) / _ROWS / threads))
            parts = list(_parts(rows, lengths, at_once=len(rows) // (turns * threads)))
            side_by_side(self._work, parts, threads)
        return rows

    def _work(self, part: _Part) -> None:
        rows, lengths = part
        places = np.concatenate([self._position[:length] for length in lengths])
        windows = list(pairwise(accumulate(lengths, initial=0)))
        # Both layers write here: memory that is new is slow to touch.
        near, added, qkv, inner = (
            np.empty((len(rows), width), np.float32) for width in (WIDTH, WIDTH, 3 * WIDTH, INNER)
        )
        for layer in self._layers:
            np.add(rows, places, out=near)
            _normalise(near)
            np.matmul(near, layer.qkv, out=qkv)
            qkv += layer.qkv_bias
            _attend(qkv, windows, near)
            np.matmul(near, layer.out, out=added)
            rows += added
            rows += layer.out_bias
            np.copyto(near, rows)
            _normalise(near)
            np.matmul(near, layer.up, out=inner)
            inner += layer.up_bias
            np.maximum(inner, 0, out=inner)
            np.matmul(inner, layer.down, out=added)
            rows += added
            rows += layer.down_bias


def _parts(rows: Floats, lengths: Sequence[int], at_once: int) -> Iterator[_Part]:
    """Windows one after the other, closed when they have so many rows."""
    start = stop = 0
    part: list[int] = []
    for length in lengths:
        part.append(length)
        stop += length
        if stop - start >= at_once:
            yield rows[start:stop], part
            start, part = stop, []
    if part:
        yield rows[start:], part


def _attend(qkv: Floats, windows: Sequence[tuple[int, int]], found: Floats) -> None:
    """Each piece takes from those of its window what answers to its question."""
    asked, keys, values = qkv.reshape(len(qkv), 3, _HEADS, -1).transpose(1, 2, 0, 3)
    taken = found.reshape(len(qkv), _HEADS, -1).swapaxes(0, 1)
    for start, stop in windows:
        # A column for each that asks: numpy is quicker at sums over rows.
        scores = keys[:, start:stop] @ asked[:, start:stop].swapaxes(1, 2)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        np.matmul(scores.swapaxes(1, 2), values[:, start:stop], out=taken[:, start:stop])


def _normalise(rows: Floats) -> None:
    """Each row by the root of its mean square."""
    squares = np.vecdot(rows, rows)
    squares /= WIDTH
    squares += _LEAST
    rows /= np.sqrt(squares)[:, None]


def _read_layer(tensors: Tensors, layer: int) -> _Layer:
    def read(name: str) -> Floats:
        return tensors[f"{layer}.{name}"].astype(np.float32)

    def matrix(name: str, gain: str = "") -> Floats:
        numbers = read(name)
        numbers *= read(f"{name}.scale")
        if gain:
            numbers *= read(gain)[:, None]
        return numbers

    qkv, bias = matrix("qkv", "gain1"), read("qkv.bias")
    qkv[:, :WIDTH] *= _SCORE
    bias[:WIDTH] *= _SCORE
    return _Layer(
        qkv, bias,
        matrix("out"), read("out.bias"),
        matrix("up", "gain2"), read("up.bias"),
        matrix("down"), read("down.bias"),
    )  # fmt: skip
