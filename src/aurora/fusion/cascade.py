"""Keyword first; meaning fills up where words find too little (seed 002).

What words find comes before everything that only meaning finds, so it does not matter how many
results "too little" is: the fill-ups are simply last. Wins when words are right almost always;
costs nothing while they find enough, for then meaning need not be asked at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aurora.fusion.base import WORDS_AND_MEANING, fuse, keyword_ranking, within
from aurora.types import Contribution, Fused, Ranking

_BEHIND = 0.499  # a perfect fill-up is still behind the faintest keyword hit


@dataclass(frozen=True, slots=True)
class Cascade:
    """Keyword scores lie in [½, 1], those of the fill-ups in [0, ½)."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset(("semantic",))

    name: str = "cascade"
    min_score: float = 0.0
    min_best: float = 0.0
    words_lead: bool = False

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
