"""What happens to a fused order, whichever fusion made it: old notes fade, definitions lead."""

from __future__ import annotations

from collections.abc import Sequence

from aurora.fusion.base import in_order
from aurora.signals.exact import ASSUMED
from aurora.types import Contribution, Fused, Hit, Ranking

# The share of a definition in a score. A chunk that is what was asked for has at least
# 0.6 × 0.8, any other at most 0.4: the definition is before everything else.
DEFINITION_SHARE = 0.6
# The share of a mere name where a definition was found as well: 0.1 × 0.8 + 0.4 is still behind.
_BESIDE_A_DEFINITION = 0.1


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
    """Put the definitions that were asked for first; without any, nothing changes."""
    if not exact.hits:
        return list(outcomes)
    found = {outcome.row: outcome for outcome in outcomes}
    levels = {hit.row: hit for hit in exact.hits}
    beside = _BESIDE_A_DEFINITION if exact.hits[0].score >= ASSUMED else DEFINITION_SHARE
    return in_order(
        _led(found.get(row, Fused(row, 0.0, ())), levels.get(row), beside=beside)
        for row in {**found, **levels}
    )


def _led(outcome: Fused, hit: Hit | None, *, beside: float) -> Fused:
    """The score itself is scaled, not summed up anew: what was alike before stays alike."""
    rest = 1.0 - DEFINITION_SHARE
    score = outcome.score * rest
    parts = [part._replace(value=part.value * rest) for part in outcome.contributions]
    if hit is not None:
        value = (DEFINITION_SHARE if hit.score >= ASSUMED else beside) * hit.score
        score += value
        parts.append(Contribution("exact", hit.rank, hit.score, hit.score, value))
    return Fused(outcome.row, score, tuple(parts))
