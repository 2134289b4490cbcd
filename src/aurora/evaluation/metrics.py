"""Metrics of a ranking by the grades of its documents, and the statistics of their means.

Metrics are those of trec_eval: gain is linear, grades below 0 are 0, and the ideal order contains
all judged documents. Intervals come from a percentile bootstrap (Efron 1979), p-values from paired
randomisation (Fisher 1935; Smucker, Allan and Carterette 2007), both with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from aurora.report_types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def ndcg(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """Normalised discounted cumulated gain (Järvelin and Kekäläinen 2002)."""
    best = _discounted(sorted(grades.values(), reverse=True)[:at])
    gain = _discounted([grades.get(document, 0.0) for document in found[:at]])
    return gain / best if best else 0.0


def reciprocal_rank(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """One over the place of the first answer; 0 without an answer."""
    for place, document in enumerate(found[:at], start=1):
        if grades.get(document, 0.0) > 0.0:
            return 1.0 / place
    return 0.0


def recall(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """The share of all answers that are in the ranking."""
    answers = {document for document, grade in grades.items() if grade > 0.0}
    return len(answers.intersection(found[:at])) / len(answers) if answers else 0.0


def score(found: Sequence[str], grades: Mapping[str, float]) -> tuple[float, ...]:
    """All metrics of a ranking, in the order of `METRICS`."""
    recalls = (recall(found, grades, at=at) for at in (1, 5, 10, 100))
    return (ndcg(found, grades, at=10), reciprocal_rank(found, grades, at=10), *recalls)


def _discounted(gains: Sequence[float]) -> float:
    return sum(max(gain, 0.0) / math.log2(place + 2) for place, gain in enumerate(gains))


DRAWS = 2_000  # of the bootstrap: more do not change the third digit of a bound
FLIPS = 10_000  # of the randomisation: p-values down to .0001
_SEED = 20260101
_AT_ONCE = 4_000_000  # random numbers in memory: 32 MB


def estimate(scores: Sequence[Sequence[float]]) -> list[Estimate]:
    """The mean of each column with its 95 % interval. A row is a question."""
    import numpy as np  # noqa: PLC0415 - not needed for --help

    table = np.asarray(scores, np.float64)
    means = np.concatenate([drawn @ table for drawn in _draws(len(table))]) / len(table)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Estimate(*map(float, row)) for row in zip(table.mean(axis=0), low, high, strict=True)]


def randomisation_test(differences: Sequence[float]) -> float:
    """The two-sided p-value: how often random signs give a sum as far from 0."""
    import numpy as np  # noqa: PLC0415

    values = np.asarray([value for value in differences if value], np.float64)
    if not len(values):
        return 1.0
    random, extreme = np.random.default_rng(_SEED), 0
    observed = abs(values.sum()) * (1.0 - 1e-12)  # a sum in another order differs by less
    for rows in _batches(FLIPS, len(values)):
        signs = random.integers(0, 2, (rows, len(values)), np.int8) * 2.0 - 1.0
        extreme += int((np.abs(signs @ values) >= observed).sum())
    return (extreme + 1) / (FLIPS + 1)


def _draws(count: int) -> Iterator[NDArray[np.float64]]:
    """Batches of rows with how often each question is drawn."""
    import numpy as np  # noqa: PLC0415

    random = np.random.default_rng(_SEED)
    for rows in _batches(DRAWS, count):
        drawn = random.integers(0, count, (rows, count)) + np.arange(rows)[:, None] * count
        counts = np.bincount(drawn.ravel(), minlength=rows * count)
        yield counts.reshape(rows, count).astype(np.float64)


def _batches(total: int, width: int) -> Iterator[int]:
    rows = max(_AT_ONCE // width, 1)
    for start in range(0, total, rows):
        yield min(rows, total - start)
