"""A text is the sum of its pieces as the layers understand them, in windows, beside each other.

They weigh what they weigh in the shallow sum, which is added: what the layers understand and what
the pieces say by themselves find more together than either does (docs/model-card.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aurora.embeddings.own.runtime import Run
from aurora.embeddings.own.shallow import places_of
from aurora.embeddings.own.weights import WIDTH, WINDOW, Floats, Tensors, rows_of, weights_of

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
