"""The settings of a search, and the fusions made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from aurora.errors import QueryError
from aurora.fusion.auto import OWN, Auto, Trust
from aurora.fusion.base import KEYWORD, Fusion
from aurora.quick_classes import dataclass
from aurora.retrieval.confidence import MIN_RELEVANCE
from aurora.signals.activation import HALF_LIFE
from aurora.types import Mode, Rerank

__all__ = ["HybridConfig", "Trust"]


@dataclass(frozen=True, slots=True)
class HybridConfig:
    """Names and defaults are those of the seeds; `docs/concepts/ranking.md` has the reasons.

    `bm25_weight`, `semantic_weight` and `activation_weight` are those of `staged`. In `weighted`,
    `hybrid_search_alpha` is the semantic weight, keywords have the rest, activation has `nudge`.
    """

    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"
    keyword: str = "bm25"
    mode: Mode = Mode.HYBRID
    fusion: str = "auto"
    stage1_top_k: int = 100
    bm25_weight: float = 0.3
    semantic_weight: float = 0.4
    activation_weight: float = 0.3
    hybrid_search_alpha: float = 0.7
    nudge: float = 0.05
    trust: Trust = OWN
    use: float = 0.15
    min_score: float = MIN_RELEVANCE
    half_life: float = HALF_LIFE
    rrf_k: int = 60
    rerank: Rerank = Rerank.NONE
    rerank_if_unsure: bool = False  # only when the first result is not clear
    expand: bool = False

    def __post_init__(self) -> None:
        total = self.bm25_weight + self.semantic_weight + self.activation_weight
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"Weights must sum to 1.0 (got {total:g})")
        if self.keyword not in KEYWORD:
            raise ValueError(f"keyword must be one of {', '.join(KEYWORD)}, not {self.keyword!r}")

    def make_fusion(self, name: str | None = None) -> Fusion:
        """The fusion of that name, or the configured one."""
        name = name or self.fusion
        if name.lower() not in FUSIONS:
            hint = f"the fusions are {', '.join(FUSIONS)}"
            raise QueryError(f"There is no fusion {name!r}", hint=hint)
        return FUSIONS[name.lower()](self)


def _load(fusion: str) -> Callable[..., Fusion]:
    """Import a fusion on use: a start of `aur` would pay 1 ms for each."""
    module, _, name = fusion.partition(":")
    return cast("Callable[..., Fusion]", getattr(import_module(module), name))


FUSIONS: Mapping[str, Callable[[HybridConfig], Fusion]] = {
    "auto": lambda config: Auto(config.trust, config.use),
    "staged": lambda config: _load("aurora.fusion.staged:Staged")(
        {
            "bm25": config.bm25_weight,
            "semantic": config.semantic_weight,
            "activation": config.activation_weight,
        },
        config.stage1_top_k,
    ),
    "weighted": lambda config: _load("aurora.fusion.weighted:Weighted")(
        config.hybrid_search_alpha, 1.0 - config.hybrid_search_alpha, config.nudge
    ),
    "rrf": lambda config: _load("aurora.fusion.rrf:ReciprocalRank")(config.rrf_k),
    "cascade": lambda _: _load("aurora.fusion.cascade:Cascade")(),
}
