"""Building and merging the inverted index of BM25, with numpy. Searching is left to `bm25`.

`build` counts which term occurs how often in which document. `merge` updates an index: changed
documents are built alone and put between the others. The result is, array for array, what `build`
returns for all documents: documents are ordered by their rows, terms by their bytes, the postings
of a term by their documents. Unchanged texts are not read again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import compress, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.base import Entry
from aurora.signals.bm25_formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.index_file import Array
from aurora.text import EXACT, Analysis

_DOCUMENT = 0xFFFFFFFF  # the lower half of a key
_BLOCK_TOKENS = 1 << 21  # tokens counted at a time: bounds memory, about 50 MB while sorting
_BLOCK_POSTINGS = 1 << 21  # weighed at a time

_Mask: TypeAlias = NDArray[np.bool_]
_Numbers: TypeAlias = NDArray[Any]  # integers of any width: an index holds several
_Arrays: TypeAlias = Mapping[str, _Numbers]


class Difference(NamedTuple):
    """How a store differs from an index of it."""

    kept: _Mask  # for each document of the index: true when it is unchanged
    rows: list[int]  # of chunks that are new or changed


class Postings(NamedTuple):
    """Builds, compares, merges and weighs the arrays of an index."""

    analysis: Analysis = EXACT
    parameters: BM25Parameters = BM25Parameters()

    def build(self, documents: Iterable[Entry | tuple[str, str]]) -> dict[str, Array]:
        """Count every term of every text. The arrays are those of an index file."""
        builder = _Builder(self.analysis.shortest)
        for document in documents:
            entry = Entry(*document)
            builder.add(entry, self.analysis.document(entry.text))
        return builder.finish()

    @staticmethod
    def compare(index: Mapping[str, Array], revisions: Mapping[int, int]) -> Difference:
        """Which documents of an index are unchanged, and which rows must be read from the store."""
        rows = np.fromiter(revisions.keys(), np.int64, len(revisions))
        generations = np.fromiter(revisions.values(), np.int64, len(revisions))
        indexed = np.asarray(index["rows"])
        kept = np.zeros(len(indexed), np.bool_)
        at = np.searchsorted(rows, indexed)
        there = np.flatnonzero(at < len(rows))
        kept[there] = (rows[at[there]] == indexed[there]) & (
            generations[at[there]] == np.asarray(index["generations"])[there]
        )
        lacking = np.ones(len(rows), np.bool_)
        lacking[at[kept]] = False
        return Difference(kept, rows[lacking].tolist())

    @staticmethod
    def merge(
        index: Mapping[str, Array], fresh: Mapping[str, Array], *, kept: _Mask
    ) -> dict[str, Array]:
        """One index of the kept documents of `index` and all documents of `fresh`."""
        old = {name: np.asarray(array) for name, array in index.items()}
        new = {name: np.asarray(array) for name, array in fresh.items()}
        documents = _Splice(kept, np.searchsorted(old["rows"][kept], new["rows"]))
        per_document = ("lengths", "rows", "generations")
        return {
            **_merge_terms(old, new, documents),
            **documents.strings("id", old, new),
            **{name: documents.numbers(old[name], new[name]) for name in per_document},
        }

    def weigh(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Compute every posting's share of a score, so that a search only has to add."""
        offsets, documents = np.asarray(arrays["posting_offsets"]), np.asarray(arrays["documents"])
        lengths, frequencies = np.asarray(arrays["lengths"]), np.asarray(arrays["frequencies"])
        idf = rarity(len(lengths), np.diff(offsets), variant=self.parameters.idf, log=np.log)
        average = float(lengths.mean()) if len(lengths) else 0.0
        weights = np.empty(len(documents), np.float32)
        # What lies between takes forty bytes a posting: in blocks, a large index stays small.
        for start in range(0, len(weights), _BLOCK_POSTINGS):
            block = slice(start, start + _BLOCK_POSTINGS)
            idf_of_each = np.repeat(idf, np.diff(np.clip(offsets, block.start, block.stop)))
            weights[block] = np.asarray(
                self.weigh_some(idf_of_each, frequencies[block], documents[block], lengths, average)
            )
        return {**arrays, "weights": weights}

    def weigh_some(
        self,
        idf: float | _Numbers,
        frequencies: Array,
        documents: Array,
        lengths: Array,
        average: float,
    ) -> Array:
        """The weights of some postings, with the rarity of their terms."""
        long = np.asarray(lengths)[np.asarray(documents)]
        discounts = discount(long, average, self.parameters)
        shares = saturate(np.asarray(frequencies).astype(float), discounts, self.parameters)
        weights: Array = (idf * shares).astype(np.float32)
        return weights


