"""Threads that work side by side, while the library below numpy has but the one that calls it.

OpenBLAS would spread every product over all processors, and its threads then wait for each other in
a loop. On two processors that others use as well, the layers were three times slower so than on one
thread. It has a switch, which numpy does not show.

The two layers of the model in plain numpy.

Windows lie one below the other, so nothing is padded: all but the attention works on rows that know
nothing of each other. What a matrix is multiplied with anyway (gains, the scale of the scores) is
part of it.

A text is the sum of its pieces, each by its weight and by the root of how often it comes.

What runs the layers: numpy, or for many windows onnxruntime, where that is there and quicker.

The vectors of the two are not equal, but their cosine is above .999.

A text is the sum of its pieces as the layers understand them, in windows, beside each other.

They weigh what they weigh in the shallow sum, which is added: what the layers understand and what
the pieces say by themselves find more together than either does (docs/model-card.md).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.aurora.weights import (
    GRAPH,
    INNER,
    LAYERS,
    WIDTH,
    WINDOW,
    Floats,
    Tensors,
    rows_of,
    weights_of,
)
from aurora.embeddings.onnx.processors import usable_processors

if TYPE_CHECKING:
    from aurora.embeddings.aurora.onnx_graph import Graph


T = TypeVar("T")
Switch = tuple[Callable[[], int], Callable[[int], object]]  # tells the number, and sets it

_NUMPY = "numpy._core._multiarray_umath"
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


class _Holding:
    """How many hold the switch, and what it was before the first."""

    lock = threading.Lock()
    holders = 0
    before = 0


def side_by_side(work: Callable[[T], object], items: Sequence[T], threads: int) -> None:
    """The work on each item, on so many threads."""
    if min(threads, len(items)) < 2:
        for item in items:
            work(item)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a question needs none

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        list(pool.map(work, items))


@contextmanager
def one_thread_each() -> Iterator[bool]:
    """Whether products are now made by the thread that asks for them; ends with the last holder."""
    switch = find_switch()
    if switch is None:
        yield False
        return
    tell, put = switch
    with _Holding.lock:
        if not _Holding.holders:
            _Holding.before = tell()
            put(1)
        _Holding.holders += 1
    try:
        yield True
    finally:
        with _Holding.lock:
            _Holding.holders -= 1
            if not _Holding.holders:
                put(_Holding.before)


@cache
def find_switch() -> Switch | None:
    """That of the OpenBLAS numpy was built with, if it was; on Windows it is not found."""
    spec = find_spec(_NUMPY)
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
    except OSError:
        return None
    for name in _NAMES:
        tell = getattr(library, name.format("get_num_threads"), None)
        put = getattr(library, name.format("set_num_threads"), None)
        if tell and put:
            return tell, put
    return None


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


def shallow_sums(tensors: Tensors, texts: Sequence[Sequence[int]]) -> Floats:
    """A row a text, of any length."""
    size = len(tensors["table"])
    keys, counts = np.unique(places_of(texts, size), return_counts=True)
    pieces = keys % size
    amounts = np.sqrt(counts).astype(np.float32) * weights_of(tensors, pieces)
    ends = np.searchsorted(keys, np.arange(len(texts) + 1) * size)
    sums = np.empty((len(texts), WIDTH), np.float32)
    # Text by text, since its rows then stay in the cache: twice as quick as one large product.
    for text, (start, stop) in enumerate(pairwise(ends)):
        sums[text] = amounts[start:stop] @ rows_of(tensors, pieces[start:stop])
    return sums


def places_of(texts: Sequence[Sequence[int]], size: int) -> NDArray[np.int64]:
    """One number a place: its text times `size`, plus its piece."""
    lengths = [len(text) for text in texts]
    pieces = np.fromiter(chain.from_iterable(texts), np.int64, sum(lengths))
    return np.repeat(np.arange(len(texts)) * size, lengths) + pieces


Run = Callable[[Floats, Sequence[int]], Floats]  # rows of windows of these lengths → their rows

_MANY = 16  # windows; for fewer, loading the package takes longer than it saves


class Runtime:
    """A `Run` by the files of a folder; either way is opened when first needed.

    `by_graph` says whether many windows are onnxruntime's; else the processors decide.
    """

    def __init__(
        self, tensors: Tensors, folder: Path, *, threads: int = 0, by_graph: bool | None = None
    ) -> None:
        self._tensors = tensors
        self._folder = folder
        self._threads = threads or usable_processors()
        self._by_graph = by_graph

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        if len(lengths) >= _MANY and self._graph is not None:
            found = self._graph(rows, lengths)
            if found is not None:
                return found
        return self._layers(rows, lengths)

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self._tensors, threads=self._threads)

    @cached_property
    def _graph(self) -> Graph | None:
        from aurora.embeddings.aurora.onnx_graph import Graph, is_worth_it  # noqa: PLC0415 - seldom needed

        wanted = is_worth_it() if self._by_graph is None else self._by_graph
        return Graph(self._folder / GRAPH, threads=self._threads) if wanted else None


_TOGETHER = 128  # windows at a time: at most 16 MB of rows


def deep_sums(tensors: Tensors, run: Run, texts: Sequence[Sequence[int]]) -> Floats:
    """A row a text, of any length."""
    size = len(tensors["table"])
    places = places_of(texts, size)
    _, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    pieces = places % size
    amounts = (counts**-0.5).astype(np.float32)[which] * weights_of(tensors, pieces)
    sums = np.zeros((len(texts), WIDTH), np.float32)
    windows = list(_windows(texts))
    for some in (windows[at : at + _TOGETHER] for at in range(0, len(windows), _TOGETHER)):
        (_, first, _), (_, _, last) = some[0], some[-1]
        lengths = [stop - start for _, start, stop in some]
        alone = rows_of(tensors, pieces[first:last])
        rows = run(alone.copy(), lengths)  # which may write over what it is given
        rows += alone
        for text, start, stop in some:
            sums[text] += amounts[start:stop] @ rows[start - first : stop - first]
    return sums


def _windows(texts: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Which text, and from where to where among the places of all: full ones, and what is left."""
    start = 0
    for text, pieces in enumerate(texts):
        end = start + len(pieces)
        while start < end:
            stop = min(start + WINDOW, end)
            yield text, start, stop
            start = stop
