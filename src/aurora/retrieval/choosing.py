"""From the signals' answers to one order: collect candidates, fuse, adjust, filter.

The candidates never depend on how many results are wanted. Where those of the first round are not
enough, further rounds look deeper, and what they find comes after what was found before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from aurora.fusion.adjust import fade, lead
from aurora.fusion.base import WORDS_AND_MEANING, Fusion, PlacedFusion, keyword_ranking
from aurora.fusion.surroundings import Surroundings
from aurora.signals.base import Answer, WordedAnswer, ranking_of
from aurora.terms import is_joining
from aurora.types import Fused, Ranking

_DEEPER = 10  # times as many candidates in the next round
_COVERED = 0.5  # of the words asked for: a chunk that has so many is an answer, however common
_SEVERAL = 3  # words that say something: of a long question, enough to be an answer
_JUDGED_APART = ("exact", "recency")  # they change what a fusion made of the others

# Where candidates stand, and by which of them all are measured.
LookAround = Callable[[Collection[int], frozenset[int]], Surroundings]


class Choice:
    """One question's answers, and how to make one order of them."""

    def __init__(
        self,
        answers: Mapping[str, Answer],
        fusion: Fusion,
        *,
        pool: int,
        look_around: LookAround,
        min_score: float | None = None,
        eligible: Sequence[int] | None = None,
    ) -> None:
        self._answers, self._fusion, self._pool = answers, fusion, pool
        self._look_around = look_around
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
        pool, allowed = self._pool, self._allowed()
        while True:
            best, passing = self._candidates(pool, without=self._fusion.fill_ups)
            if self._fusion.fill_ups and all(len(rows) < pool for rows in passing.values()):
                best, passing = self._candidates(pool)
            outcomes = self._fuse(dict.fromkeys(chain(*best.values(), *passing.values())))
            yield outcomes if allowed is None else [o for o in outcomes if o.row in allowed]
            shown = {outcome.row for outcome in outcomes}
            # Nobody has more to offer, or the last that was offered is not worth showing.
            if not any(len(rows) >= pool and rows[-1] in shown for rows in passing.values()):
                return
            pool *= _DEEPER

    @cached_property
    def _measure(self) -> frozenset[int]:
        """The first of words and of meaning: the same in every round, and under every filter."""
        return frozenset(chain(*self._best(WORDS_AND_MEANING, self._pool).values()))

    def _allowed(self) -> Collection[int] | None:
        return None if self._eligible is None else frozenset(self._eligible)

    def _candidates(
        self, pool: int, *, without: Collection[str] = ()
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """The best of everything, by signal, and the best of what a filter lets through.

        The first are needed even where no filter lets them through: scores are measured by them.
        Fill-ups have no place before the others are at their end, however many are wanted.
        """
        best = self._proposals(pool, without)
        return best, best if self._eligible is None else self._passing(best, pool)

    def _proposals(self, pool: int, without: Collection[str]) -> dict[str, list[int]]:
        proposals = self._best(self._fusion.proposers.difference(without), pool)
        if not any(proposals.values()):
            proposals = self._best(("semantic",), pool)
        return {**proposals, **self._best(("exact",), pool)}

    def _best(self, names: Collection[str], pool: int) -> dict[str, list[int]]:
        return {name: one.best(pool) for name, one in self._answers.items() if name in names}

    def _passing(self, names: Iterable[str], pool: int) -> dict[str, list[int]]:
        """The best of what a filter lets through."""
        return {name: self._answers[name].best(pool, among=self._eligible) for name in names}

    def _fuse(self, rows: Collection[int]) -> list[Fused]:
        """Those worth showing, best first."""
        rankings = {name: ranking_of(name, answer, rows) for name, answer in self._answers.items()}
        self._remember(rankings)
        judging = [r for n, r in rankings.items() if n not in _JUDGED_APART]
        fusion = self._fusion
        if not isinstance(fusion, PlacedFusion):
            return _adjusted(self._worth_showing(fusion(judging), rankings), rankings)
        around = self._look_around(rows, self._measure)
        shown = {one.row for one in self._worth_showing(fusion.evidence(judging), rankings)}
        shown |= _rows(rankings.get("exact"))
        outcomes = fusion.vary(_adjusted(fusion(judging, around), rankings), around)
        return [one for one in outcomes if one.row in shown]

    def _worth_showing(self, outcomes: list[Fused], rankings: Mapping[str, Ranking]) -> list[Fused]:
        """Judged before notes fade: an old one comes late, but it is not lost.

        A definition stays with all that the signals say of it: no cut changes its score. And where
        words have more of a say than meaning, so does what they found: a small model beside them
        must not cost an answer.
        """
        safe = _rows(rankings.get("exact"))
        if self._min_score is None and self._fusion.words_lead:
            found = _rows(keyword_ranking(list(rankings.values())))
            first = next((one for one in outcomes if one.row in found), None)
            safe |= found if first is not None and self._is_an_answer(first) else set()
        least = self._least(outcomes)
        return [one for one in outcomes if one.score >= least or one.row in safe]

    def _least(self, outcomes: list[Fused]) -> float:
        if self._min_score is not None:
            return self._min_score
        if "semantic" in self._answers:
            return self._fusion.min_score
        return 0.0 if outcomes and self._is_an_answer(outcomes[0]) else math.inf

    def _is_an_answer(self, best: Fused) -> bool:
        """Not when it has only words that every other chunk has, and few of those asked for."""
        if best.score >= self._fusion.min_best:
            return True
        words = self._answers.get("bm25")
        if not isinstance(words, WordedAnswer) or words.coverage(best.row) >= _COVERED:
            return True
        return len([word for word in words.terms(best.row) if not is_joining(word)]) >= _SEVERAL

    def _remember(self, rankings: Mapping[str, Ranking]) -> None:
        took = {*self.took_part, *(name for name, one in rankings.items() if one.hits)}
        self.took_part = tuple(name for name in rankings if name in took)


def _adjusted(outcomes: list[Fused], rankings: Mapping[str, Ranking]) -> list[Fused]:
    if "recency" in rankings:
        outcomes = fade(outcomes, rankings["recency"])
    return lead(outcomes, rankings["exact"]) if "exact" in rankings else outcomes


def _rows(ranking: Ranking | None) -> set[int]:
    return {hit.row for hit in ranking.hits} if ranking is not None else set()