class _Builder:
    """Collects tokens and counts them block by block."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__  # a new term's number
        self._ids: list[str] = []
        self._revisions = array("q")  # row and generation in turn
        self._lengths = array("i")  # for BM25: at least `shortest`
        self._counts = array("i")  # tokens of the documents that are in no block yet
        self._tokens = array("i")
        self._counted = 0  # documents that are in a block
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = []

    def add(self, entry: Entry, tokens: Sequence[str]) -> None:
        row, generation = entry.revision
        self._revisions.extend((row or len(self._ids), generation))  # rows of a store start at 1
        self._ids.append(entry.id)
        self._lengths.append(max(len(tokens), self._shortest))
        self._counts.append(len(tokens))
        self._tokens.extend(map(self._vocabulary.__getitem__, tokens))
        if len(self._tokens) >= _BLOCK_TOKENS:
            self._count_block()

    def _count_block(self) -> None:
        """Tokens → (term, document) keys with their counts. A key is term << 32 | document."""
        counts = np.array(self._counts, np.int32)
        documents = np.repeat(np.arange(self._counted, len(self._ids), dtype=np.int64), counts)
        terms = np.array(self._tokens, np.int64)
        keys, times = np.unique(terms << 32 | documents, return_counts=True)
        self._blocks.append((keys, np.minimum(times, 0xFFFF).astype(np.uint16)))
        self._counted = len(self._ids)
        self._tokens, self._counts = array("i"), array("i")

    def finish(self) -> dict[str, Array]:
        self._count_block()
        terms = sorted(term.encode() for term in self._vocabulary)
        number_of = np.fromiter((self._vocabulary[t.decode()] for t in terms), np.int64, len(terms))
        place_of = np.empty(len(terms), np.int64)
        place_of[number_of] = np.arange(len(terms))
        self._vocabulary.clear()
        keys, counts = self._sorted(place_of)
        return {
            **join_strings("term", terms),
            "posting_offsets": offsets_of(np.bincount(keys >> 32, minlength=len(terms))),
            "documents": (keys & _DOCUMENT).astype(np.int32),
            "frequencies": counts,
            **join_strings("id", [id_.encode() for id_ in self._ids]),
            "lengths": np.array(self._lengths, np.int32),
            "rows": np.array(self._revisions[::2], np.int64),
            "generations": np.array(self._revisions[1::2], np.int64),
        }

    def _sorted(self, place_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """All keys and counts, by the term's place. In place: memory use is highest here."""
        keys = np.concatenate([keys for keys, _ in self._blocks])
        counts = np.concatenate([counts for _, counts in self._blocks])
        self._blocks.clear()
        places = keys >> 32
        np.take(place_of, places, out=places)
        keys &= _DOCUMENT
        keys |= np.left_shift(places, 32, out=places)
        del places
        order = np.argsort(keys)
        return keys[order], counts[order]


def join_strings(name: str, values: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """Strings as an index stores them: one array of bytes and one of offsets."""
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(values), np.uint8),
        f"{name}_offsets": offsets_of(lengths),
    }


