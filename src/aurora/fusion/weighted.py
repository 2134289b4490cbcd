"""A weighted sum of comparable scores over the union of all rankings (seeds 001 and 004).

Each raw score is divided by its ranking's ceiling, so it lies in [0, 1] and means the same for
every query: outcomes below `min_score` are no answer. Wins when the signals deserve fixed trust;
costs nothing to explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aurora.fusion.base import KEYWORD, fuse, shares, within
from aurora.types import Contribution, Fused, Ranking

MIN_SCORE = 0.1  # seed 001


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weights by signal; `keyword` is whichever of the keyword signals takes part."""

    weights: Mapping[str, float] = field(default_factory=lambda: {"semantic": 0.7, "keyword": 0.3})
    min_score: float = MIN_SCORE
    name: str = "weighted"

    @property
    def signals(self) -> frozenset[str]:
        weighed = {signal for signal, weight in self.weights.items() if weight > 0.0}
        return frozenset(weighed | {*KEYWORD, "recency"})

    @property
    def proposers(self) -> frozenset[str]:
        return frozenset((*KEYWORD, "semantic"))

    @property
    def fill_ups(self) -> frozenset[str]:
        return frozenset()

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        known = {**dict.fromkeys(KEYWORD, self.weights.get("keyword", 0.0)), **self.weights}
        weights = shares(known, [ranking.signal for ranking in rankings])
        parts: dict[int, list[Contribution]] = {}
        for ranking in rankings:
            weight, ceiling = weights[ranking.signal], ranking.ceiling or 1.0
            for row, score, rank in ranking.hits:
                normalised = within(score / ceiling)
                part = Contribution(ranking.signal, rank, score, normalised, weight * normalised)
                parts.setdefault(row, []).append(part)
        return fuse(parts)
