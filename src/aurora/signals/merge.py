"""Bringing an inverted index up to date: what changed is built alone and put between the rest.

The outcome is what `postings` would build of all documents, array for array: documents lie by the
rows of their revisions, terms by their bytes, the postings of a term by their documents. The texts
of what did not change are not read, and nothing goes through Python but the terms of what did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aurora.signals.index_file import Array
from aurora.signals.postings import join_strings, offsets_of, split_strings

_Mask: TypeAlias = NDArray[np.bool_]
_Numbers: TypeAlias = NDArray[Any]  # integers of any width: an index holds several
_Arrays: TypeAlias = Mapping[str, _Numbers]


class Difference(NamedTuple):
    """How a store differs from an index of it."""

    kept: _Mask  # for each document of the index: is it still as it was?
    rows: list[int]  # of the chunks that the index lacks, or has as they were before


def compare(index: Mapping[str, Array], revisions: Mapping[int, int]) -> Difference:
    """What of an index still stands, and which rows of the store must be read again."""
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


def merge_postings(
    index: Mapping[str, Array], fresh: Mapping[str, Array], *, kept: _Mask
) -> dict[str, Array]:
    """One index of the kept documents of the first and all documents of the second."""
    old = {name: np.asarray(array) for name, array in index.items()}
    new = {name: np.asarray(array) for name, array in fresh.items()}
    documents = _Splice(kept, np.searchsorted(old["rows"][kept], new["rows"]))
    per_document = ("lengths", "rows", "generations")
    return {
        **_merge_terms(old, new, documents),
        **documents.strings("id", old, new),
        **{name: documents.numbers(old[name], new[name]) for name in per_document},
    }


def _merge_terms(old: _Arrays, new: _Arrays, documents: _Splice) -> dict[str, Array]:
    """The terms and their postings, once it is known where each document goes."""
    offsets, added = old["posting_offsets"], np.diff(new["posting_offsets"])
    moved = documents.old_places[old["documents"]]
    stays = moved >= 0
    gone = np.flatnonzero(~stays)
    lost = np.searchsorted(offsets, gone, side="right") - 1  # the term of each posting that goes
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
    """Before which old term each wanted one belongs, and whether it is that very term."""
    letters, ends = old["term_bytes"].tobytes(), old["term_offsets"].data
    count = len(ends) - 1

    @cache  # the searches have most of their first steps in common
    def term(place: int) -> bytes:
        return letters[ends[place] : ends[place + 1]]

    at = [bisect_left(range(count), one, key=term) for one in wanted]
    known = [place < count and term(place) == one for place, one in zip(at, wanted, strict=True)]
    return np.array(at, np.int64), np.array(known, np.bool_)


def _find_postings(old: _Arrays, new: _Arrays, *, at: _Numbers, known: _Mask) -> _Numbers:
    """Before which old posting each new one belongs: a bisection of all of them at once."""
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
    """Two lists made one: some items of the old one stay, and new ones go between them."""

    def __init__(self, stays: _Mask, spots: _Numbers) -> None:
        """`spots` says of each new item how many of those that stay come before it."""
        self.stays, self._spots = stays, spots
        self.new_places = spots + np.arange(len(spots))
        self._is_old = np.ones(np.count_nonzero(stays) + len(spots), np.bool_)
        self._is_old[self.new_places] = False

    @property
    def old_places(self) -> NDArray[np.int32]:
        """Where each old item goes; -1 for those that do not stay."""
        places = np.full(len(self.stays), -1, np.int32)
        places[self.stays] = np.flatnonzero(self._is_old)
        return places

    def numbers(self, old: _Numbers, new: _Numbers) -> _Numbers:
        merged = np.empty(len(self._is_old), old.dtype)
        all_stay = len(old) + len(new) == len(merged)  # mostly, and then half of the work is saved
        merged[self._is_old] = old if all_stay else old[self.stays]
        merged[self.new_places] = new
        return merged

    def strings(self, name: str, old: _Arrays, new: _Arrays) -> dict[str, Array]:
        """The same for strings that lie in one array of bytes."""
        offsets = f"{name}_offsets"
        old_lengths, new_lengths = np.diff(old[offsets]), np.diff(new[offsets])
        spots = offsets_of(old_lengths[self.stays])[self._spots]
        letters = _Splice(np.repeat(self.stays, old_lengths), np.repeat(spots, new_lengths))
        return {
            f"{name}_bytes": letters.numbers(old[f"{name}_bytes"], new[f"{name}_bytes"]),
            offsets: offsets_of(self.numbers(old_lengths, new_lengths)),
        }
