"""Building an inverted index: which term stands how often in which document, and what it weighs.

The arrays are those of `index_file`. Only building needs numpy; asking is left to `bm25`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.signals.base import Entry
from aurora.signals.formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.index_file import Array
from aurora.terms import EXACT, Analysis

_DOCUMENT = 0xFFFFFFFF  # the lower half of a key
_BLOCK_TOKENS = 1 << 21  # tokens counted at a time: bounds memory, about 50 MB while sorting


def build_postings(
    documents: Iterable[Entry | tuple[str, str]], analysis: Analysis = EXACT
) -> dict[str, Array]:
    """Count every term of every text."""
    builder = _Builder(analysis.shortest)
    for document in documents:
        entry = Entry(*document)
        builder.add(entry, analysis.document(entry.text))
    return builder.finish()


def weigh_postings(arrays: Mapping[str, Array], parameters: BM25Parameters) -> dict[str, Array]:
    """Work out every posting's share of a score once, so that a query only has to add."""
    offsets, documents = np.asarray(arrays["posting_offsets"]), np.asarray(arrays["documents"])
    lengths, frequencies = np.asarray(arrays["lengths"]), np.asarray(arrays["frequencies"])
    containing = np.diff(offsets)
    idf = rarity(len(lengths), containing, variant=parameters.idf, log=np.log)
    average = float(lengths.mean()) if len(lengths) else 0.0
    discounts = discount(lengths, average, parameters)
    shares = saturate(frequencies.astype(float), discounts[documents], parameters)
    return {**arrays, "weights": (np.repeat(idf, containing) * shares).astype(np.float32)}


class _Builder:
    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__  # a new term's number
        self._ids: list[str] = []
        self._revisions = array("q")  # row and generation in turn
        self._lengths = array("i")  # as BM25 counts them
        self._counts = array("i")  # as they are, of what is in no block yet
        self._tokens = array("i")
        self._counted = 0  # documents whose tokens are already in a block
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
        """All keys and counts, by the term's place. In place: this is the most memory we need."""
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
    """Strings as an index holds them: one array of bytes, and one of where each begins."""
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(values), np.uint8),
        f"{name}_offsets": offsets_of(lengths),
    }


def split_strings(name: str, arrays: Mapping[str, Array]) -> list[bytes]:
    """The strings again."""
    letters, offsets = arrays[f"{name}_bytes"].tobytes(), arrays[f"{name}_offsets"].tolist()
    return [letters[start:stop] for start, stop in pairwise(offsets)]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where each item begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
