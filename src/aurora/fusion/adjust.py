"""What happens to a fused order, whichever fusion made it: old notes fade, definitions lead."""

from __future__ import annotations

from collections.abc import Sequence

from aurora.fusion.base import in_order, total
from aurora.types import Contribution, Fused, Ranking

# The share of a definition in a score. A chunk that is what was asked for has at least
# 0.6 × 0.8, any other at most 0.4: the definition is before everything else.
DEFINITION_SHARE = 0.6


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
    parts = (*outcome.contributions, loss)
    return Fused(outcome.row, total(parts), parts)


def lead(outcomes: Sequence[Fused], exact: Ranking) -> list[Fused]:
    """Put the definitions that were asked for first; without any, nothing changes."""
    if not exact.hits:
        return list(outcomes)
    found = {outcome.row: outcome for outcome in outcomes}
    levels = {hit.row: hit for hit in exact.hits}
    led = []
    for row in {**found, **levels}:
        before = found[row].contributions if row in found else ()
        parts = [part._replace(value=part.value * (1.0 - DEFINITION_SHARE)) for part in before]
        if row in levels:
            _, level, rank = levels[row]
            parts.append(Contribution("exact", rank, level, level, DEFINITION_SHARE * level))
        led.append(Fused(row, total(parts), tuple(parts)))
    return in_order(led)
