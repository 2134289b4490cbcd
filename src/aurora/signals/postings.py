"""Building an inverted index: which term stands how often in which document, and what it weighs.

The arrays are those of `index_file`. Only building needs numpy; asking is left to `bm25`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from aurora.signals.formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.index_file import Array
from aurora.text import tokenize

_BLOCK_TOKENS = 1 << 22  # tokens counted at a time: bounds memory, about 100 MB while sorting


def build_postings(documents: Iterable[tuple[str, str]]) -> dict[str, Array]:
    """Count every token of every (id, text) pair."""
    builder = _Builder()
    for document_id, text in documents:
        builder.add(document_id, tokenize(text))
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
    def __init__(self) -> None:
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__  # a new term's number
        self._ids: list[str] = []
        self._lengths = array("i")
        self._tokens = array("i")
        self._counted = 0  # documents whose tokens are already in a block
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = []

    def add(self, document_id: str, tokens: Sequence[str]) -> None:
        self._ids.append(document_id)
        self._lengths.append(len(tokens))
        self._tokens.extend(map(self._vocabulary.__getitem__, tokens))
        if len(self._tokens) >= _BLOCK_TOKENS:
            self._count_block()

    def _count_block(self) -> None:
        """Tokens → (term, document) keys with their counts. A key is term << 32 | document."""
        lengths = np.array(self._lengths[self._counted :], np.int32)
        documents = np.repeat(np.arange(self._counted, len(self._ids), dtype=np.int64), lengths)
        terms = np.array(self._tokens, np.int64)
        keys, counts = np.unique(terms << 32 | documents, return_counts=True)
        self._blocks.append((keys, np.minimum(counts, 0xFFFF).astype(np.uint16)))
        self._counted = len(self._ids)
        self._tokens = array("i")

    def finish(self) -> dict[str, Array]:
        self._count_block()
        terms = sorted(term.encode() for term in self._vocabulary)
        number_of = np.fromiter((self._vocabulary[t.decode()] for t in terms), np.int64, len(terms))
        place_of = np.empty(len(terms), np.int64)
        place_of[number_of] = np.arange(len(terms))
        keys = np.concatenate([keys for keys, _ in self._blocks])
        counts = np.concatenate([counts for _, counts in self._blocks])
        places, documents = place_of[keys >> 32], (keys & 0xFFFFFFFF).astype(np.int32)
        order = np.lexsort((documents, places))
        return {
            **_strings("term", terms),
            "posting_offsets": _offsets(np.bincount(places, minlength=len(terms))),
            "documents": documents[order],
            "frequencies": counts[order],
            **_strings("id", [id_.encode() for id_ in self._ids]),
            "lengths": np.array(self._lengths, np.int32),
        }


def _strings(name: str, values: Sequence[bytes]) -> dict[str, Array]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(values), np.uint8),
        f"{name}_offsets": _offsets(lengths),
    }


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
