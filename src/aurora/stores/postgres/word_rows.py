"""Rows of the table `words`, made for many chunks at once with numpy, as COPY takes them.

The words of a chunk are a tsvector of Aurora's own tokens, which the server does not parse. Name,
labels, content and summary have weights A to D. `ts_rank_cd` of one word is the sum of the weights
of its positions. It tells how often the word occurs: positions in the name count as often as
`name_times` says.

The words also find phrases and parts of words, so each word of a chunk's texts is in one of them.
Words of the name that the texts do not have are there behind `_IN_NAME`, without a position.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias
from unicodedata import normalize
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from aurora.lazy_patterns import lazy_pattern
from aurora.stores.postgres import binary
from aurora.stores.postgres.rows import DIMENSIONS, UNLISTED, USUAL_B, USUAL_K1, USUAL_LENGTH
from aurora.text import (
    EXACT,
    MAX_TOKEN,
    SHORTEST,
    SUMMARY_TIMES,
    WORDS,
    chunk_labels,
    chunk_summary,
    find_compounds,
    indexed_name,
    name_times,
)
from aurora.types import Chunk

_Numbers: TypeAlias = NDArray[Any]

_AT_ONCE = 400_000  # characters: the server stores their rows while the next ones are made
_WEIGHTS = (3, 2, 1, 0)  # of the fields: A to D
_PLACE_BITS = 14
_LAST_PLACE = 16_383  # last position in a tsvector; all later words have this one
_MOST_PLACES = 255  # positions of one word in a tsvector
_MOST_BYTES = 1_000_000  # of all words; the server's limit is 1,048,575
_MOST_IMPACTS = 16_000  # of one chunk
_IN_NAME, _LONGEST_NAME = f"{UNLISTED}_", 1000  # characters
_LONG = lazy_pattern(rf"\w{{{MAX_TOKEN + 1}}}")
# Accents of their own, and letters whose lower case is another number of letters.
_UNUSUAL = lazy_pattern("[\u0300-\u036f\u0130\u0131]")


class Words(NamedTuple):
    """What the table holds of a chunk."""

    length: int  # number of terms; those of the name count several times
    weights: Sequence[float]  # of D, C, B and A, at most 1
    tsv: bytes
    impacts: bytes  # a sparse vector: by the dimension of a word, what it adds to a usual score


def word_rows(numbered: Iterable[tuple[int, Chunk]]) -> Iterator[bytes]:
    """The rows of chunks with these numbers."""
    for portion in _portions(numbered):
        words = words_of([chunk for _, chunk in portion])
        for (row, chunk), (length, weights, tsv, impacts) in zip(portion, words, strict=True):
            yield binary.row(
                (
                    binary.bigint(row), binary.text(chunk.namespace), binary.integer(length),
                    binary.reals(weights), tsv, impacts,
                )
            )  # fmt: skip


def _portions(numbered: Iterable[tuple[int, Chunk]]) -> Iterator[list[tuple[int, Chunk]]]:
    portion, size = list[tuple[int, Chunk]](), 0
    for row, chunk in numbered:
        portion.append((row, chunk))
        size += len(chunk.content)
        if size >= _AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def words_of(chunks: Sequence[Chunk]) -> list[Words]:
    """The words of each chunk."""
    page = _read(chunks)
    keys, places, unseen = _fitting(*_sorted(page), page)
    lengths = np.maximum(SHORTEST, (page.sizes * _times(page)).sum(1))
    return list(
        map(
            Words,
            lengths.tolist(),
            map(_weights, page.times.tolist()),
            _tsvectors(keys, places, unseen, page),
            _impacts(keys, places, lengths, page),
        )
    )


def _weights(times: int) -> Sequence[float]:
    share = 1.0 / max(times, SUMMARY_TIMES)
    return SUMMARY_TIMES * share, share, share, times * share


# Tokens are numbers here. A word is a token of one chunk; its key is `chunk * page.width + token`.
# A place is a position, with its weight in the upper two bits.


class _Page(NamedTuple):
    """The tokens of some chunks."""

    width: int  # distinct tokens
    texts: _Numbers  # their bytes, one after the other
    lengths: _Numbers
    dimensions: _Numbers
    tokens: _Numbers  # of the first chunk's name, labels, content and summary, then of the next
    sizes: _Numbers  # how many, by chunk and field
    times: _Numbers  # by chunk: how often its name counts
    unseen: _Numbers  # words without a position


def _read(chunks: Sequence[Chunk]) -> _Page:
    """Each word is analysed once for all chunks."""
    words, vocabulary = _numbered(), _numbered()
    vocabulary[UNLISTED]  # has number 0
    used, counts, times, unseen = array("q"), array("q"), array("q"), list[tuple[int, int]]()
    for at, chunk in enumerate(chunks):
        times.append(name_times(chunk))
        fields = _fields(chunk, has_name=times[-1] > 0)
        for field in fields:
            used.extend(map(words.__getitem__, field))
            counts.append(len(field))
        unseen += ((at, vocabulary[token]) for token in _unseen(chunk, fields))
    terms = [WORDS.words[word] for word in words]
    tokens = np.array([vocabulary[term] for term in chain.from_iterable(terms)], np.int64)
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    starts, lengths = (np.cumsum(lengths) - lengths)[used], lengths[used]
    ends = np.concatenate([[0], np.cumsum(lengths)])[np.cumsum(np.concatenate([[0], counts]))]
    texts = [token.encode() for token in vocabulary]
    return _Page(
        len(texts),
        np.frombuffer(b"".join(texts), np.uint8),
        np.fromiter(map(len, texts), np.int64, len(texts)),
        np.fromiter(map(crc32, texts), np.int64, len(texts)) % DIMENSIONS,
        tokens[_counting(lengths) + np.repeat(starts, lengths)],
        np.diff(ends).reshape(-1, len(_WEIGHTS)),
        np.array(times),
        np.array([at * len(texts) + token for at, token in unseen], np.int64),
    )


def _numbered() -> defaultdict[str, int]:
    """Gives each new key the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _fields(chunk: Chunk, *, has_name: bool) -> list[list[str]]:
    """The words of name, labels, content and summary."""
    return [
        find_compounds(indexed_name(chunk)) if has_name else [],
        find_compounds(chunk_labels(chunk)),
        find_compounds(chunk.content),
        find_compounds(chunk_summary(chunk)),
    ]


