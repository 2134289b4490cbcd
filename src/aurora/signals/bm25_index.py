"""Building, comparing and merging the segments of the keyword index, with numpy.

`build_segments` counts which term occurs how often in which document, `merge` makes one segment of
several. In a segment, documents are ordered by their rows, terms by their bytes, and the postings
of a term by their documents. A merged segment is, array for array, what a build of its documents
returns. Searching is left to `bm25`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.base import Entry
from aurora.signals.index_file import Array, Arrays
from aurora.stores.base import RevisionGroup
from aurora.text import EXACT, Analysis, find_compounds
from aurora.types import Json

# A posting is sorted as one number: term, document, frequency.
_COUNT_BITS, _DOCUMENT_BITS = 16, 18
_TERM_SHIFT = _COUNT_BITS + _DOCUMENT_BITS
_NO_TERM = (1 << _TERM_SHIFT) - 1
_MOST_COUNT = (1 << _COUNT_BITS) - 1
_DOCUMENT_MASK = (1 << _DOCUMENT_BITS) - 1
MOST_DOCUMENTS = 1 << _DOCUMENT_BITS  # of a segment
_MOST_POSTINGS = 1 << 25  # of a segment: bounds the memory of a build, about 20 bytes a posting
_BLOCK_WORDS = 1 << 17  # counted at a time: about 15 MB while sorting
_NUMBER_BYTES = array("i").itemsize
_MOST_WORDS = 1 << 18  # in the cache before it is cleared: about 40 MB
_BLOCK_POSTINGS = 1 << 19  # unpacked at a time

_Numbers: TypeAlias = NDArray[Any]  # integers of any width: an index holds several
_PER_DOCUMENT = ("lengths", "rows", "generations")


class Difference(NamedTuple):
    """How a store differs from an index of it."""

    removed: list[_Numbers]  # for each segment: the ascending places of documents that are no more
    rows: list[int]  # of chunks that are new or changed


def build_segments(
    documents: Iterable[Entry | tuple[str, str]], analysis: Analysis = EXACT
) -> Iterator[dict[str, Array]]:
    """Count every term of every text. Yields the arrays of one segment after the other."""
    builder = _Builder(analysis)
    for document in documents:
        builder.add(Entry(*document))
        if builder.is_full:
            yield builder.finish()
            builder = _Builder(analysis)
    if len(builder):
        yield builder.finish()


def find_changed(
    segments: Sequence[tuple[Arrays, Array]],
    groups: Callable[..., Mapping[int, RevisionGroup]],
    facts: Mapping[str, Json],
) -> list[int]:
    """As `changed_generations`, of an index with these facts and the `revision_groups` of a store.

    Mostly, nothing has changed up to the generation of the index, which is seen at once.
    """
    old = int(str(facts.get("generation", -1)))
    changed = changed_generations(segments, groups(old=old), old=old)
    return changed_generations(segments, groups()) if old in changed else changed


def changed_generations(
    segments: Sequence[tuple[Arrays, Array]],
    stored: Mapping[int, RevisionGroup],
    *,
    old: int = -1,
) -> list[int]:
    """The generations whose rows are not the same in the segments and in the store. All up to the
    generation `old` count as one."""
    rows, generations = (
        np.concatenate(
            [
                np.delete(_read(arrays, name), np.asarray(removed))
                for arrays, removed in segments
            ] or [np.zeros(0, np.int64)]
        )
        for name in ("rows", "generations")
    )  # fmt: skip
    indexed = _group(rows, generations, old)
    return [
        generation
        for generation in stored.keys() | indexed.keys()
        if stored.get(generation) != indexed.get(generation)
    ]


def _group(rows: _Numbers, generations: _Numbers, old: int) -> dict[int, RevisionGroup]:
    """As `Chunks.revision_groups`. Neighbours mostly have one generation."""
    mixed = rows * ((rows + generations) & 1023)
    generations = np.maximum(generations, old)
    starts = np.flatnonzero(np.diff(generations, prepend=-1))
    if not len(starts):
        return {}
    distinct, group = np.unique(generations[starts], return_inverse=True)
    columns = []
    for values in (np.ones(len(rows), np.int64), rows, mixed):
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, group, np.add.reduceat(values, starts))
        columns.append(sums.tolist())
    groups = map(RevisionGroup, *columns)
    return dict(zip(distinct.tolist(), groups, strict=True))


def compare(
    segments: Sequence[tuple[Arrays, Array]],
    generations: Collection[int],
    stored: Mapping[int, int],
) -> Difference:
    """What has changed, of the documents and the stored chunks of some generations."""
    wanted = np.fromiter(generations, np.int64, len(generations))
    rows = np.fromiter(stored.keys(), np.int64, len(stored))
    revisions = np.fromiter(stored.values(), np.int64, len(stored))
    lacking, gone = np.ones(len(rows), np.bool_), []
    for arrays, removed in segments:
        theirs = _read(arrays, "generations")
        affected = np.isin(theirs, wanted)
        affected[np.asarray(removed)] = False
        places = np.flatnonzero(affected)
        indexed = _read(arrays, "rows")[places]
        at = np.searchsorted(rows, indexed)
        there = at < len(rows)
        there[there] = (rows[at[there]] == indexed[there]) & (
            revisions[at[there]] == theirs[places[there]]
        )
        lacking[at[there]] = False
        gone.append(np.union1d(np.asarray(removed), places[~there]).astype(np.int32))
    return Difference(gone, rows[lacking].tolist())


def merge(segments: Sequence[tuple[Arrays, Array]]) -> dict[str, Array]:
    """One segment of all documents that were not removed."""
    lives = [_live(arrays, removed) for arrays, removed in segments]
    rows = np.concatenate(
        [_read(arrays, "rows")[live] for (arrays, _), live in zip(segments, lives, strict=True)]
    )
    order = np.argsort(rows, kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    words = [split_strings("term", arrays) for arrays, _ in segments]
    terms = sorted(set().union(*words))
    number_of = {term: number for number, term in enumerate(terms)}
    blocks, start = list[NDArray[np.int64]](), 0
    for (arrays, _), live, names in zip(segments, lives, words, strict=True):
        stop = start + int(np.count_nonzero(live))
        moved = np.full(len(live), -1, np.int64)
        moved[live] = places[start:stop]
        numbers = np.fromiter(map(number_of.__getitem__, names), np.int64, len(names))
        blocks.append(_keys(arrays, numbers, moved))
        start = stop
    kept = {
        name: np.concatenate(
            [_read(arrays, name)[live] for (arrays, _), live in zip(segments, lives, strict=True)]
        )[order]
        for name in _PER_DOCUMENT
    }
    ids = [
        id_
        for (arrays, _), live in zip(segments, lives, strict=True)
        for id_, is_live in zip(split_strings("id", arrays), live, strict=True)
        if is_live
    ]
    return {
        **_postings(terms, blocks),
        **join_strings("id", [ids[place] for place in order]),
        **kept,
    }


def _live(arrays: Arrays, removed: Array) -> NDArray[np.bool_]:
    live = np.ones(arrays.size("rows"), np.bool_)
    live[np.asarray(removed)] = False
    return live


def _keys(arrays: Arrays, numbers: _Numbers, moved: _Numbers) -> NDArray[np.int64]:
    """The postings of a segment with other numbers of terms and documents; -1 removes those of a
    document."""
    offsets = _read(arrays, "posting_offsets")
    documents = moved[_read(arrays, "documents")]
    keys = np.repeat(numbers << _TERM_SHIFT, np.diff(offsets))
    keys |= documents << _COUNT_BITS
    keys |= _read(arrays, "frequencies")
    return keys[documents >= 0]


def _read(arrays: Arrays, name: str) -> _Numbers:
    return np.asarray(arrays.read(name, 0, arrays.size(name)))


class _Builder:
    """Collects words, and counts their terms block by block."""

    def __init__(self, analysis: Analysis) -> None:
        self._shortest = analysis.shortest
        self._vocabulary = _numbered()  # terms
        self._terms = _TermNumbers(analysis.words.split, self._vocabulary)
        self._ids: list[str] = []
        self._revisions = array("q")  # row and generation in turn
        self._lengths: list[_Numbers] = []  # for BM25: at least `shortest`
        self._blocks: list[NDArray[np.int64]] = []
        self._counted = 0  # documents that are in a block
        self._start_block()

    def _start_block(self) -> None:
        self._words = _numbered()
        self._used = array("i")  # the words of the documents that are in no block yet
        self._counts = array("i")  # how many each of them has

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def is_full(self) -> bool:
        postings = sum(map(len, self._blocks))
        return len(self._ids) >= MOST_DOCUMENTS or postings >= _MOST_POSTINGS

    def add(self, entry: Entry) -> None:
        row, generation = entry.revision
        self._revisions.extend((row or len(self._ids), generation))  # rows of a store start at 1
        self._ids.append(entry.id)
        words = find_compounds(entry.text)
        self._counts.append(len(words))
        self._used.extend(map(self._words.__getitem__, words))
        if len(self._used) >= _BLOCK_WORDS:
            self._count_block()

    def _count_block(self) -> None:
        """Words → terms → postings as numbers."""
        terms = [*map(self._terms.__getitem__, self._words)]
        numbers = np.frombuffer(b"".join(terms), np.intc).astype(np.int64)
        sizes = np.fromiter(map(len, terms), np.int64, len(terms)) // _NUMBER_BYTES
        used, count = np.array(self._used), len(self._counts)
        lengths = sizes[used]
        ends = np.cumsum(lengths)
        keys = np.arange(lengths.sum())
        keys += np.repeat((np.cumsum(sizes) - sizes)[used] - ends + lengths, lengths)  # places
        keys = numbers[keys] << _TERM_SHIFT
        documents = np.repeat(np.repeat(np.arange(count), self._counts), lengths)
        self._lengths.append(np.maximum(np.bincount(documents, minlength=count), self._shortest))
        keys |= documents + self._counted << _COUNT_BITS
        keys, times = np.unique(keys, return_counts=True)
        keys |= np.minimum(times, _MOST_COUNT)
        self._blocks.append(keys)
        self._counted += count
        self._start_block()
        if len(self._terms) > _MOST_WORDS:
            self._terms.clear()

    def finish(self) -> dict[str, Array]:
        self._count_block()
        terms = sorted(term.encode() for term in self._vocabulary)
        number_of = np.fromiter((self._vocabulary[t.decode()] for t in terms), np.int64, len(terms))
        place_of = np.empty(len(terms), np.int64)
        place_of[number_of] = np.arange(len(terms))
        self._terms.clear()
        self._vocabulary.clear()
        for block in self._blocks:
            block[:] = place_of[block >> _TERM_SHIFT] << _TERM_SHIFT | block & _NO_TERM
        return {
            **_postings(terms, self._blocks),
            **join_strings("id", [id_.encode() for id_ in self._ids]),
            "lengths": np.concatenate(self._lengths).astype(np.int32),
            "rows": np.array(self._revisions[::2], np.int64),
            "generations": np.array(self._revisions[1::2], np.int64),
        }


class _TermNumbers(dict[str, bytes]):
    """Cache of word → the numbers of its terms, as an array of 32 bits."""

    def __init__(
        self, split: Callable[[str], Sequence[str]], vocabulary: Mapping[str, int]
    ) -> None:
        self._split, self._vocabulary = split, vocabulary

    def __missing__(self, word: str) -> bytes:
        numbers = array("i", map(self._vocabulary.__getitem__, self._split(word)))
        self[word] = packed = numbers.tobytes()
        return packed


def _numbered() -> defaultdict[str, int]:
    """Gives each new key the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _postings(terms: list[bytes], blocks: list[NDArray[np.int64]]) -> dict[str, Array]:
    """The arrays of all terms that occur, and of their postings. Empties `blocks`."""
    keys = np.empty(sum(map(len, blocks)), np.int64)
    start = len(keys)
    while blocks:  # one at a time: memory use is highest here
        block = blocks.pop()
        keys[start - len(block) : start] = block
        start -= len(block)
        del block
    keys.sort()
    offsets = np.searchsorted(keys, np.arange(len(terms) + 1, dtype=np.int64) << _TERM_SHIFT)
    occurs = np.diff(offsets) > 0
    if not occurs.all():
        terms = [term for term, there in zip(terms, occurs, strict=True) if there]
        offsets = np.concatenate([offsets[:-1][occurs], offsets[-1:]])
    return {
        **join_strings("term", terms),
        "posting_offsets": offsets.astype(np.int64),
        "documents": _unpack(keys, lambda part: part >> _COUNT_BITS & _DOCUMENT_MASK, np.int32),
        "frequencies": _unpack(keys, lambda part: part & _MOST_COUNT, np.uint16),
    }


def _unpack(
    keys: NDArray[np.int64], part_of: Callable[[_Numbers], _Numbers], kind: type
) -> _Numbers:
    parts: _Numbers = np.empty(len(keys), kind)
    for start in range(0, len(keys), _BLOCK_POSTINGS):
        block = slice(start, start + _BLOCK_POSTINGS)
        parts[block] = part_of(keys[block])
    return parts


def join_strings(name: str, values: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """Strings as an index stores them: one array of bytes and one of offsets."""
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(values), np.uint8),
        f"{name}_offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    }


def split_strings(name: str, arrays: Arrays) -> list[bytes]:
    """The inverse of `join_strings`."""
    letters, offsets = (
        arrays.read(f"{name}_{part}", 0, arrays.size(f"{name}_{part}"))
        for part in ("bytes", "offsets")
    )
    joined = letters.tobytes()
    return [joined[start:stop] for start, stop in pairwise(offsets.tolist())]
