"""From the signals' answers to one order: collect candidates, fuse, adjust, filter.

The candidates never depend on how many results are wanted. Where those of the first round are not
enough, further rounds look deeper, and what they find comes after what was found before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aurora.fusion.adjust import fade, lead
from aurora.fusion.base import Fusion
from aurora.signals.base import Answer, ranking_of
from aurora.types import Fused, Ranking

_DEEPER = 10  # times as many candidates in the next round
_JUDGED_APART = ("exact", "recency")  # they change what a fusion made of the others


@dataclass(slots=True)
class _Candidates:
    rows: dict[int, None] = field(default_factory=dict)
    more: bool = False  # a signal has as many as it was asked for, and may have more


class Choice:
    """One question's answers, and how to make one order of them."""

    def __init__(
        self,
        answers: Mapping[str, Answer],
        fusion: Fusion,
        *,
        pool: int,
        min_score: float | None = None,
        eligible: Sequence[int] | None = None,
    ) -> None:
        self._answers, self._fusion, self._pool = answers, fusion, pool
        self._min_score, self._eligible = min_score, eligible
        self.took_part: tuple[str, ...] = ()

    def first(self, limit: int) -> list[Fused]:
        """The best, so many if there are."""
        found: dict[int, Fused] = {}
        for outcomes in self._rounds():
            for outcome in outcomes:
                found.setdefault(outcome.row, outcome)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    def _rounds(self) -> Iterator[list[Fused]]:
        pool, allowed = self._pool, None if self._eligible is None else frozenset(self._eligible)
        while True:
            candidates = self._candidates(pool)
            outcomes = self._fuse(candidates.rows)
            yield outcomes if allowed is None else [o for o in outcomes if o.row in allowed]
            if not candidates.more or len(outcomes) < len(candidates.rows):  # or not worth showing
                return
            pool *= _DEEPER

    def _candidates(self, pool: int) -> _Candidates:
        """The best of everything, and the best of what a filter lets through.

        The former are needed even where none of them passes: they are what scores are measured by.
        """
        found = _Candidates()
        for name in self._answers:
            if name in self._fusion.proposers:
                self._propose(name, pool, found)
        if not found.rows and "semantic" in self._answers:
            self._propose("semantic", pool, found)
        if "exact" in self._answers:
            found.rows.update(dict.fromkeys(self._answers["exact"].best(pool)))
        return found

    def _propose(self, name: str, pool: int, found: _Candidates) -> None:
        best = passing = self._answers[name].best(pool)
        if self._eligible is not None:
            passing = self._answers[name].best(pool, among=self._eligible)
        found.rows.update(dict.fromkeys([*best, *passing]))
        found.more |= len(passing) == pool

    def _fuse(self, rows: Collection[int]) -> list[Fused]:
        rankings = {name: ranking_of(name, answer, rows) for name, answer in self._answers.items()}
        self._remember(rankings)
        outcomes = self._fusion([rankings[n] for n in rankings if n not in _JUDGED_APART])
        outcomes = self._worth_showing(outcomes)
        if "recency" in rankings:
            outcomes = fade(outcomes, rankings["recency"])
        return lead(outcomes, rankings["exact"]) if "exact" in rankings else outcomes

    def _worth_showing(self, outcomes: list[Fused]) -> list[Fused]:
        """Judged before notes fade: an old one comes late, but it is not lost."""
        if self._min_score is None and "semantic" not in self._answers:
            return outcomes if outcomes and outcomes[0].score >= self._fusion.min_best else []
        least = self._fusion.min_score if self._min_score is None else self._min_score
        return [outcome for outcome in outcomes if outcome.score >= least]

    def _remember(self, rankings: Mapping[str, Ranking]) -> None:
        if not self.took_part:
            self.took_part = tuple(name for name, ranking in rankings.items() if ranking.hits)