def _unseen(chunk: Chunk, fields: Sequence[Sequence[str]]) -> Iterable[str]:
    """Words without a position, with which the words cover name and content."""
    name = fields[0]
    if not (name and indexed_name(chunk) == chunk.name):
        name = find_compounds(chunk.name)
    if len(chunk.name) > _LONGEST_NAME or not _are_covered(chunk, [*name, *fields[2]]):
        return (UNLISTED,)
    if name is fields[0]:
        return ()
    seen = {term for field in fields for word in field for term in WORDS.words[word]}
    tokens = dict.fromkeys(token for word in name for token in EXACT.words[word])
    return [f"{_IN_NAME}{token}" for token in tokens if token not in seen]


def _are_covered(chunk: Chunk, words: Sequence[str]) -> bool:
    """Whether each ASCII part of a word of name and content is part of a token, too."""
    if not (chunk.name.isascii() and chunk.content.isascii()):
        text = f"{chunk.name}\n{chunk.content}"
        if _UNUSUAL.search(text) or any(map(_becomes_letters, set(text))):
            return False
    return max(map(len, words), default=0) <= MAX_TOKEN or not any(map(_LONG.search, words))


def _becomes_letters(sign: str) -> bool:
    """Whether the tokenizer makes letters of a sign, as of ™, so that a word ends later."""
    return not (sign.isascii() or sign.isalnum()) and any(map(str.isalnum, normalize("NFKC", sign)))


def _sorted(page: _Page) -> tuple[_Numbers, _Numbers, _Numbers]:
    """The words of all tokens in ascending order, their places, and their order in the texts."""
    before = np.cumsum(page.sizes + 1, axis=1) - page.sizes  # no phrase spans two fields
    sizes, chunks = page.sizes.ravel(), np.arange(len(page.sizes))
    places = np.minimum(_counting(sizes) + np.repeat(before.ravel(), sizes), _LAST_PLACE)
    places |= np.repeat(np.tile(_WEIGHTS, len(chunks)), sizes) << _PLACE_BITS
    words = np.repeat(chunks * page.width, page.sizes.sum(1)) + page.tokens
    order = np.argsort(words, kind="stable")
    return words[order], places[order], order


