"""Whether a search is sure of its first result: then a second look has little to mend."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from aurora.signals.exact import ASSUMED
from aurora.types import SearchResult

PLACES = 10  # the first, and those that it is compared with
SURE = 0.4  # of the first score; measured: see docs/concepts/ranking.md


def is_sure(results: Sequence[SearchResult]) -> bool:
    """A definition asked for by name leads, or the first stands far above the mean of the next.

    Relative to its score, so that it holds for every fusion.
    """
    if len(results) < 2 or leads_by_name(results):
        return bool(results)  # one alone has nothing to be compared with
    first, *others = [one.score for one in results[:PLACES]]
    return first - fsum(others) / len(others) > SURE * first


def leads_by_name(results: Sequence[SearchResult]) -> bool:
    """Whether the first is a definition that was asked for by its name."""
    return any(part.signal == "exact" and part.raw >= ASSUMED for part in results[0].contributions)
