"""What `auto` knows beside words and meaning. Each rule adds a part of its own to a score.

Every rule is measured by the best chunks of the whole memory, so that a filter changes no score.
A strength of 0 turns a rule off, and a variety of 1.

What happens to a fused order, whichever fusion made it: old notes fade, definitions lead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import fsum

from aurora.fusion.base import CandidateContext, in_order, scaled
from aurora.signals.exact import ASSUMED, NAMED
from aurora.types import Contribution, Fused, Ranking


@dataclass(frozen=True, slots=True)
class Rules:
    """How strong each is."""

    aside: float = 0.1  # taken from tests, examples and the like, but no more than half
    file: float = 0.35  # added to all of the file that has most of what was found; less to others
    context: float = 0.35  # of what the turns before and after have
    variety: float = 0.85  # what is left of each further chunk of a file

    def over(self, outcomes: Sequence[Fused], around: CandidateContext) -> list[Fused]:
        middle = fsum(one.score for one in outcomes if one.row in around.best) / (
            len(around.best) or 1
        )
        outcomes = _add("aside", outcomes, self._aside(outcomes, around))
        found = {
            one.row: max(one.score - middle, 0.0) for one in outcomes if one.row in around.best
        }
        outcomes = _add("file", outcomes, self._files(found, around))
        outcomes = _add("context", outcomes, self._contexts(found, around))
        return _at_most_1(outcomes, around.best)

    def _aside(self, outcomes: Iterable[Fused], around: CandidateContext) -> dict[int, float]:
        """Of what has little, half is left: among themselves they stay in order."""
        return {
            one.row: -min(self.aside, one.score / 2.0)
            for one in outcomes
            if one.row in around.aside
        }

    def _files(self, found: Mapping[int, float], around: CandidateContext) -> dict[int, float]:
        """A file that much is found of is more likely meant than one with a single good line."""
        totals: defaultdict[str, float] = defaultdict(float)
        chunks: defaultdict[str, int] = defaultdict(int)
        for row, score in found.items():
            home = around.homes.get(row, "") if row in around.code else ""
            totals[home] += score
            chunks[home] += 1
        totals.pop("", None)  # prose: a long document has more that is found, and says no more
        several = {home: total for home, total in totals.items() if chunks[home] > 1}
        most = max(totals.values(), default=0.0) or 1.0
        each = self.file * max(found.values(), default=0.0) / most
        return {row: each * several[home] for row, home in around.homes.items() if home in several}

    def _contexts(self, found: Mapping[int, float], around: CandidateContext) -> dict[int, float]:
        """An answer often shares its words with what was said right before or after it."""
        return {
            row: self.context * fsum(found.get(one, 0.0) for one in beside)
            for row, beside in around.beside.items()
        }

    def vary(self, outcomes: Sequence[Fused], around: CandidateContext) -> list[Fused]:
        """Ten results are not one file, if there are others. The best of each stays where it is,
        and so does what was asked for by its name, however often a file has that."""
        seen: defaultdict[str, int] = defaultdict(int)
        lost: dict[int, float] = {}
        for one in outcomes:
            home = around.homes.get(one.row, "")
            if home and one.score > 0.0 and not _is_named(one):
                lost[one.row] = (self.variety ** seen[home] - 1.0) * one.score
            seen[home] += one.row in around.best
        return _add("variety", outcomes, lost)


RULES = Rules()


def _add(signal: str, outcomes: Iterable[Fused], parts: Mapping[int, float]) -> list[Fused]:
    """Scores with one more part; who has none keeps what it has."""
    return in_order(
        Fused(
            one.row,
            one.score + part,
            (*one.contributions, Contribution(signal, 0, part, part, part)),
        )
        if (part := parts.get(one.row, 0.0))
        else one
        for one in outcomes
    )


def _is_named(outcome: Fused) -> bool:
    return any(part.signal == "exact" for part in outcome.contributions)


def _at_most_1(outcomes: Sequence[Fused], best: Set[int]) -> list[Fused]:
    highest = max((one.score for one in outcomes if one.row in best), default=0.0)
    return in_order(scaled(one, 1.0 / max(highest, one.score, 1.0)) for one in outcomes)


# The share of a name in a score. Where there is a definition, levels are 0.25 apart and the rest is
# 0.2: as spelt is before otherwise spelt, that before assumed, and any of them before all others.
DEFINITION_SHARE = 0.8
NAMED_SHARE = 0.3  # where there is only a mere name: it helps, and does not lead


def fade(outcomes: Sequence[Fused], recency: Ranking) -> list[Fused]:
    """Multiply each score by its chunk's recency (seed 001); a chunk without a date keeps it."""
    factors = {hit.row: hit for hit in recency.hits}
    return in_order(
        _faded(outcome, factors[outcome.row].score, factors[outcome.row].rank)
        if outcome.row in factors
        else outcome
        for outcome in outcomes
    )


def _faded(outcome: Fused, factor: float, rank: int) -> Fused:
    loss = Contribution("recency", rank, factor, factor, (factor - 1.0) * outcome.score)
    return Fused(outcome.row, outcome.score + loss.value, (*outcome.contributions, loss))


def lead(outcomes: Sequence[Fused], exact: Ranking) -> list[Fused]:
    """Put the definitions that were asked for first; without any name, nothing changes."""
    if not exact.hits:
        return list(outcomes)
    defined = exact.hits[0].score >= ASSUMED
    share, weight = (
        (DEFINITION_SHARE, DEFINITION_SHARE) if defined else (NAMED_SHARE, NAMED_SHARE / NAMED)
    )
    found = {outcome.row: scaled(outcome, 1.0 - share) for outcome in outcomes}
    for hit in exact.hits:
        outcome = found.get(hit.row, Fused(hit.row, 0.0, ()))
        name = Contribution("exact", hit.rank, hit.score, hit.score, weight * hit.score)
        parts = (*outcome.contributions, name)
        found[hit.row] = Fused(hit.row, outcome.score + name.value, parts)
    return in_order(found.values())
