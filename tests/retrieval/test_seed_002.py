"""Seed 002's lists: fusion of keyword and vector, and what hybrid search is for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aurora.errors import QueryError
from aurora.fusion.cascade import Cascade
from aurora.fusion.rrf import ReciprocalRank
from aurora.fusion.weighted import Weighted
from aurora.retrieval.candidates import NO_KEYWORD, NO_PROVIDER
from aurora.retrieval.config import HybridConfig
from aurora.types import Chunk, Criteria, Fused, Hit, Kind, Mode, Query, Ranking
from tests.builders import make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.conftest import Searched

FUSIONS = ("auto", "weighted", "rrf", "cascade", "staged")
BM25 = Ranking("bm25", (Hit(1, 6.0, 1), Hit(2, 3.0, 2), Hit(3, 1.5, 3)), ceiling=12.0)
MEANING = Ranking("semantic", (Hit(2, 0.9, 1), Hit(4, 0.5, 2)), ceiling=1.0)


def scores(fused: list[Fused]) -> dict[int, float]:
    return {one.row: pytest.approx(one.score, abs=1e-12) for one in fused}


def order(fused: list[Fused]) -> list[int]:
    return [one.row for one in fused]


# Unit tests: hybrid search


def test_rrf_fusion() -> None:
    """score = Σ 1 / (k + rank_i), k = 60"""
    fused = ReciprocalRank()([BM25, MEANING])
    assert scores(fused) == {2: 1 / 62 + 1 / 61, 1: 1 / 61, 4: 1 / 62, 3: 1 / 63}
    assert order(fused) == [2, 1, 4, 3]


def test_rrf_knows_ranks_and_no_scores() -> None:
    flat = Ranking("bm25", tuple(hit._replace(score=1.0) for hit in BM25.hits), ceiling=99.0)
    assert order(ReciprocalRank()([flat, MEANING])) == order(ReciprocalRank()([BM25, MEANING]))


def test_a_larger_k_lets_two_middling_ranks_win() -> None:
    first = Ranking("bm25", (Hit(1, 9.0, 1), Hit(2, 1.0, 4)))
    second = Ranking("semantic", (Hit(2, 0.5, 4),))
    assert order(ReciprocalRank(k=0)([first, second])) == [1, 2]
    assert order(ReciprocalRank(k=60)([first, second])) == [2, 1]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_weighted_score_fusion(alpha: float) -> None:
    """score = alpha * vector_score + (1 - alpha) * bm25_score, normalised to [0, 1] first"""
    assert scores(Weighted(alpha, 1 - alpha)([BM25, MEANING])) == {
        1: (1 - alpha) * 0.5,
        2: (1 - alpha) * 0.25 + alpha * 0.9,
        3: (1 - alpha) * 0.125,
        4: alpha * 0.5,
    }


def test_cascade_strategy() -> None:
    """Keyword first; semantic fills up behind, however close the meaning is."""
    close = Ranking("semantic", (Hit(4, 1.0, 1), Hit(5, 0.9, 2), Hit(2, 0.8, 3)))
    faint = Ranking("bm25", (Hit(2, 1e-9, 1), Hit(3, 1e-12, 2)), ceiling=1.0)
    fused = Cascade()([faint, close])
    assert order(fused) == [2, 3, 4, 5]
    assert [part.signal for one in fused for part in one.contributions] == [
        "bm25", "bm25", "semantic", "semantic",
    ]  # fmt: skip


def test_score_normalization() -> None:
    """By what no chunk can exceed: a best hit that answers half the question is no 1.0."""
    (best, *_) = Weighted()([BM25])
    assert best.contributions[0][:4] == ("bm25", 1, 6.0, 0.5)
    beyond = Ranking("bm25", (Hit(1, 13.0, 1), Hit(2, -1.0, 2)), ceiling=12.0)
    assert [one.contributions[0].normalised for one in Weighted()([beyond])] == [1.0, 0.0]


def test_rank_combination() -> None:
    """A result knows its rank with every signal, and which fusion made its score."""
    fused = {one.row: one.contributions for one in ReciprocalRank()([BM25, MEANING])}
    assert [(part.signal, part.rank) for part in fused[2]] == [("bm25", 2), ("semantic", 1)]
    assert [(part.signal, part.rank) for part in fused[4]] == [("semantic", 2)]


@pytest.mark.parametrize("fusion", [Weighted(), ReciprocalRank(), Cascade()])
def test_ties_keep_the_order_of_rows(fusion: Weighted | ReciprocalRank | Cascade) -> None:
    alike = tuple(Hit(row, 0.5, 1) for row in (3, 1, 2))
    assert order(fusion([Ranking("bm25", alike)])) == [1, 2, 3]


# Integration tests

LOGIN = make_chunk(
    "def check(user):\n    '''verify the password of a user'''\n    return user.ok",
    "auth.py",
    "check",
)
HANDLER = make_chunk(
    "class XMLHttpRetryHandler:\n    '''tries again'''", "net.py", "XMLHttpRetryHandler",
    kind=Kind.CLASS,
)  # fmt: skip
ERRNO = make_chunk("raise OSError('E4711')", "errors.py", "fail")
PURGE = make_chunk("def purge(cache):\n    '''erase old entries'''", "cache.py", "purge")
CONFIG = make_chunk("def options():\n    '''read the preferences'''", "conf.py", "options")
FILLERS = [
    make_chunk(
        f"def filler{n}(x):\n    '''counts the sheep number {n}'''", "sheep.py", f"filler{n}"
    )
    for n in range(12)
]
CORPUS = (LOGIN, HANDLER, ERRNO, PURGE, CONFIG, *FILLERS)


class Deaf(WordsProvider):
    """A model that has never seen these terms, as real ones have not: it takes them for others."""

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        return super().embed_batch([_heard(text) for text in texts])

    def embed_query(self, text: str) -> list[float]:
        return super().embed_query(_heard(text) or "some number or other")


def _heard(text: str) -> str:
    return text.replace("XMLHttpRetryHandler", "").replace("E4711", "")


@pytest.fixture
def searched(memory: Searched) -> Searched:
    memory.put(*CORPUS, provider=WordsProvider())
    return memory


@pytest.mark.parametrize("fusion", FUSIONS)
def test_hybrid_search_returns_correct_results(searched: Searched, fusion: str) -> None:
    answer = searched.search("verify password", fusion=fusion)
    best = answer.results[0]
    assert best.chunk == LOGIN
    assert answer.fusion == fusion
    assert {"bm25", "semantic"} <= set(answer.signals)
    assert 0 < best.bm25_score <= 1
    assert best.score == pytest.approx(sum(part.value for part in best.contributions))
    ranks = {part.signal: part.rank for part in best.contributions}
    assert ranks["bm25"] == 1
    if fusion != "cascade":
        assert (ranks["semantic"], 0 < best.semantic_score <= 1) == (1, True)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize(("term", "expected"), [("XMLHttpRetryHandler", HANDLER), ("E4711", ERRNO)])
def test_technical_term_queries_are_better_than_pure_semantic(
    memory: Searched, fusion: str, term: str, expected: Chunk
) -> None:
    """Rare terms do not embed well: words find what meaning cannot."""
    memory.put(*CORPUS, provider=Deaf())
    pure = memory.search(term, "semantic", limit=1, min_score=0.0).results
    assert [result.chunk.path for result in pure] == ["sheep.py"]
    hybrid = memory.search(term, fusion=fusion, limit=1).results
    assert [result.chunk for result in hybrid] == [expected]


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize(
    ("concept", "expected"),
    [("login credentials", LOGIN), ("configuration settings", CONFIG), ("delete", PURGE)],
)
def test_conceptual_queries_are_similar_to_semantic(
    searched: Searched, fusion: str, concept: str, expected: Chunk
) -> None:
    """No word of them is in any chunk: hybrid is what meaning finds, and says so."""
    assert searched.search(concept, "keyword").results == ()
    semantic = searched.search(concept, "semantic").results
    hybrid = searched.search(concept, fusion=fusion, nudge=0.0)
    assert semantic[0].chunk == expected
    assert [r.chunk for r in hybrid.results[: len(semantic)]] == [r.chunk for r in semantic]
    assert [note.text for note in hybrid.notes] == [NO_KEYWORD]


def test_weight_adjustment_effects(searched: Searched) -> None:
    """alpha: 0 = keyword, 1 = semantic"""
    query = "verify the old settings"
    plain = {"fusion": "weighted", "nudge": 0.0, "min_score": 0.0, "limit": 20}
    keyword = searched.names(query, "keyword", **plain)
    semantic = searched.names(query, "semantic", **plain)
    assert keyword != semantic

    def hybrid(alpha: float) -> list[str]:
        return searched.names(query, hybrid_search_alpha=alpha, **plain)

    assert hybrid(0.0)[: len(keyword)] == keyword
    assert hybrid(1.0)[: len(semantic)] == semantic
    assert set(hybrid(0.5)) == set(keyword) | set(semantic)


def test_a_little_more_weight_turns_the_order(memory: Searched) -> None:
    """What has the words is first with a small alpha, what means it with a large one."""
    words = make_chunk("delete delete delete sheep sheep sheep wolf wolf", name="one")
    meaning = make_chunk("erase purge drop", name="two")
    memory.put(words, meaning, *FILLERS, provider=WordsProvider())
    small, large = (
        memory.names("how to delete", fusion="weighted", hybrid_search_alpha=alpha, nudge=0.0)
        for alpha in (0.05, 0.95)
    )
    assert (small[0], large[0]) == ("one", "two")


def test_k1_and_b_are_configurable(searched: Searched) -> None:
    """bm25_k1: 1.5, bm25_b: 0.75, alpha 0.7 as seed 001 wants (seed 002: 0.5)"""
    config = HybridConfig()
    assert (config.k1, config.b, config.rrf_k, config.mode) == (1.5, 0.75, 60, Mode.HYBRID)
    plain, other = (
        [
            part.raw
            for one in searched.search("sheep", "keyword", k1=k1).results
            for part in one.contributions
        ]
        for k1 in (config.k1, 0.1)
    )
    assert plain != other


# Modes


def test_mode_semantic_asks_meaning_alone(searched: Searched) -> None:
    answer = searched.search("verify", "semantic")
    assert (answer.mode, answer.signals) == (Mode.SEMANTIC, ("semantic",))
    assert [p.signal for r in answer.results for p in r.contributions] == ["semantic"] * len(
        answer.results
    )


def test_mode_keyword_does_not_ask_the_model(searched: Searched) -> None:
    answer = searched.search("verify", "keyword")
    assert (answer.mode, answer.signals, answer.notes) == (Mode.KEYWORD, ("bm25",), ())
    assert searched.provider.questions == []  # type: ignore[union-attr]


def test_mode_hybrid_asks_both(searched: Searched) -> None:
    answer = searched.search("verify")
    assert answer.mode is Mode.HYBRID
    assert answer.signals[:2] == ("bm25", "semantic")
    assert searched.provider.questions == ["verify"]  # type: ignore[union-attr]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_the_configured_mode_counts_where_a_query_names_none(
    searched: Searched, fusion: str
) -> None:
    retriever = searched.retriever(mode=Mode.KEYWORD, fusion=fusion)
    assert retriever.retrieve(Query("verify")).mode is Mode.KEYWORD
    assert retriever.retrieve(Query("verify", mode=Mode.SEMANTIC)).mode is Mode.SEMANTIC


def test_semantic_without_a_model_goes_by_words_and_says_so(searched: Searched) -> None:
    searched.provider = None
    answer = searched.search("verify", "semantic")
    assert (answer.mode, answer.signals) == (Mode.KEYWORD, ("bm25",))
    assert [result.chunk for result in answer.results] == [LOGIN]
    assert [note.text for note in answer.notes] == [NO_PROVIDER]


def test_an_unknown_fusion_is_named_with_those_there_are(searched: Searched) -> None:
    with pytest.raises(QueryError, match="no fusion 'magic'") as caught:
        searched.search("verify", fusion="magic")
    assert all(fusion in caught.value.hint for fusion in FUSIONS)


# Cascade


def test_cascade_does_not_ask_the_model_while_words_find_enough(searched: Searched) -> None:
    answer = searched.search("sheep", fusion="cascade", limit=12)
    assert len(answer.results) == 12
    assert answer.signals == ("bm25",)
    assert searched.provider.questions == []  # type: ignore[union-attr]


def test_cascade_fills_up_with_meaning(searched: Searched) -> None:
    found = searched.names("preferences", "keyword", limit=2)
    assert found == ["options"]
    searched.put(make_chunk("def load_config(): ...", name="boot"), provider=WordsProvider())

    answer = searched.search("preferences", fusion="cascade", limit=2)

    assert [result.chunk.name for result in answer.results] == ["options", "boot"]
    assert [r.contributions[0].signal for r in answer.results] == ["bm25", "semantic"]
    assert answer.results[0].score > answer.results[1].score
    assert searched.provider.questions == ["preferences"]  # type: ignore[union-attr]


def test_cascade_counts_only_what_a_filter_lets_through(searched: Searched) -> None:
    """Twelve chunks have the word, but one is allowed: too little, so meaning is asked."""
    only = Criteria(names=("filler3", "check"))
    retriever = searched.retriever(fusion="cascade")
    answer = retriever.retrieve(Query("sheep", limit=2, criteria=only))
    assert [result.chunk.name for result in answer.results] == ["filler3"]
    assert searched.provider.questions == ["sheep"]  # type: ignore[union-attr]


def test_cascade_starts_alike_however_many_are_wanted(searched: Searched) -> None:
    """Whether the model is asked depends on the limit; what comes first does not."""
    everything = searched.names("sheep preferences", fusion="cascade", limit=50)
    for limit in range(1, len(everything)):
        assert (
            searched.names("sheep preferences", fusion="cascade", limit=limit)
            == (everything[:limit])
        )
