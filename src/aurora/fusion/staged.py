"""Two stages: keywords select the candidates, all signals order them (seeds 000 and 003).

    hybrid = w_b · bm25 + w_s · semantic + w_a · activation

over the best `top_k` by keyword, each signal normalised by the lowest and the highest score among
them. Wins when a good answer always shares a word with the question. Finds no other answers, and
scores of different queries cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from aurora.fusion.base import (
    KEYWORD,
    WORDS_AND_MEANING,
    Order,
    Part,
    SimpleFusion,
    by_row,
    fuse,
    keyword_ranking,
    shares,
    within,
)
from aurora.fusion.weighted import Weighted
from aurora.types import Hit, Ranking


@dataclass(frozen=True, slots=True)
class Staged(SimpleFusion):
    """Weights sum to 1. Chunks that only a filter has brought in are normalised alike."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING | {"activation"}
    proposers: ClassVar[frozenset[str]] = frozenset(KEYWORD)

    weights: Mapping[str, float] = field(
        default_factory=lambda: {"bm25": 0.3, "semantic": 0.4, "activation": 0.3}
    )
    top_k: int = 100
    name: str = "staged"

    def __call__(self, rankings: Sequence[Ranking]) -> Order:
        keyword = keyword_ranking(rankings)
        if keyword is None or not keyword.hits:  # no second stage
            return Weighted()([ranking for ranking in rankings if ranking.signal == "semantic"])
        first_stage = [hit.row for hit in keyword.hits[: self.top_k]]
        scales = [_Scale.of(ranking, first_stage) for ranking in rankings]
        scales = [scale for scale in scales if scale.signal in KEYWORD or scale.high > 0.0]
        weights = {**dict.fromkeys(KEYWORD, self.weights.get("bm25", 0.0)), **self.weights}
        weights = shares(weights, [scale.signal for scale in scales])
        places = {hit.row: place for place, hit in enumerate(keyword.hits)}
        order = fuse([scale.part(places, weights[scale.signal]) for scale in scales])
        # All chunks below the first stage may have 0: then the keyword order decides.
        rows = sorted(order.rows, key=lambda row: (-order.scores[row], places[row]))
        return order.with_rows(rows)


@dataclass(frozen=True, slots=True)
class _Scale:
    """One signal's scores, relative to the lowest and the highest of the first stage."""

    signal: str
    hits: Mapping[int, Hit]
    low: float
    high: float

    @classmethod
    def of(cls, ranking: Ranking, first_stage: Sequence[int]) -> _Scale:
        hits = by_row(ranking)
        scores = [hits[row].score if row in hits else 0.0 for row in first_stage]
        return cls(ranking.signal, hits, min(scores), max(scores))

    def part(self, rows: Iterable[int], weight: float) -> Part:
        raw = {row: self.hits[row].score if row in self.hits else 0.0 for row in rows}
        values = {row: weight * self._normalised(score) for row, score in raw.items()}
        return Part(self.signal, values, self.hits, lambda hit: self._normalised(hit.score))

    def _normalised(self, score: float) -> float:
        if self.high == self.low:  # a single candidate, or equal scores
            return 1.0 if score >= self.high else 0.0
        return within((score - self.low) / (self.high - self.low))
