"""What happens to a fused order, whichever fusion made it: old notes fade, definitions lead."""

from __future__ import annotations

from collections.abc import Sequence

from aurora.fusion.base import in_order, scaled
from aurora.signals.exact import ASSUMED, NAMED
from aurora.types import Contribution, Fused, Ranking

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
