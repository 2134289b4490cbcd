"""Reciprocal rank fusion: Σ 1 / (k + rank), whatever the scores (seed 002).

Cormack, Clarke and Büttcher, *Reciprocal Rank Fusion outperforms Condorcet* (2009). Wins when
scores cannot be compared. Ignores their distances: a clear lead counts like a narrow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aurora.fusion.base import Order, Part, SimpleFusion, by_row, fuse
from aurora.types import Hit, Ranking


@dataclass(frozen=True, slots=True)
class ReciprocalRank(SimpleFusion):
    """A larger `k` makes the first places stand out less."""

    k: int = 60
    name: str = "rrf"

    def __call__(self, rankings: Sequence[Ranking]) -> Order:
        return fuse([self._part(ranking) for ranking in rankings])

    def _part(self, ranking: Ranking) -> Part:
        hits = by_row(ranking)
        values = {row: self._value(hit) for row, hit in hits.items()}
        best = self.k + 1  # 1 for the first
        return Part(ranking.signal, values, hits, lambda hit: self._value(hit) * best)

    def _value(self, hit: Hit) -> float:
        return 1.0 / (self.k + hit.rank)