def split_strings(name: str, arrays: Mapping[str, Array]) -> list[bytes]:
    """The inverse of `join_strings`."""
    letters, offsets = arrays[f"{name}_bytes"].tobytes(), arrays[f"{name}_offsets"].tolist()
    return [letters[start:stop] for start, stop in pairwise(offsets)]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """The start of each item, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _merge_terms(old: _Arrays, new: _Arrays, documents: _Splice) -> dict[str, Array]:
    """The merged terms and their postings."""
    offsets, added = old["posting_offsets"], np.diff(new["posting_offsets"])
    moved = documents.old_places[old["documents"]]
    stays = moved >= 0
    gone = np.flatnonzero(~stays)
    lost = np.searchsorted(offsets, gone, side="right") - 1  # the term of each removed posting
    left = np.diff(offsets) - np.bincount(lost, minlength=len(offsets) - 1)
    wanted = split_strings("term", new)
    at, known = _find_terms(old, wanted)

    terms_stay = left > 0
    terms_stay[at[known]] = True
    terms = _Splice(terms_stay, offsets_of(terms_stay)[at[~known]])
    counts = terms.numbers(left, added[~known])
    counts[terms.old_places[at[known]]] += added[known]

    spots = _find_postings(old, new, at=np.repeat(at, added), known=np.repeat(known, added))
    postings = _Splice(stays, spots - np.searchsorted(gone, spots))
    return {
        **terms.strings("term", old, join_strings("term", list(compress(wanted, ~known)))),
        "posting_offsets": offsets_of(counts),
        "documents": postings.numbers(moved, documents.new_places[new["documents"]]),
        "frequencies": postings.numbers(old["frequencies"], new["frequencies"]),
    }


def _find_terms(old: _Arrays, wanted: Sequence[bytes]) -> tuple[_Numbers, _Mask]:
    """The place of each wanted term among the old ones, and whether it is there."""
    letters, ends = old["term_bytes"].tobytes(), old["term_offsets"].data
    count = len(ends) - 1

    @cache  # all searches share their first steps
    def term(place: int) -> bytes:
        return letters[ends[place] : ends[place + 1]]

    at = [bisect_left(range(count), value, key=term) for value in wanted]
    known = [
        place < count and term(place) == value for place, value in zip(at, wanted, strict=True)
    ]
    return np.array(at, np.int64), np.array(known, np.bool_)


def _find_postings(old: _Arrays, new: _Arrays, *, at: _Numbers, known: _Mask) -> _Numbers:
    """The place of each new posting among the old ones, by bisecting all of them at once."""
    documents, offsets = old["documents"], old["posting_offsets"]
    wanted = np.searchsorted(old["rows"], new["rows"])[new["documents"]]
    low, high = offsets[at], offsets[at + known]
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        before = documents[middle] < wanted[open_]
        low[open_[before]] = middle[before] + 1
        high[open_[~before]] = middle[~before]
    return low


class _Splice:
    """Merges two lists: some items of the old list stay, and new items go between them."""

    def __init__(self, stays: _Mask, spots: _Numbers) -> None:
        """`spots`: for each new item, how many of the staying items precede it."""
        self.stays, self._spots = stays, spots
        self.new_places = spots + np.arange(len(spots))
        self._is_old = np.ones(np.count_nonzero(stays) + len(spots), np.bool_)
        self._is_old[self.new_places] = False

    @property
    def old_places(self) -> NDArray[np.int32]:
        """The new place of each old item; -1 for those that do not stay."""
        places = np.full(len(self.stays), -1, np.int32)
        places[self.stays] = np.flatnonzero(self._is_old)
        return places

    def numbers(self, old: _Numbers, new: _Numbers) -> _Numbers:
        merged = np.empty(len(self._is_old), old.dtype)
        all_stay = len(old) + len(new) == len(merged)  # the usual case saves half of the work
        merged[self._is_old] = old if all_stay else old[self.stays]
        merged[self.new_places] = new
        return merged

    def strings(self, name: str, old: _Arrays, new: _Arrays) -> dict[str, Array]:
        """The same for strings in one array of bytes."""
        offsets = f"{name}_offsets"
        old_lengths, new_lengths = np.diff(old[offsets]), np.diff(new[offsets])
        spots = offsets_of(old_lengths[self.stays])[self._spots]
        letters = _Splice(np.repeat(self.stays, old_lengths), np.repeat(spots, new_lengths))
        return {
            f"{name}_bytes": letters.numbers(old[f"{name}_bytes"], new[f"{name}_bytes"]),
            offsets: offsets_of(self.numbers(old_lengths, new_lengths)),
        }
