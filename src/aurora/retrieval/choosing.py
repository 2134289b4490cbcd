"""From the signals' answers to one order: collect candidates, fuse, adjust, filter.

The candidates never depend on how many results are wanted. Where those of the first round are not
enough, further rounds look deeper, and what they find comes after what was found before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from aurora.fusion.adjust import fade, lead
from aurora.fusion.base import Fusion
from aurora.signals.base import Answer, ranking_of
from aurora.types import Fused, Ranking

_DEEPER = 10  # times as many candidates in the next round
_JUDGED_APART = ("exact", "recency")  # they change what a fusion made of the others


class Choice:
    """One question's answers, and how to make one order of them."""

    def __init__(
        self,
        answers: Mapping[str, Answer],
        fusion: Fusion,
        *,
        pool: int,
        min_score: float,
        eligible: Sequence[int] | None,
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
        pool, before, allowed = self._pool, -1, self._allowed()
        while True:
            rows = self._candidates(pool)
            if len(rows) <= before:
                return
            outcomes = self._fuse(rows)
            yield outcomes if allowed is None else [o for o in outcomes if o.row in allowed]
            if len(rows) < pool or len(outcomes) < len(rows):  # all there is, or all worth showing
                return
            pool, before = pool * _DEEPER, len(rows)

    def _allowed(self) -> Collection[int] | None:
        return None if self._eligible is None else frozenset(self._eligible)

    def _candidates(self, pool: int) -> Collection[int]:
        """The best of everything, and the best of what a filter lets through.

        The former are needed even where none of them passes: they are what scores are measured by.
        """
        rows: dict[int, None] = {}
        proposers = [name for name in self._answers if name in self._fusion.proposers]
        for name in proposers:
            rows.update(dict.fromkeys(self._best(name, pool)))
        if not rows and "semantic" in self._answers:
            rows.update(dict.fromkeys(self._best("semantic", pool)))
        if "exact" in self._answers:
            rows.update(dict.fromkeys(self._best("exact", pool)))
        return rows

    def _best(self, name: str, pool: int) -> list[int]:
        answer = self._answers[name]
        best = answer.best(pool)
        return best if self._eligible is None else best + answer.best(pool, among=self._eligible)

    def _fuse(self, rows: Collection[int]) -> list[Fused]:
        rankings = {name: ranking_of(name, answer, rows) for name, answer in self._answers.items()}
        self._remember(rankings)
        outcomes = self._fusion([rankings[n] for n in rankings if n not in _JUDGED_APART])
        outcomes = [outcome for outcome in outcomes if outcome.score >= self._min_score]
        if "recency" in rankings:
            outcomes = fade(outcomes, rankings["recency"])
        return lead(outcomes, rankings["exact"]) if "exact" in rankings else outcomes

    def _remember(self, rankings: Mapping[str, Ranking]) -> None:
        if not self.took_part:
            self.took_part = tuple(name for name, ranking in rankings.items() if ranking.hits)
