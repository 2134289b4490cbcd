"""Keyword hits first; the semantic signal fills up where there are too few (seed 002).

Keyword hits come before all chunks that only the semantic signal finds. Wins when keywords are
almost always right. While they find enough, the semantic signal is not computed at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aurora.fusion.base import SimpleFusion, fuse, keyword_ranking, within
from aurora.types import Contribution, Fused, Ranking

_BEHIND = 0.499  # a perfect fill-up still ranks below the faintest keyword hit


@dataclass(frozen=True, slots=True)
class Cascade(SimpleFusion):
    """Scores of keyword hits lie in [½, 1], those of fill-ups in [0, ½)."""

    fill_ups: ClassVar[frozenset[str]] = frozenset(("semantic",))

    name: str = "cascade"

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        first = keyword_ranking(rankings)
        parts: dict[int, tuple[Contribution, ...]] = {}
        for ranking in sorted(rankings, key=lambda ranking: ranking is not first):
            for row, part in _parts(ranking, filling=ranking is not first):
                parts.setdefault(row, (part,))
        return fuse(parts)


def _parts(ranking: Ranking, *, filling: bool) -> Iterator[tuple[int, Contribution]]:
    ceiling = ranking.ceiling or 1.0
    for row, score, rank in ranking.hits:
        normalised = within(score / ceiling)
        value = _BEHIND * normalised if filling else (1.0 + normalised) / 2.0
        yield row, Contribution(ranking.signal, rank, score, normalised, value)
