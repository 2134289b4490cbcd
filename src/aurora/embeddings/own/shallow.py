"""A text is the sum of its pieces, each by its weight and by the root of how often it comes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.own.weights import WIDTH, Floats, Tensors, rows_of, weights_of


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
