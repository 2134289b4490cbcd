"""Seed 000's tests of the hybrid retriever, UT-HYBRID-01 to 12.

What they say of two stages holds for `staged`; the rest for every fusion.
"""

from __future__ import annotations

import pytest

from aurora.errors import QueryError
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.retriever import HybridConfig
from aurora.signals.base import Entry
from aurora.signals.bm25 import BM25Scorer
from aurora.stores.base import Store
from aurora.text import WORDS, chunk_text
from aurora.types import Chunk, Mode, Query, SearchResult
from tests.builders import NOW, make_chunk
from tests.retrieval.meaning import WordProvider, assert_weighted, remember, retriever_on

every_fusion = pytest.mark.parametrize("fusion", FUSIONS)


def corpus(size: int, *, matching: int | None = None) -> list[Chunk]:
    """The lower its number, the better a chunk matches "token"; the higher, the more "cache"."""
    matching = size if matching is None else matching
    return [
        make_chunk(
            ("token " * (matching - number) if number < matching else "")
            + "cache " * number
            + "pad " * (size - number),
            name=f"f{number}",
        )
        for number in range(size)
    ]


def raw(result: SearchResult, signal: str) -> float:
    return next((part.raw for part in result.contributions if part.signal == signal), 0.0)


def normalised(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def use(store: Store, chunks: list[Chunk]) -> None:
    """Some are used more often than others."""
    for number, chunk in enumerate(chunks):
        for _ in range(number * 7 % 5):
            store.chunks.record_access(chunk.id, NOW)


def test_ut_hybrid_01_staged_retrieval_stage_1_filtering(store: Store) -> None:
    """Stage 1 returns top-K by BM25 score: of 200 chunks exactly 100, sorted by BM25."""
    remember(store, *corpus(200))
    retriever = retriever_on(store, WordProvider(), fusion="staged", stage1_top_k=100)

    chosen = retriever.retrieve(Query("token", limit=200)).results[:100]

    by_words = retriever_on(store, mode=Mode.KEYWORD).retrieve(Query("token", limit=200)).results
    scores = [raw(result, "bm25") for result in by_words]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 200
    assert {r.chunk_id for r in chosen} == {r.chunk_id for r in by_words[:100]}


def test_ut_hybrid_02_staged_retrieval_stage_2_reranking(store: Store) -> None:
    """Stage 2 re-ranks Stage 1 candidates by semantic+activation, not BM25."""
    chunks = corpus(100)
    remember(store, *chunks)
    use(store, chunks)
    retriever = retriever_on(
        store, WordProvider(), fusion="staged",
        bm25_weight=0, semantic_weight=0.5, activation_weight=0.5,
    )  # fmt: skip

    results = retriever.retrieve(Query("which token", limit=100)).results

    assert len(results) == 100
    assert_weighted(results, semantic=0.5, activation=0.5)
    scores = [raw(result, "bm25") for result in results]
    assert scores != sorted(scores, reverse=True)


def test_ut_hybrid_03_no_bm25_normalization(store: Store) -> None:
    """BM25 scores are NOT normalized (raw scores preserved): Stage 1 candidates have them."""
    remember(store, *corpus(30))
    retriever = retriever_on(store, WordProvider(), fusion="staged")
    question = "token"  # a single word: none is near

    results = retriever.retrieve(Query(question, limit=30)).results

    own = BM25Scorer(analysis=WORDS)
    own.build_index(Entry(chunk.id, chunk_text(chunk)) for chunk in store.chunks.iter_chunks())
    expected = dict(own.rank(question, pool=30))
    assert {r.chunk_id: raw(r, "bm25") for r in results} == pytest.approx(expected)
    assert max(raw(result, "bm25") for result in results) != 1.0


def test_ut_hybrid_04_stage_2_normalization_within_candidates(store: Store) -> None:
    """Semantic/activation normalized ONLY within Stage 1 candidates, not all chunks."""
    chunks = corpus(20, matching=10)
    nearer = make_chunk("signin", name="login", path="login")  # means more, but shares no word
    remember(store, *chunks, nearer)
    use(store, chunks)
    for _ in range(50):
        store.chunks.record_access(nearer.id, NOW)

    results = (
        retriever_on(store, WordProvider(), fusion="staged")
        .retrieve(Query("token authentication"))
        .results
    )

    assert len(results) == 10
    for signal in ("semantic", "activation"):
        expected = normalised([raw(result, signal) for result in results])
        assert [result.normalised(signal) for result in results] == pytest.approx(expected)
        assert {0.0, 1.0} <= {result.normalised(signal) for result in results}


@every_fusion
def test_ut_hybrid_05_zero_bm25_matches(store: Store, fusion: str) -> None:
    """If no BM25 matches, fall back to pure semantic."""
    remember(
        store,
        make_chunk("login login of users", name="check", path="b.py"),
        make_chunk("a garden with trees", name="plant", path="b.py"),
        make_chunk("login and much else besides in here", name="enter", path="b.py"),
    )
    answer = retriever_on(store, WordProvider()).retrieve(Query("signin", fusion=fusion))
    assert [result.chunk.name for result in answer.results] == ["check", "enter"]
    assert answer.signals == ("semantic",)
    assert [result.bm25_score for result in answer.results] == [0.0, 0.0]


def test_ut_hybrid_06_corpus_smaller_than_k(store: Store) -> None:
    """If corpus has 50 chunks but K=100, use all 50."""
    remember(store, *corpus(50))
    retriever = retriever_on(store, WordProvider(), fusion="staged", stage1_top_k=100)
    assert len(retriever.retrieve(Query("token", limit=100)).results) == 50


def test_ut_hybrid_07_custom_weights(store: Store) -> None:
    """Config weights applied correctly: semantic=0.7, activation=0.3."""
    chunks = corpus(20)
    remember(store, *chunks)
    use(store, chunks)
    retriever = retriever_on(
        store, WordProvider(), fusion="staged",
        bm25_weight=0, semantic_weight=0.7, activation_weight=0.3,
    )  # fmt: skip

    results = retriever.retrieve(Query("which token", limit=20)).results

    semantic = normalised([raw(result, "semantic") for result in results])
    used = normalised([raw(result, "activation") for result in results])
    assert [result.semantic_score for result in results] == pytest.approx(semantic)
    assert [result.activation_score for result in results] == pytest.approx(used)
    assert_weighted(results, semantic=0.7, activation=0.3)


@pytest.mark.parametrize(
    ("weights", "total"),
    [((0.0, 0.6, 0.6), "1.2"), ((0.3, 0.3, 0.3), "0.9"), ((0.0, 0.0, 0.0), "0")],
)
def test_ut_hybrid_08_invalid_weights(weights: tuple[float, ...], total: str) -> None:
    """Weights not summing to 1.0 raise error."""
    bm25, semantic, activation = weights
    with pytest.raises(ValueError, match=rf"Weights must sum to 1\.0 \(got {total}\)"):
        HybridConfig(bm25_weight=bm25, semantic_weight=semantic, activation_weight=activation)


@every_fusion
@pytest.mark.parametrize("text", ["", "  \n"])
def test_ut_hybrid_09_empty_query(store: Store, fusion: str, text: str) -> None:
    """Empty query returns error or all results: here an error that shows how to ask."""
    remember(store, *corpus(3))
    with pytest.raises(QueryError, match="empty") as caught:
        retriever_on(store, WordProvider()).retrieve(Query(text, fusion=fusion))
    assert "aur mem search" in caught.value.hint


@every_fusion
def test_ut_hybrid_10_search_result_format(store: Store, fusion: str) -> None:
    """Results include chunk, scores (bm25, semantic, activation, final)."""
    chunks = corpus(3)
    remember(store, *chunks)
    use(store, chunks)
    for result in (
        retriever_on(store, WordProvider()).retrieve(Query("token", fusion=fusion)).results
    ):
        assert result.chunk in chunks
        assert 0.0 <= result.bm25_score <= 1.0
        assert 0.0 <= result.semantic_score <= 1.0
        assert 0.0 <= result.activation_score < 1.0 + 1e-12
        assert result.score > 0.0
        assert result.score == pytest.approx(sum(part.value for part in result.contributions))


@every_fusion
def test_ut_hybrid_11_top_n_limiting(store: Store, fusion: str) -> None:
    """Search returns exactly N results (default 10), or fewer if corpus smaller."""
    remember(store, *corpus(15, matching=15))
    retriever = retriever_on(store, WordProvider())
    assert len(retriever.retrieve(Query("token", fusion=fusion)).results) == 10
    assert len(retriever.retrieve(Query("token", limit=12, fusion=fusion)).results) == 12
    assert len(retriever.retrieve(Query("token", limit=40, fusion=fusion)).results) == 15


@every_fusion
@pytest.mark.parametrize("asked", ["SOAROrchestrator", "soar_orchestrator"])
def test_ut_hybrid_12_exact_match_priority(store: Store, fusion: str, asked: str) -> None:
    """Exact keyword match ranks higher than semantic-only match: "SOAROrchestrator" is first."""
    exact = make_chunk("class SOAROrchestrator: pass", name="SOAROrchestrator", path="core.py")
    pattern = [
        make_chunk("the orchestrator pattern " * 20, name=f"orchestrator{n}", path=f"{n}.py")
        for n in range(5)
    ]
    remember(store, *pattern, exact)
    for chunk in pattern:
        for _ in range(20):
            store.chunks.record_access(chunk.id, NOW)

    query = Query(asked, fusion=fusion, min_score=0.0)
    results = retriever_on(store, WordProvider()).retrieve(query).results

    assert results[0].chunk == exact
    assert results[0].score > results[1].score
