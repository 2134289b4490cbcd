"""Adding columns of an index with numpy: what a long-running process and a broad query use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aurora.signals.index_file import Array


def add_dense(
    columns: Sequence[tuple[int, Array, Array]], pool: int, *, total: int
) -> list[tuple[int, float]]:
    """As `bm25.add_sparse`, to the last bit: the same additions in the same order."""
    scores = np.zeros(total)
    for count, documents, weights in columns:
        scores[np.asarray(documents)] += count * np.asarray(weights, np.float64)
    places = best(scores, pool)
    return list(zip(places.tolist(), scores[places].tolist(), strict=True))


def best(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Places of the highest scores other than 0, best first, ties by place."""
    places = np.flatnonzero(scores)
    if len(places) > limit:
        values = scores[places]
        cut = np.partition(values, -limit)[-limit]  # the last score that still gets in
        above, level = places[values > cut], places[values == cut]
        places = np.concatenate([above, level[: limit - len(above)]])
    return places[np.lexsort((places, -scores[places]))]
