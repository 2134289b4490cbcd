"""Keyword hits first; the semantic signal fills up where there are too few (seed 002).

Keyword hits come before all chunks that only the semantic signal finds. Wins when keywords are
almost always right. While they find enough, the semantic signal is not computed at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aurora.fusion.base import Order, Part, SimpleFusion, by_row, fuse, keyword_ranking, within
from aurora.types import Ranking

_BEHIND = 0.499  # a perfect fill-up still ranks below the faintest keyword hit


@dataclass(frozen=True, slots=True)
class Cascade(SimpleFusion):
    """Scores of keyword hits lie in [½, 1], those of fill-ups in [0, ½)."""

    fill_ups: ClassVar[frozenset[str]] = frozenset(("semantic",))

    name: str = "cascade"

    def __call__(self, rankings: Sequence[Ranking]) -> Order:
        first = keyword_ranking(rankings)
        parts: list[Part] = []
        found: set[int] = set()
        for ranking in sorted(rankings, key=lambda ranking: ranking is not first):
            part = _part(ranking, filling=ranking is not first)
            values = {row: value for row, value in part.values.items() if row not in found}
            parts.append(part._replace(values=values))
            found.update(values)
        return fuse(parts)


def _part(ranking: Ranking, *, filling: bool) -> Part:
    def normalised(score: float) -> float:
        return within(score / (ranking.ceiling or 1.0))

    values = {
        row: _BEHIND * normalised(score) if filling else (1.0 + normalised(score)) / 2.0
        for row, score, _ in ranking.hits
    }
    return Part(ranking.signal, values, by_row(ranking), lambda hit: normalised(hit.score))
