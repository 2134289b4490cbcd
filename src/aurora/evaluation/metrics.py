"""How good an answer is, by the grades of its documents; the best first in `found`.

As trec_eval counts: gain is linear, grades below 0 are 0, the ideal order has all that was judged.

How sure a mean over questions is: drawn again and again, from the same seed.

Percentile bootstrap (Efron 1979) and paired randomisation (Fisher 1935; Smucker, Allan and
Carterette 2007 for search). Nothing is assumed of how scores are spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from aurora.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def ndcg(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """Normalised discounted cumulated gain (Järvelin and Kekäläinen 2002)."""
    best = _discounted(sorted(grades.values(), reverse=True)[:at])
    gain = _discounted([grades.get(document, 0.0) for document in found[:at]])
    return gain / best if best else 0.0


def reciprocal_rank(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """One over the place of the first answer; 0 where there is none."""
    for place, document in enumerate(found[:at], start=1):
        if grades.get(document, 0.0) > 0.0:
            return 1.0 / place
    return 0.0


def recall(found: Sequence[str], grades: Mapping[str, float], *, at: int) -> float:
    """The share of all answers that was found."""
    answers = {document for document, grade in grades.items() if grade > 0.0}
    return len(answers.intersection(found[:at])) / len(answers) if answers else 0.0


def score(found: Sequence[str], grades: Mapping[str, float]) -> tuple[float, ...]:
    """All metrics of an answer, in the order of `METRICS`."""
    recalls = (recall(found, grades, at=at) for at in (1, 5, 10, 100))
    return (ndcg(found, grades, at=10), reciprocal_rank(found, grades, at=10), *recalls)


def _discounted(gains: Sequence[float]) -> float:
    return sum(max(gain, 0.0) / math.log2(place + 2) for place, gain in enumerate(gains))


DRAWS = 2_000  # of a bootstrap: the third digit of a bound does not change with more
FLIPS = 10_000  # of a randomisation: p-values down to .0001
_SEED = 20260101
_AT_ONCE = 4_000_000  # numbers drawn together: 32 MB


def estimate(scores: Sequence[Sequence[float]]) -> list[Estimate]:
    """The mean of each column, and the middle 95 % of its bootstrap. A row is a question."""
    import numpy as np  # noqa: PLC0415 - only who evaluates needs it

    table = np.asarray(scores, np.float64)
    means = np.concatenate([drawn @ table for drawn in _draws(len(table))]) / len(table)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Estimate(*map(float, row)) for row in zip(table.mean(axis=0), low, high, strict=True)]


def randomisation_test(differences: Sequence[float]) -> float:
    """The two-sided p-value: how often signs by lot make a sum as far from 0."""
    import numpy as np  # noqa: PLC0415

    values = np.asarray([one for one in differences if one], np.float64)
    if not len(values):
        return 1.0
    lot, extreme = np.random.default_rng(_SEED), 0
    observed = abs(values.sum()) * (1.0 - 1e-12)  # the same sum, added up in another order
    for rows in _batches(FLIPS, len(values)):
        signs = lot.integers(0, 2, (rows, len(values)), np.int8) * 2.0 - 1.0
        extreme += int((np.abs(signs @ values) >= observed).sum())
    return (extreme + 1) / (FLIPS + 1)


def _draws(count: int) -> Iterator[NDArray[np.float64]]:
    """How often each question is drawn, in so many draws of as many as there are."""
    import numpy as np  # noqa: PLC0415

    lot = np.random.default_rng(_SEED)
    for rows in _batches(DRAWS, count):
        drawn = lot.integers(0, count, (rows, count)) + np.arange(rows)[:, None] * count
        counts = np.bincount(drawn.ravel(), minlength=rows * count)
        yield counts.reshape(rows, count).astype(np.float64)


def _batches(total: int, width: int) -> Iterator[int]:
    rows = max(_AT_ONCE // width, 1)
    for start in range(0, total, rows):
        yield min(rows, total - start)
