"""The arithmetic of the bundled model: the sum of the pieces of a text, at two depths.

`shallow_sums` adds up the vectors of the pieces. `deep_sums` also runs them through two transformer
layers, in windows, and adds both results: together they find more than either (docs/model-card.md).

The layers run in numpy (`NumpyLayers`), or, for many windows, by onnxruntime in 8 bits
(`OnnxLayers`) where it is installed and the processor is fast at it. The vectors of the two have a
cosine above .999.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate, chain, groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.aurora.tokens import Tokenizer
from aurora.embeddings.aurora.weights import (
    GRAPH,
    INNER,
    LAYERS,
    WIDTH,
    WINDOW,
    Floats,
    Tensors,
    check_weights,
    piece_vectors,
    piece_weights,
    read_tensors,
)
from aurora.embeddings.compute import (
    map_threads,
    one_blas_thread,
    products_overflow,
    unit_rows,
    usable_processors,
)
from aurora.errors import EmbeddingError
from aurora.platforms import processor_kind
from aurora.quick_classes import NamedTuple
from aurora.text import has_cjk

if TYPE_CHECKING:
    from aurora.embeddings.onnx import Session

logger = logging.getLogger(__name__)

# Rows of windows of these lengths, and the weight of each → the weighted sum of each window.
Run = Callable[[Floats, Sequence[int], Floats], Floats]

READ = 64  # pieces at the beginning of a text: reading on costs time and finds no more
_WINDOWS_AT_ONCE = 256  # at most 16 MB of rows


class Model:
    """The model in a folder. Opens its files with the first text."""

    def __init__(self, folder: Path, digest: str, *, threads: int) -> None:
        self._folder, self._digest, self._threads = folder, digest, threads
        self._is_checked = False
        self._opened: tuple[Tensors, LayerRunner] | None = None

    def check(self) -> None:
        """Compare the files with their digest, once."""
        if not self._is_checked:
            check_weights(self._folder, self._digest)
            self._is_checked = True

    def embed(self, tokenizer: Tokenizer, texts: Sequence[str], *, deep: bool) -> Floats:
        """One row of length 1 per text."""
        pieces = [tokenizer.encode(text) for text in texts]
        if self._opened is None:
            tensors = read_tensors(self._folder, tokenizer.size)
            self._opened = tensors, LayerRunner(tensors, self._folder, threads=self._threads)
        tensors, layers = self._opened
        if not deep:
            return unit_rows(shallow_sums(tensors, pieces))
        # A piece of CJK is a character or two, so the beginning says less.
        whole = {at for at, text in enumerate(texts) if has_cjk(text)}
        return unit_rows(deep_sums(tensors, layers, pieces, whole))


def shallow_sums(tensors: Tensors, texts: Sequence[Sequence[int]]) -> Floats:
    """One row per text: its pieces, each by its weight and the root of how often it comes."""
    size = len(tensors["table"])
    keys, counts = np.unique(_text_piece_keys(texts, size), return_counts=True)
    pieces = keys % size
    amounts = np.sqrt(counts).astype(np.float32) * piece_weights(tensors, pieces)
    ends = np.searchsorted(keys, np.arange(len(texts) + 1) * size)
    sums = np.empty((len(texts), WIDTH), np.float32)
    # One product per text keeps its rows in the cache: twice as fast as one large product.
    for text, (start, stop) in enumerate(pairwise(ends)):
        sums[text] = amounts[start:stop] @ piece_vectors(tensors, pieces[start:stop])
    return sums


def deep_sums(
    tensors: Tensors,
    run: Run,
    texts: Sequence[Sequence[int]],
    whole: Collection[int] = (),
) -> Floats:
    """One row per text: the shallow sum plus the sum of what the layers make of its beginning.

    The layers read the texts of the numbers `whole` to their end, in windows.
    """
    size = len(tensors["table"])
    sums = shallow_sums(tensors, texts)
    heads = [text if at in whole else text[:READ] for at, text in enumerate(texts)]
    keys = _text_piece_keys(heads, size)
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    pieces = keys % size
    amounts = (counts**-0.5).astype(np.float32)[which] * piece_weights(tensors, pieces)
    # Sorted, because the layers are faster at windows of one length.
    windows = sorted(_windows(heads), key=lambda window: window.stop - window.start)
    for at in range(0, len(windows), _WINDOWS_AT_ONCE):
        batch = windows[at : at + _WINDOWS_AT_ONCE]
        places = np.concatenate([np.arange(start, stop) for _, start, stop in batch])
        rows = piece_vectors(tensors, pieces[places])
        lengths = [stop - start for _, start, stop in batch]
        np.add.at(sums, [text for text, _, _ in batch], run(rows, lengths, amounts[places]))
    return sums


class _Window(NamedTuple):
    text: int
    start: int  # among the pieces of all texts
    stop: int


def _windows(texts: Sequence[Sequence[int]]) -> Iterator[_Window]:
    """Full windows, and one for the rest of each text."""
    start = 0
    for text, pieces in enumerate(texts):
        end = start + len(pieces)
        while start < end:
            stop = min(start + WINDOW, end)
            yield _Window(text, start, stop)
            start = stop


def _text_piece_keys(texts: Sequence[Sequence[int]], size: int) -> NDArray[np.int64]:
    """One number per piece of each text: the text's number times `size`, plus the piece."""
    lengths = [len(text) for text in texts]
    pieces = np.fromiter(chain.from_iterable(texts), np.int64, sum(lengths))
    return np.repeat(np.arange(len(texts)) * size, lengths) + pieces


