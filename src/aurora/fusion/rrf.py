"""Reciprocal rank fusion: Σ 1 / (k + rank), whatever the scores (seed 002).

Cormack, Clarke and Büttcher, *Reciprocal Rank Fusion outperforms Condorcet* (2009). Wins when
scores cannot be compared. Ignores their distances: a clear lead counts like a narrow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aurora.fusion.base import SimpleFusion, fuse
from aurora.types import Contribution, Fused, Ranking


@dataclass(frozen=True, slots=True)
class ReciprocalRank(SimpleFusion):
    """A larger `k` makes the first places stand out less."""

    k: int = 60
    name: str = "rrf"

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        parts: dict[int, tuple[Contribution, ...]] = {}
        for ranking in rankings:
            for row, score, rank in ranking.hits:
                value = 1.0 / (self.k + rank)
                normalised = value * (self.k + 1)  # 1 for the first
                part = Contribution(ranking.signal, rank, score, normalised, value)
                parts[row] = (*parts.get(row, ()), part)
        return fuse(parts)
