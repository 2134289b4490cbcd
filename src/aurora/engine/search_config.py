"""The settings of a search, as the retriever takes them."""

from __future__ import annotations

from aurora.config import LoadedSettings
from aurora.embeddings.registry import share_of, trust_of
from aurora.fusion.auto import Trust
from aurora.retrieval.config import HybridConfig
from aurora.types import Mode, Rerank

_STAGE2 = "search.hybrid.stage2_weights."


def make_config(loaded: LoadedSettings, *, embedder: str) -> HybridConfig:
    """The search settings. `embedder` is the PROVIDER/MODEL of the memory's vectors: its own
    weights apply where the settings set none."""
    search = loaded.settings.search
    weights, stage2 = search.hybrid.weights, search.hybrid.stage2_weights
    bm25, semantic, activation = weights.bm25, weights.semantic, weights.activation
    if any(origin.startswith(_STAGE2) for origin in loaded.origins):  # the two-stage formula
        bm25, semantic, activation = 0.0, stage2.semantic, stage2.activation
    is_set = loaded.origins.keys().__contains__
    has_alpha = is_set("search.weighted.semantic")
    own, auto = trust_of(embedder), search.auto
    return HybridConfig(
        k1=search.bm25.k1,
        b=search.bm25.b,
        idf=search.bm25.idf,
        keyword=search.keyword,
        mode=Mode(search.mode),
        # Only the weighted fusion uses this weight: setting it selects that fusion.
        fusion="weighted" if has_alpha and not is_set("search.fusion") else search.fusion,
        stage1_top_k=search.hybrid.stage1_top_k,
        bm25_weight=bm25,
        semantic_weight=semantic,
        activation_weight=activation,
        hybrid_search_alpha=search.weighted.semantic if has_alpha else share_of(embedder),
        nudge=search.weighted.activation,
        trust=Trust(
            auto.prose if is_set("search.auto.prose") else own.prose,
            auto.code if is_set("search.auto.code") else own.code,
        ),
        use=auto.activation,
        min_score=search.min_score,
        half_life=search.recency.half_life,
        rrf_k=search.rrf.k,
        rerank=Rerank(search.rerank.by),
        rerank_if_unsure=search.rerank.when == "unsure",
        expand=search.expand,
    )
