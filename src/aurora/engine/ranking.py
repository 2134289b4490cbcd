"""What the settings say of a ranking, as the retriever takes it."""

from __future__ import annotations

from aurora.config.layers import LoadedSettings
from aurora.retrieval.config import HybridConfig
from aurora.types import Mode, Rerank

_STAGE2 = "search.hybrid.stage2_weights."


def make_config(loaded: LoadedSettings, *, share: float) -> HybridConfig:
    """Settings as the retriever takes them; `share` is meaning's, where they do not say."""
    search = loaded.settings.search
    weights = search.hybrid.weights
    bm25, semantic, activation = weights.bm25, weights.semantic, weights.activation
    stage2 = search.hybrid.stage2_weights
    if any(origin.startswith(_STAGE2) for origin in loaded.origins):  # FR-9: then FR-2.1 holds
        bm25, semantic, activation = 0.0, stage2.semantic, stage2.activation
    is_set = "search.weighted.semantic" in loaded.origins
    return HybridConfig(
        k1=search.bm25.k1,
        b=search.bm25.b,
        idf=search.bm25.idf,
        keyword=search.keyword,
        mode=Mode(search.mode),
        fusion=search.fusion,
        stage1_top_k=search.hybrid.stage1_top_k,
        bm25_weight=bm25,
        semantic_weight=semantic,
        activation_weight=activation,
        hybrid_search_alpha=search.weighted.semantic if is_set else share,
        nudge=search.weighted.activation,
        min_score=search.min_score,
        half_life=search.recency.half_life,
        rrf_k=search.rrf.k,
        rerank=Rerank(search.rerank.by),
        rerank_if_unsure=search.rerank.when == "unsure",
        expand=search.expand,
    )
