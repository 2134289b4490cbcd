"""The default: shares that follow what is asked and what is found, and a few rules (ours).

Each signal is measured by how far a chunk stands out among the candidates: in standard deviations
above the least of them. So the signal that separates its candidates better decides more, whatever
its scale, and how large the memory is does not matter. Of ten candidates in a row with much the
same score, the other signal makes the order. The rules are in `rules`, each for itself.
docs/concepts/ranking.md has what each of the numbers is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt
from typing import ClassVar, NamedTuple

from aurora.fusion.base import (
    KEYWORD,
    NOWHERE,
    WORDS_AND_MEANING,
    CandidateContext,
    fuse,
    shares,
    within,
)
from aurora.fusion.rules import RULES, Rules
from aurora.fusion.weighted import Weighted
from aurora.types import Contribution, Fused, Hit, Ranking

_DEVIATIONS = 10.0  # that make a score of 1
_BEYOND = 0.01  # at most, for those behind the candidates that are measured by: in order, above 0
_USED = 3.0  # deviations at most that count of use: where little was used, all of that stands out
_VAGUE = 0.2  # of its share, where the model knows little of the script


class Trust(NamedTuple):
    """Meaning's share where the candidates are prose, and where they are code. Words have the rest.

    It is a matter of the model: docs/concepts/embeddings.md.
    """

    prose: float = 0.3
    code: float = 0.8


OWN = Trust()  # what Aurora's own model, the default, is worth


@dataclass(frozen=True, slots=True)
class Auto:
    """Its shares follow how much of what was found is code."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING | {"activation", "recency"}
    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset()

    trust: Trust = OWN
    use: float = 0.3  # beside words and meaning, which have 1 together
    rules: Rules = RULES
    # What is no answer is told by scores that mean the same for every query.
    evidence: Weighted = field(default_factory=Weighted)
    name: str = "auto"

    @property
    def min_score(self) -> float:
        return self.evidence.min_score

    @property
    def min_best(self) -> float:
        return self.evidence.min_best

    @property
    def words_lead(self) -> bool:
        return self.evidence.words_lead

    def doubting_meaning(self) -> Auto:
        """Little is enough to put in order what words cannot tell apart, or do not find."""
        return replace(self, trust=Trust(*(_VAGUE * share for share in self.trust)))

    def __call__(
        self, rankings: Sequence[Ranking], around: CandidateContext = NOWHERE
    ) -> list[Fused]:
        rows = frozenset(hit.row for ranking in rankings for hit in ranking.hits)
        around = around if around.best else around._replace(best=rows)
        weights = self._weights(rankings, around)
        scales = [_Scale.of(ranking, around) for ranking in rankings if ranking.hits]
        outcomes = fuse({row: tuple(_parts(row, scales, weights)) for row in rows})
        return self.rules.over(outcomes, around)

    def vary(self, outcomes: Sequence[Fused], around: CandidateContext) -> list[Fused]:
        return self.rules.vary(outcomes, around)

    def _weights(self, rankings: Sequence[Ranking], around: CandidateContext) -> dict[str, float]:
        code = len(around.best & around.code) / (len(around.best) or 1)
        prose, all_code = self.trust
        meaning = prose + (all_code - prose) * code
        known = {"semantic": meaning, **dict.fromkeys(KEYWORD, 1.0 - meaning)}
        present = [r.signal for r in rankings if any(hit.row in around.best for hit in r.hits)]
        relevance = shares(known, [signal for signal in present if signal in known])
        return {**relevance, "activation": self.use}


@dataclass(frozen=True, slots=True)
class _Scale:
    """One signal's scores, in standard deviations above the least of the candidates."""

    signal: str
    ceiling: float
    hits: Mapping[int, Hit]
    values: Mapping[int, float]
    least: float
    deviation: float

    @classmethod
    def of(cls, ranking: Ranking, around: CandidateContext) -> _Scale:
        signal, ceiling = ranking.signal, ranking.ceiling or 1.0
        hits = {hit.row: hit for hit in ranking.hits}
        values = {row: hit.score for row, hit in hits.items()}
        if signal == "activation":
            values = _by_file(values, around)
        among = [values.get(row, 0.0) for row in around.best] or [0.0]
        mean = fsum(among) / len(among)
        deviation = sqrt(fsum((value - mean) ** 2 for value in among) / len(among))
        if deviation > 1e-9 * abs(mean):
            return cls(signal, ceiling, hits, values, min(among), deviation)
        # One alone, or all alike: they stand out from nothing at all.
        return cls(signal, ceiling, hits, values, 0.0, abs(mean) / 2.0 or ceiling)

    def part(self, row: int, weight: float) -> Contribution:
        """What is told as comparable is the share of the ceiling: it means the same everywhere."""
        _, raw, rank = self.hits.get(row, (row, 0.0, 0))
        value = weight * self._stands_out(self.values[row])
        return Contribution(self.signal, rank, raw, within(raw / self.ceiling), value)

    def _stands_out(self, value: float) -> float:
        if value < self.least:
            return _BEYOND * max(value, 0.0) / self.least if self.least > 0.0 else 0.0
        above = (value - self.least) / self.deviation
        counted = min(above, _USED) if self.signal == "activation" else above
        return counted / _DEVIATIONS + (_BEYOND if self.least > 0.0 else 0.0)


def _by_file(uses: Mapping[int, float], around: CandidateContext) -> dict[int, float]:
    """Who works on a file is interested in all of it: each chunk has the most that any has."""
    most: dict[str, float] = {}
    for row in around.best:
        home = around.homes.get(row, "")
        most[home] = max(most.get(home, 0.0), uses.get(row, 0.0))
    shared = {row: most.get(home, 0.0) for row, home in around.homes.items() if home}
    return {**uses, **{row: max(use, uses.get(row, 0.0)) for row, use in shared.items() if use}}


def _parts(row: int, scales: Sequence[_Scale], weights: Mapping[str, float]) -> list[Contribution]:
    """A chunk that a signal has nothing on has nothing from it, not less."""
    return [
        scale.part(row, weights.get(scale.signal, 0.0)) for scale in scales if row in scale.values
    ]