def _fitting(
    words: _Numbers, places: _Numbers, order: _Numbers, page: _Page
) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Words and places as far as a tsvector holds them, and the words without a position.

    A text with more is data, and its start is enough.
    """
    is_last = places & _LAST_PLACE == _LAST_PLACE
    again = is_last[1:] & is_last[:-1] & (words[1:] == words[:-1])  # its first weight is highest
    kept = np.concatenate([[True], ~again])[: len(words)]
    words, places, order = words[kept], places[kept], order[kept]
    starts, counts = _runs(words)
    kept = _counting(counts) < _MOST_PLACES
    chunks, counts = words[starts] // page.width, np.minimum(counts, _MOST_PLACES)
    sizes = _sizes(words[starts], counts, page)
    cut = np.flatnonzero(np.bincount(chunks, sizes, len(page.sizes)) >= _MOST_BYTES)
    for chunk in cut:
        own = np.flatnonzero(chunks == chunk)
        own = own[np.argsort(order[starts[own]])]  # as they come in the text
        gone = words[starts[own[np.cumsum(sizes[own]) >= _MOST_BYTES]]]
        kept &= ~np.isin(words, gone)
    return words[kept], places[kept], np.union1d(page.unseen, cut * page.width)


def _tsvectors(words: _Numbers, places: _Numbers, unseen: _Numbers, page: _Page) -> Iterator[bytes]:
    """As the server reads them: each word with a zero byte, and its places with their number."""
    starts, counts = _runs(words)
    every = np.concatenate([words[starts], unseen])
    order = np.argsort(every)
    every, counts = every[order], np.concatenate([counts, np.zeros_like(unseen)])[order]
    sizes, tokens = _sizes(every, counts, page), every % page.width
    ends, written = np.cumsum(sizes), np.zeros(sizes.sum(), np.uint8)
    lengths, starts = page.lengths[tokens], (np.cumsum(page.lengths) - page.lengths)[tokens]
    _copy(page.texts, starts, written, ends - sizes, lengths)
    numbers = ends - 2 * counts
    written[numbers - 2], written[numbers - 1] = counts >> 8, counts & 0xFF
    pairs = places.astype(">u2").view(np.uint8)
    _copy(pairs, 2 * (np.cumsum(counts) - counts), written, numbers, 2 * counts)
    for start, stop in _bounds(every, page.width, page):
        first = ends[start - 1] if start else 0
        last = ends[stop - 1] if stop else 0
        yield binary.integer(stop - start) + written[first:last].tobytes()


def _impacts(words: _Numbers, places: _Numbers, lengths: _Numbers, page: _Page) -> Iterator[bytes]:
    """As pgvector reads them: the ascending dimensions, and what words add to a score by them."""
    times = _times(page)[words // page.width, _WEIGHTS[0] - (places >> _PLACE_BITS)]
    starts, _ = _runs(words)
    words, frequencies = words[starts], _sums(times, starts)
    discounts = USUAL_K1 * (1 - USUAL_B + USUAL_B * lengths / USUAL_LENGTH)
    shares = frequencies / (frequencies + discounts[words // page.width])
    keys = words // page.width * DIMENSIONS + page.dimensions[words % page.width]
    order = np.argsort(keys)
    starts, _ = _runs(keys[order])
    keys, shares = keys[order][starts], _sums(shares[order], starts).astype(">f4")
    dimensions = (keys % DIMENSIONS).astype(">i4")
    for start, stop in _bounds(keys, DIMENSIONS, page):
        own = slice(start, min(stop, start + _MOST_IMPACTS))  # data: one word adds nearly nothing
        head = binary.integer(DIMENSIONS) + binary.integer(own.stop - start) + bytes(4)
        yield head + dimensions[own].tobytes() + shares[own].tobytes()


def _times(page: _Page) -> _Numbers:
    """By chunk and field: how often a token counts."""
    times: _Numbers = np.ones_like(page.sizes)
    times[:, 0], times[:, -1] = page.times, SUMMARY_TIMES
    return times


def _sizes(words: _Numbers, counts: _Numbers, page: _Page) -> _Numbers:
    """The bytes of words and their places in a tsvector."""
    sizes: _Numbers = page.lengths[words % page.width] + 3 + 2 * counts
    return sizes


def _bounds(keys: _Numbers, width: int, page: _Page) -> Iterable[tuple[int, int]]:
    """Where the keys of each chunk begin and end."""
    return pairwise(np.searchsorted(keys, np.arange(len(page.sizes) + 1) * width).tolist())


def _runs(values: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Where equal values begin, and how many there are."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    return starts, np.diff(starts, append=len(values))


def _sums(values: _Numbers, starts: _Numbers) -> _Numbers:
    return np.add.reduceat(values, starts) if len(starts) else values


def _counting(sizes: _Numbers) -> _Numbers:
    """0, 1, 2 … for each size."""
    numbers: _Numbers = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return numbers


def _copy(
    source: _Numbers, starts: _Numbers, target: _Numbers, places: _Numbers, sizes: _Numbers
) -> None:
    """Copy parts of these sizes from their starts to their places."""
    steps = _counting(sizes)
    target[steps + np.repeat(places, sizes)] = source[steps + np.repeat(starts, sizes)]
