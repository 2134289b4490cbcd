"""A weighted sum of comparable scores over the union of all rankings (seeds 001 and 004).

Each raw score is divided by its ranking's ceiling, so it lies in [0, 1] and means the same for
every query: a minimum score can be set. Wins when fixed weights fit the signals; easy to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aurora.fusion.base import KEYWORD, WORDS_AND_MEANING, fuse, shares, within
from aurora.quick_classes import dataclass
from aurora.types import Contribution, Fused, Ranking


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weights of the semantic and the keyword signal; without one, the other has all.

    `nudge` is the share of activation beside both: it orders chunks that are about equal.
    """

    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset()

    semantic: float = 0.7
    keyword: float = 0.3
    nudge: float = 0.0
    name: str = "weighted"

    @property
    def signals(self) -> frozenset[str]:
        use = ("activation",) if self.nudge > 0.0 else ()
        return frozenset((*KEYWORD, "semantic", "recency", *use))

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        weights = self._weights([ranking.signal for ranking in rankings])
        parts: dict[int, tuple[Contribution, ...]] = {}
        for ranking in rankings:
            signal, ceiling = ranking.signal, ranking.ceiling or 1.0
            weight = weights.get(signal, 0.0)
            for row, score, rank in ranking.hits:
                share = within(score / ceiling)
                part = Contribution(signal, rank, score, share, weight * share)
                parts[row] = (*parts[row], part) if row in parts else (part,)
        return fuse(parts)

    def _weights(self, present: Sequence[str]) -> dict[str, float]:
        known = {"semantic": self.semantic, **dict.fromkeys(KEYWORD, self.keyword)}
        relevance = shares(known, [signal for signal in present if signal in known])
        nudge = self.nudge if "activation" in present else 0.0
        return {**{s: w * (1.0 - nudge) for s, w in relevance.items()}, "activation": nudge}