_MANY_WINDOWS = 16  # for fewer, loading onnxruntime takes longer than it saves


class LayerRunner:
    """Runs the layers of the model in a folder; opens what it needs on first use.

    `use_onnx` forces the choice for many windows; by default the processor decides.
    """

    def __init__(
        self, tensors: Tensors, folder: Path, *, threads: int = 0, use_onnx: bool | None = None
    ) -> None:
        self._tensors = tensors
        self._folder = folder
        self._threads = threads or usable_processors()
        self._use_onnx = use_onnx

    def __call__(self, rows: Floats, lengths: Sequence[int], amounts: Floats) -> Floats:
        """The weighted sum of each window; they lie below each other. May overwrite `rows`."""
        if len(lengths) >= _MANY_WINDOWS and self._onnx_layers is not None:
            result = self._onnx_layers(rows, lengths)
            if result is not None:
                return window_sums(result, lengths, amounts)
        return self._numpy_layers(rows, lengths, amounts)

    @cached_property
    def _numpy_layers(self) -> NumpyLayers:
        return NumpyLayers(self._tensors, threads=self._threads)

    @cached_property
    def _onnx_layers(self) -> OnnxLayers | None:
        use_onnx = _has_fast_int8() if self._use_onnx is None else self._use_onnx
        return OnnxLayers(self._folder / GRAPH, threads=self._threads) if use_onnx else None


def window_sums(rows: Floats, lengths: Sequence[int], amounts: Floats) -> Floats:
    """The weighted sum of the rows of each window."""
    ends = pairwise(accumulate(lengths, initial=0))
    return np.array([amounts[start:stop] @ rows[start:stop] for start, stop in ends])


_HEADS = 4
_SCORE_SCALE = (WIDTH / _HEADS) ** -0.5
_ROWS_AT_ONCE = 512  # about: their buffers fit into the cache
_EPSILON = 1e-6  # keeps a row of zeros from being divided by zero


class _Layer(NamedTuple):
    qkv: Floats
    qkv_bias: Floats
    out: Floats
    out_bias: Floats
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats


