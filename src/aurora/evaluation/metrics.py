"""How good an answer is, by the grades of its documents; the best first in `found`.

As trec_eval counts: gain is linear, grades below 0 are 0, the ideal order has all that was judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


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
