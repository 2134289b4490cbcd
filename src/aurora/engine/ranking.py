"""What the settings say of a ranking, as the retriever takes it."""

from __future__ import annotations

from aurora.config.layers import LoadedSettings
from aurora.embeddings.registry import share_of, trust_of
from aurora.fusion.auto import Trust
from aurora.retrieval.config import HybridConfig
from aurora.types import Mode, Rerank

_STAGE2 = "search.hybrid.stage2_weights."


def make_config(loaded: LoadedSettings, *, embedder: str) -> HybridConfig:
    """Settings as the retriever takes them. Where they do not say what meaning's share is, it is
    that of vectors by PROVIDER/MODEL."""
    search = loaded.settings.search
    weights = search.hybrid.weights
    bm25, semantic, activation = weights.bm25, weights.semantic, weights.activation
    stage2 = search.hybrid.stage2_weights
    if any(origin.startswith(_STAGE2) for origin in loaded.origins):  # FR-9: then FR-2.1 holds
        bm25, semantic, activation = 0.0, stage2.semantic, stage2.activation
    is_set = loaded.origins.keys().__contains__
    own, wanted = trust_of(embedder), search.auto
    # Who sets the share of seeds 001 and 004 means the fusion that has it.
    by_alpha = is_set("search.weighted.semantic") and not is_set("search.fusion")
    return HybridConfig(
        k1=search.bm25.k1,
        b=search.bm25.b,
        idf=search.bm25.idf,
        keyword=search.keyword,
        mode=Mode(search.mode),
        fusion="weighted" if by_alpha else search.fusion,
        stage1_top_k=search.hybrid.stage1_top_k,
        bm25_weight=bm25,
        semantic_weight=semantic,
        activation_weight=activation,
        hybrid_search_alpha=search.weighted.semantic
        if is_set("search.weighted.semantic")
        else share_of(embedder),
        nudge=search.weighted.activation,
        trust=Trust(
            wanted.prose if is_set("search.auto.prose") else own.prose,
            wanted.code if is_set("search.auto.code") else own.code,
        ),
        use=search.auto.activation,
        min_score=search.min_score,
        half_life=search.recency.half_life,
        rrf_k=search.rrf.k,
        rerank=Rerank(search.rerank.by),
        rerank_if_unsure=search.rerank.when == "unsure",
        expand=search.expand,
    )
