"""Short codes of many vectors: which of them are near a question, without reading all in full.

A vector has two codes beside its 16-bit numbers:

    signs  one bit for each of 511 directions: on which side of the mean it lies. The fewer bits
           differ from those of the question, the smaller the angle. Of all vectors, the first half
           of the bits is compared, and of one in twelve the other half.
    bytes  its numbers in 8 bits, in the scale of its largest: an approximate cosine, to about
           .001, for the one in a hundred whose bits differ least.

The best by approximate cosines are compared in full by `cosine_scores`.
benchmarks/speed/vectors.py measures how many of the nearest this finds, and how long it takes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aurora.quick_classes import NamedTuple

if TYPE_CHECKING:
    from aurora.signals.index_file import Array
    from aurora.signals.vector_index import VectorSegment

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

MANY = 20_000  # vectors: fewer are compared one by one in two milliseconds
_NARROW = 64  # numbers of a vector: shorter ones are quicker to read than their signs
_DIRECTIONS = 512
_WORDS = _DIRECTIONS // 64
_HALF = _WORDS // 2  # words of signs that are compared of all vectors
_BLOCK = 1 << 14  # vectors at a time: their bits fit into the cache
_BYTES_BLOCK = 1 << 9  # vectors at a time: their numbers as float32 fit into the cache
_NEAR, _SHARE = 4_000, 100  # vectors with approximate cosines: at least one of so many
_WIDER = 8  # times as many vectors whose other bits are compared
_COUNTED = 1 << 15  # vectors of a sample whose distances are counted
_CODED = 1 << 12  # vectors at a time: 20 MB
_SAMPLED = 1 << 10  # vectors of a segment whose cosines tell the ranks of those that are not near
_TOGETHER = 32  # neighbours whose bytes are checked together: mostly a page
_SAMPLE = 20_000  # vectors that the mean is computed from
_TRIED = 32  # vectors whose nearest are looked for
_KEPT = 0.9  # of the ten nearest in a sample: as many as of the hundred nearest of all
_REMOVED = 255  # the distance of a removed vector: as if every bit of the first half differed


class Near(NamedTuple):
    """The nearest vectors of a segment, by approximate cosines."""

    places: Places
    cosines: Floats
    blur: float  # what a cosine may differ from the exact one
    is_all: bool = False  # whether no vector is left out


def unit(halves: NDArray[np.float16]) -> Floats:
    """Vectors of length 1; zeros stay as they are."""
    values = halves.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    values /= np.where(lengths > 0.0, lengths, np.float32(1.0))[:, None]
    return values


def multiply(vectors: NDArray[Any], question: NDArray[Any]) -> NDArray[Any]:
    """`vectors @ question`. For small arrays, BLAS may flag numbers beside them as invalid."""
    with np.errstate(invalid="ignore", over="ignore"):
        products: NDArray[Any] = vectors @ question
    return products


def encode(matrix: Array, dimension: int) -> dict[str, Array] | None:
    """The codes of all vectors.

    None for few or short vectors, and for those of a model whose bits do not tell enough.
    """
    halves = np.asarray(matrix).view("<f2").reshape(-1, dimension)
    if len(halves) < MANY or dimension < _NARROW:
        return None
    sample = unit(halves[:: -(-len(halves) // _SAMPLE)])
    mean, directions = sample.mean(axis=0), _directions(dimension)
    codes = np.empty(halves.shape, np.int8)
    scales = np.empty(len(halves), np.float32)
    signs = np.empty((_WORDS, len(halves)), np.uint64)
    for start in range(0, len(halves), _CODED):
        block = slice(start, start + _CODED)
        values = unit(halves[block])
        if not np.isfinite(values).all():
            return None
        most = np.abs(values).max(axis=1) / 127.0
        scales[block] = most
        codes[block] = np.rint(values / np.where(most > 0.0, most, 1.0)[:, None])
        signs[:, block] = _bits(values - mean, directions)
    if _share_kept(sample, signs, len(halves)) < _KEPT:
        return None
    frame = np.concatenate([directions.reshape(-1), mean])
    return {
        "bytes": codes.reshape(-1).data,
        "scales": scales.data,
        "signs": signs.reshape(-1).data,
        "frame": frame.data,
    }


def code_sizes(vectors: int, dimension: int) -> dict[str, int]:
    """How many numbers each code of so many vectors has."""
    return {
        "bytes": vectors * dimension,
        "scales": vectors,
        "signs": vectors * _WORDS,
        "frame": (_DIRECTIONS + 1) * dimension,
    }


def _directions(dimension: int) -> Floats:
    """Directions at right angles to each other, as far as the dimension allows."""
    random, parts, left = np.random.default_rng(7), [], _DIRECTIONS
    while left:
        width = min(dimension, left)
        parts.append(np.linalg.qr(random.standard_normal((dimension, width)))[0])
        left -= width
    return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float32)


def _bits(centred: Floats, directions: Floats) -> NDArray[np.uint64]:
    """One column for each vector. Of the first half, 255 bits count: a distance fits in a byte."""
    packed = np.packbits(centred @ directions > 0.0, axis=1)
    packed[:, 8 * _HALF - 1] &= 0xFE
    return np.ascontiguousarray(packed).view(np.uint64).T


def _share_kept(sample: Floats, signs: NDArray[np.uint64], vectors: int) -> float:
    """Of the ten vectors nearest to some, the share that is near by the bits, too."""
    among = signs[:, :: -(-vectors // _SAMPLE)]
    some = np.linspace(0, len(sample) - 1, _TRIED).astype(np.int64)
    count = max(10, _count_near(vectors) * len(sample) // vectors)
    kept = 0.0
    for place in some:
        nearest = np.argpartition(sample @ sample[place], -10)[-10:]
        bits = np.bitwise_count(among ^ among[:, place, None]).sum(axis=0, dtype=np.int64)
        kept += float((bits[nearest] <= np.partition(bits, count - 1)[count - 1]).mean())
    return kept / len(some)


def _count_near(vectors: int) -> int:
    return max(_NEAR, vectors // _SHARE)


class CodedVectors:
    """The vectors of a segment that has codes."""

    def __init__(self, segment: VectorSegment) -> None:
        self._segment = segment
        self._size, dimension = segment.size, segment.dimension
        self._signs = np.asarray(segment.read("signs")).view(np.uint64).reshape(_WORDS, -1)
        self._scales: Floats = np.asarray(segment.read("scales"))
        frame: Floats = np.asarray(segment.read("frame"))
        self._directions = frame[:-dimension].reshape(dimension, _DIRECTIONS)
        self._mean = frame[-dimension:]
        self._removed = np.asarray(segment.removed, np.int64)
        self._bytes = np.asarray(segment.arrays.unchecked("bytes")).reshape(-1, dimension)
        self._checked = np.zeros(-(-self._size // _TOGETHER), np.bool_)  # bytes of neighbours

    def nearest(self, question: Floats, count: int, among: Places | None = None) -> Near:
        """The nearest of all, or of the places `among`: at least about `count`."""
        count = max(count, _count_near(self._size))
        if among is None or len(among) > count:
            places = self._nearest_by_bits(question, count, among)
        else:
            places = among
        cosines = self._approximate(places, question)
        blur = 2.0 * float(self._scales[places].max(initial=0.0))
        return Near(places, cosines, blur, is_all=len(places) == len(self._segment))

    def sample_cosines(self, question: Floats) -> tuple[Floats, int]:
        """The cosines of some vectors, and how many each of them stands for."""
        vectors, times = self._sample
        return multiply(vectors, question), times

    def _nearest_by_bits(self, question: Floats, count: int, among: Places | None) -> Places:
        words = _bits((question - self._mean)[None], self._directions)[:, 0]
        distances = self._distances(words)
        if among is not None:
            distances = distances[among]
        near = _lowest(distances, _WIDER * count)
        distances = distances[near].astype(np.uint16)
        if len(self._removed):
            near, distances = near[distances < _REMOVED], distances[distances < _REMOVED]
        places = near if among is None else among[near]
        for word, column in zip(words[_HALF:], self._signs[_HALF:], strict=True):
            distances += np.bitwise_count(column[places] ^ word)
        nearest: Places = places[_lowest(distances, count)]
        return nearest

    @cached_property
    def _sample(self) -> tuple[Floats, int]:
        """Some vectors, and how many each of them stands for."""
        step = -(-self._size // _SAMPLED)
        places = np.setdiff1d(np.arange(0, self._size, step), self._removed)
        self._check(places)
        return self._bytes[places] * self._scales[places, None], step

    def _distances(self, words: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """In how many bits of the first half each vector differs from the question."""
        distances = np.zeros(self._size, np.uint8)
        differ, bits = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, self._size, _BLOCK):
            part = distances[start : start + _BLOCK]
            size = len(part)
            for word, column in zip(words[:_HALF], self._signs[:_HALF], strict=True):
                np.bitwise_xor(column[start : start + size], word, out=differ[:size])
                np.bitwise_count(differ[:size], out=bits[:size])
                part += bits[:size]
        distances[self._removed] = _REMOVED
        return distances

    def read(self, places: Places) -> NDArray[np.float16]:
        """Vectors as the store has them."""
        dimension = self._segment.dimension
        content = self._segment.arrays.read_groups("matrix", places.tolist(), dimension)
        return np.frombuffer(content, "<f2").reshape(-1, dimension)

    def _approximate(self, places: Places, question: Floats) -> Floats:
        self._check(places)
        cosines = np.empty(len(places), np.float32)
        for start in range(0, len(places), _BYTES_BLOCK):
            block = places[start : start + _BYTES_BLOCK]
            products = multiply(self._bytes[block].astype(np.float32), question)
            cosines[start : start + _BYTES_BLOCK] = products * self._scales[block]
        return cosines

    def _check(self, places: Places) -> None:
        """Compare the checksums of bytes that are read for the first time."""
        groups = places // _TOGETHER
        for group in np.unique(groups[~self._checked[groups]]).tolist():
            start, stop = group * _TOGETHER, min((group + 1) * _TOGETHER, self._size)
            dimension = self._segment.dimension
            self._segment.arrays.read("bytes", start * dimension, stop * dimension)
            self._checked[group] = True


def _lowest(distances: NDArray[np.uint8] | NDArray[np.uint16], count: int) -> Places:
    """The places of about the `count` lowest distances; of very many equal ones, the first."""
    step = -(-len(distances) // _COUNTED)
    levels = step * np.cumsum(np.bincount(distances[::step], minlength=_DIRECTIONS))
    cut = int(np.searchsorted(levels, count))
    places = np.flatnonzero(distances <= cut)
    if len(places) > 2 * count:
        below, level = np.flatnonzero(distances < cut), np.flatnonzero(distances == cut)
        places = np.concatenate([below, level])[:count]
    return places
