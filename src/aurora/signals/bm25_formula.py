"""The formula of Okapi BM25, for single numbers and for arrays alike.

    score(Q, D) = Σ idf(q) · f(q, D) · (k1 + 1) / (f(q, D) + k1 · (1 − b + b · |D| / avgdl))

See Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009); seeds 000 and 002.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

Number: TypeAlias = Any  # a float, or an array of them: the arithmetic is the same


class BM25Parameters(NamedTuple):
    """`k1` saturates repetition, `b` discounts length, `idf` names the rarity formula."""

    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"


def rarity(
    total: int, containing: Number, *, variant: str, log: Callable[[Number], Number] = math.log
) -> Number:
    """idf of terms that `containing` of `total` documents contain.

    `lucene`: ln(1 + (N − n + ½) / (n + ½)), never negative. `robertson`: without the 1, so that a
    term in more than half of all documents counts against a match (seed 002).
    """
    odds = (total - containing + 0.5) / (containing + 0.5)
    return log(odds if variant == "robertson" else odds + 1.0)


def discount(length: Number, average: float, parameters: BM25Parameters) -> Number:
    """The length term of the denominator: the longer a document, the less a repetition counts."""
    relative = length / (average or 1.0)
    return parameters.k1 * (1.0 - parameters.b + parameters.b * relative)


def saturate(frequency: Number, discount: Number, parameters: BM25Parameters) -> Number:
    """The factor after idf: repetition counts less and less, length discounts."""
    return frequency * (parameters.k1 + 1.0) / (frequency + discount)