class NumpyLayers:
    """The two layers in plain numpy.

    Windows lie below each other without padding: only attention looks at more than one row. Factors
    that a matrix is always multiplied with (gains, the scale of the scores) are part of it. The
    last product is one of sums, not of rows, which is the same and leaves out a sixth of the work.
    """

    def __init__(self, tensors: Tensors, *, threads: int = 1) -> None:
        self._position = tensors["position"].astype(np.float32)
        self._layers = [_read_layer(tensors, layer) for layer in range(LAYERS)]
        self._threads = threads

    def __call__(self, rows: Floats, lengths: Sequence[int], amounts: Floats) -> Floats:
        """The weighted sum of each window. Overwrites `rows`."""
        with one_blas_thread() as is_single:
            threads = self._threads if is_single else 1
            turns = max(1, math.ceil(len(rows) / _ROWS_AT_ONCE / threads))
            parts = list(_split(rows, lengths, amounts, at_once=len(rows) // (turns * threads)))
            sums = map_threads(self._run, parts, threads)
        return np.concatenate(sums)

    def _run(self, part: _Part) -> Floats:
        rows, lengths, amounts = part
        positions = np.concatenate([self._position[:length] for length in lengths])
        # All layers use the same buffers: the first touch of new memory is slow.
        near, added, qkv, inner = (
            np.empty((len(rows), width), np.float32) for width in (WIDTH, WIDTH, 3 * WIDTH, INNER)
        )
        for layer in self._layers:
            np.add(rows, positions, out=near)
            _normalise(near)
            np.matmul(near, layer.qkv, out=qkv)
            qkv += layer.qkv_bias
            _attend(qkv, lengths, near)
            np.matmul(near, layer.out, out=added)
            rows += added
            rows += layer.out_bias
            np.copyto(near, rows)
            _normalise(near)
            np.matmul(near, layer.up, out=inner)
            inner += layer.up_bias
            np.maximum(inner, 0, out=inner)
            rows += layer.down_bias
            if layer is not self._layers[-1]:
                np.matmul(inner, layer.down, out=added)
                rows += added
        inner_sums = window_sums(inner, lengths, amounts)
        return window_sums(rows, lengths, amounts) + inner_sums @ self._layers[-1].down


class _Part(NamedTuple):
    """Windows that are run together."""

    rows: Floats
    lengths: list[int]
    amounts: Floats


def _split(rows: Floats, lengths: Sequence[int], amounts: Floats, at_once: int) -> Iterator[_Part]:
    """Groups of whole windows with at least so many rows."""
    start = stop = 0
    group: list[int] = []
    for length in lengths:
        group.append(length)
        stop += length
        if stop - start >= at_once:
            yield _Part(rows[start:stop], group, amounts[start:stop])
            start, group = stop, []
    if group:
        yield _Part(rows[start:], group, amounts[start:])


def _attend(qkv: Floats, lengths: Sequence[int], out: Floats) -> None:
    """Attention of each piece to all pieces of its window."""
    start = 0
    for length, same in groupby(lengths):
        stop = start + length * sum(1 for _ in same)
        windows = qkv[start:stop].reshape(-1, length, 3, _HEADS, WIDTH // _HEADS)
        queries, keys, values = windows.transpose(2, 0, 3, 1, 4)
        # One column per query: numpy is faster at sums over rows.
        scores = keys @ queries.swapaxes(2, 3)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        results = out[start:stop].reshape(-1, length, _HEADS, WIDTH // _HEADS).swapaxes(1, 2)
        np.matmul(scores.swapaxes(2, 3), values, out=results)
        start = stop


def _normalise(rows: Floats) -> None:
    """Divide each row by the root of its mean square."""
    squares = np.vecdot(rows, rows)
    squares /= WIDTH
    squares += _EPSILON
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
    qkv[:, :WIDTH] *= _SCORE_SCALE
    bias[:WIDTH] *= _SCORE_SCALE
    return _Layer(
        qkv, bias,
        matrix("out"), read("out.bias"),
        matrix("up", "gain2"), read("up.bias"),
        matrix("down"), read("down.bias"),
    )  # fmt: skip


_BATCH = 8  # windows padded to the longest of them: large enough for short ones, little padding


class OnnxLayers:
    """The two layers by onnxruntime, in 8 bits; None without the package, or after a failure."""

    def __init__(self, path: Path, *, threads: int) -> None:
        self._path = path
        self._threads = threads

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats | None:
        """Leaves `rows` as they are."""
        if self._session is None:
            return None
        try:
            return self._run(self._session, rows, lengths)
        except Exception as exc:  # the runtime's errors have no common base
            logger.warning("%s fails, so numpy runs the layers: %s", self._path, exc)
            self._session = None
            return None

    @cached_property
    def _session(self) -> Session | None:
        if find_spec("onnxruntime") is None:
            return None
        from aurora.embeddings.onnx import open_session  # noqa: PLC0415 - a query needs none

        try:
            return open_session(self._path)
        except EmbeddingError as exc:
            logger.warning("numpy runs the layers without onnxruntime: %s", exc.message)
            return None

    def _run(self, session: Session, rows: Floats, lengths: Sequence[int]) -> Floats:
        starts = list(accumulate(lengths, initial=0))
        by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
        results = np.empty_like(rows)

        def run_batch(at: int) -> None:
            batch = by_length[at : at + _BATCH]
            padded = np.zeros((len(batch), lengths[batch[-1]], WIDTH), np.float32)
            mask = np.zeros(padded.shape[:2], np.float32)
            for place, window in enumerate(batch):
                padded[place, : lengths[window]] = rows[starts[window] : starts[window + 1]]
                mask[place, : lengths[window]] = 1
            (out,) = session.run(["out"], {"h": padded, "mask": mask})
            for place, window in enumerate(batch):
                results[starts[window] : starts[window + 1]] = out[place, : lengths[window]]

        map_threads(run_batch, range(0, len(by_length), _BATCH), self._threads)
        return results


def _has_fast_int8() -> bool:
    """Whether the processor has 8-bit products; without them, numpy is faster.

    An x86 without them ran 20,000 pieces a second and thread in numpy, 6,000 to 14,000 in 8 bits.
    """
    return not products_overflow(processor_kind(), Path("/proc/cpuinfo"))
