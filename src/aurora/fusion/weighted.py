"""A weighted sum of comparable scores over the union of all rankings (seeds 001 and 004).

Each raw score is divided by its ranking's ceiling, so it lies in [0, 1] and means the same for
every query: a minimum score can be set. Wins when fixed weights fit the signals; easy to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aurora.fusion.base import (
    KEYWORD,
    WORDS_AND_MEANING,
    Order,
    Part,
    by_row,
    fuse,
    shares,
    within,
)
from aurora.quick_classes import dataclass
from aurora.types import Ranking


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

    def __call__(self, rankings: Sequence[Ranking]) -> Order:
        weights = self._weights([ranking.signal for ranking in rankings])
        return fuse([_part(ranking, weights.get(ranking.signal, 0.0)) for ranking in rankings])

    def _weights(self, present: Sequence[str]) -> dict[str, float]:
        known = {"semantic": self.semantic, **dict.fromkeys(KEYWORD, self.keyword)}
        relevance = shares(known, [signal for signal in present if signal in known])
        nudge = self.nudge if "activation" in present else 0.0
        return {**{s: w * (1.0 - nudge) for s, w in relevance.items()}, "activation": nudge}


def _part(ranking: Ranking, weight: float) -> Part:
    ceiling = ranking.ceiling or 1.0
    values = {row: weight * within(score / ceiling) for row, score, _ in ranking.hits}
    return Part(ranking.signal, values, by_row(ranking), lambda hit: within(hit.score / ceiling))
