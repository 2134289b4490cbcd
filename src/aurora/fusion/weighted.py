"""A weighted sum of comparable scores over the union of all rankings.

Each raw score is divided by its ranking's ceiling, so it lies in [0, 1] and means the same for
every query. Wins when the signals deserve fixed trust; costs nothing to explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aurora.types import Contribution, Fused, Ranking


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weights by signal. A missing signal's weight goes to the others in proportion."""

    weights: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0})
    name: str = "weighted"

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        present = {ranking.signal: self.weights.get(ranking.signal, 0.0) for ranking in rankings}
        total = sum(present.values()) or 1.0
        parts: dict[str, list[Contribution]] = {}
        for ranking in rankings:
            weight = present[ranking.signal] / total
            for contribution, chunk_id in _contributions(ranking, weight):
                parts.setdefault(chunk_id, []).append(contribution)
        fused = [
            Fused(chunk_id, sum(part.value for part in contributions), tuple(contributions))
            for chunk_id, contributions in parts.items()
        ]
        # A stable sort: ties stay in the order in which the first signal ranked them.
        return sorted(fused, key=lambda outcome: -outcome.score)


def _contributions(ranking: Ranking, weight: float) -> list[tuple[Contribution, str]]:
    ceiling = ranking.ceiling or 1.0
    outcome = []
    for rank, hit in enumerate(ranking.hits, start=1):
        normalised = hit.score / ceiling
        part = Contribution(ranking.signal, rank, hit.score, normalised, weight * normalised)
        outcome.append((part, hit.chunk_id))
    return outcome
