"""Seed 001, scenario by scenario: hybrid search, three keyword tiers, decay, limits."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora import Memory, Places
from aurora.retrieval.candidates import FALLBACK, NO_PROVIDER
from aurora.retrieval.config import HybridConfig
from aurora.signals.base import Question
from aurora.signals.exact import FulltextSignal
from aurora.signals.vector_index import VectorIndex
from aurora.stores.base import Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Contribution, Kind, SearchResult
from tests.builders import NOW, make_chunk, write_tree
from tests.embedders import TableProvider, WordsProvider
from tests.retrieval.conftest import Searched
from tests.retrieval.meaning import assert_weighted, index_folder

TODAY = datetime(2026, 11, 15, tzinfo=UTC)
# To the question `river`: cosines of 1, 0.5, 0 and -1. At length 1 all numbers are exact in binary.
VECTORS = {
    "river": [4.0, 0.0, 0.0, 0.0], "stream": [2.0, 2.0, 2.0, 2.0],
    "desert": [0.0, 0.0, 5.0, 0.0], "drought": [-2.0, 0.0, 0.0, 0.0],
}  # fmt: skip
STREAM = make_chunk("a stream is small", name="first")
RIVER = make_chunk("the river is wide", name="second")
DESERT = make_chunk("the desert is dry", name="third")
DROUGHT = make_chunk("the drought goes on", name="fourth")
LANDSCAPE = (STREAM, RIVER, DESERT, DROUGHT)


@pytest.fixture
def memory(store: Store) -> Searched:
    """The seed describes `weighted`."""
    return Searched(store, fusion="weighted")


def table() -> TableProvider:
    return TableProvider(VECTORS)


def part(result: SearchResult, signal: str) -> Contribution:
    return next(part for part in result.contributions if part.signal == signal)


# Requirement: hybrid search with vector + keyword fusion


def test_vector_search_runs_when_embedding_provider_available(memory: Searched) -> None:
    """Compute a query embedding and perform cosine similarity search."""
    memory.put(*LANDSCAPE, provider=table())
    answer = memory.search("river", nudge=0.0)
    assert answer.signals == ("bm25", "semantic")
    cosines = {r.chunk.name: part(r, "semantic").raw for r in answer.results}
    assert cosines == {"second": 1.0, "first": 0.5}
    assert answer.notes == ()


def test_no_provider_degrades_to_keyword_only_search(memory: Searched) -> None:
    """When no embedding provider is configured, gracefully degrade to keyword-only search."""
    memory.put(*LANDSCAPE, provider=table())
    memory.provider = None
    degraded = memory.search("river", nudge=0.0)
    keyword = memory.search("river", "keyword")
    assert degraded.results == keyword.results
    assert [r.chunk for r in degraded.results] == [RIVER]
    assert degraded.signals == ("bm25",)
    assert [note.text for note in degraded.notes] == [NO_PROVIDER]


@pytest.mark.parametrize("provider", [None, WordsProvider()], ids=["without", "with"])
@pytest.mark.parametrize("keyword", ["bm25", "fulltext"])
def test_keyword_search_always_runs(
    memory: Searched, provider: WordsProvider | None, keyword: str
) -> None:
    """Always perform keyword search regardless of embedding provider availability."""
    memory.put(*LANDSCAPE, provider=provider)
    (best, *_) = memory.search("desert", keyword=keyword).results
    assert best.chunk == DESERT
    assert part(best, keyword).raw > 0


def test_keyword_search_runs_when_the_provider_fails(memory: Searched) -> None:
    def fail(text: str) -> list[float]:
        raise ConnectionError(f"model is away, what of {text}?")

    memory.put(*LANDSCAPE, provider=TableProvider(VECTORS, asked=fail))
    answer = memory.search("river")
    assert [result.chunk for result in answer.results] == [RIVER]
    why = "The question could not be embedded: model is away, what of river?"
    assert [note.text for note in answer.notes] == [f"{FALLBACK} ({why})"]


@pytest.mark.parametrize("keyword", ["bm25", "fulltext"])
def test_weighted_score_merging(memory: Searched, keyword: str) -> None:
    """vector_weight * vector_score + keyword_weight * keyword_score"""
    memory.put(*LANDSCAPE, provider=table())
    results = memory.search("which river", keyword=keyword, nudge=0.0).results
    assert {r.chunk.name: r.semantic_score for r in results} == {"second": 1.0, "first": 0.5}
    assert 0 < results[0].normalised(keyword) < 1
    assert results[1].normalised(keyword) == 0
    assert_weighted(results, **{"semantic": 0.7, keyword: 0.3})


def test_default_weights() -> None:
    """Default weights SHALL be vector_weight=0.7, keyword_weight=0.3"""
    weighted = HybridConfig().make_fusion("weighted")
    assert (weighted.semantic, weighted.keyword) == (0.7, pytest.approx(0.3))  # type: ignore[attr-defined]


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
def test_weights_are_configurable(memory: Searched, alpha: float) -> None:
    """Weights SHALL be configurable"""
    memory.put(*LANDSCAPE, provider=table())
    results = memory.search(
        "which river", nudge=0.0, min_score=0.0, hybrid_search_alpha=alpha
    ).results
    assert [result.chunk.name for result in results] == ["second", "first"]
    weighed = results if alpha else results[:1]  # without a weight, nothing speaks for the other
    assert_weighted(weighed, semantic=alpha, bm25=1 - alpha)


def test_use_is_no_more_than_a_nudge_beside_both(memory: Searched) -> None:
    memory.put(*LANDSCAPE, provider=table())
    weights = {"semantic": 0.9 * 0.7, "bm25": 0.9 * 0.3, "activation": 0.1}
    assert_weighted(memory.search("which river", nudge=0.1).results, **weights)
    memory.store.chunks.record_access(RIVER.id, NOW - timedelta(hours=1))
    used = memory.search("which river", nudge=0.1).results
    assert_weighted(used, **weights)
    assert 0 < part(used[0], "activation").normalised < 1


# Requirement: vector search via numpy cosine similarity


def random_landscape(memory: Searched) -> NDArray[np.float64]:
    """Three hundred chunks, a vector of sixteen random numbers each."""
    numbers = np.random.default_rng(1).standard_normal((301, 16))
    words = [f"w{n:03}" for n in range(300)]
    table = dict(zip([*words, "question"], numbers.tolist(), strict=True))
    memory.put(
        *(make_chunk(word, name=f"chunk{word}") for word in words), provider=TableProvider(table)
    )
    return numbers[:-1]


def cosines_of(matrix: NDArray[np.float64], asked: NDArray[np.float64]) -> NDArray[np.float64]:
    return matrix @ asked / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked))


def narrowed(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """As a memory keeps it: of length 1, in float16."""
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit.astype(np.float16).astype(np.float64)


def test_vectorized_cosine_similarity(memory: Searched) -> None:
    """A numpy matrix (N, D); matrix @ query_vector; the top K by partition"""
    matrix = random_landscape(memory)
    provider = memory.provider
    assert provider is not None
    asked = np.array(provider.embed_query("question"))
    cosines = cosines_of(matrix, asked)
    order = np.argsort(-cosines, kind="stable")[:25]

    found = memory.search("question", "semantic", limit=25).results

    assert [r.chunk.name for r in found] == [f"chunkw{n:03}" for n in order]
    scores = [part(r, "semantic").raw for r in found]
    assert scores == pytest.approx(cosines[order].tolist(), abs=1e-3)  # two bytes a number
    narrow = cosines_of(narrowed(matrix), narrowed(asked[None, :])[0])
    digits = 1e-9 if isinstance(memory.store, SQLiteStore) else 1e-7  # PostgreSQL tells seven
    assert scores == pytest.approx(narrow[order].tolist(), abs=digits)
    if not isinstance(memory.store, SQLiteStore):
        return  # has no matrix here
    folder = index_folder(memory.store)
    vectors = VectorIndex(memory.store, folder / "vectors.idx", now=lambda: NOW).current()
    stored = np.array([vector for _, _, vector in vectors.items()])
    np.testing.assert_array_equal(stored, narrowed(matrix))


@pytest.mark.one_store("cosines are computed here only where the store does not rank")
def test_pure_python_fallback(memory: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed per row with pure Python, sorted, and the top K returned: the very same"""
    random_landscape(memory)
    with_numpy = memory.search("question", "semantic", limit=40).results
    monkeypatch.setitem(
        sys.modules, "aurora.signals.cosine_scores", None
    )  # as if numpy were missing
    assert memory.search("question", "semantic", limit=40).results == with_numpy
    assert len(with_numpy) == 40


# Requirement: three-tier keyword search (FTS5 → trigram → LIKE)

WORDS = make_chunk("refresh the token, then a token again", name="renew")
OTHER = make_chunk("tokens are opaque", name="explain")
CHINESE = make_chunk("用户认证流程 uses a token", name="流程")
SHORT = make_chunk("认证 is short", name="kurz")
TIERS = (WORDS, OTHER, CHINESE, SHORT)


sqlite_tiers = pytest.mark.one_store("FTS5 and LIKE are SQLite's; PostgreSQL has seed 004's way")


def fulltext(memory: Searched, text: str) -> dict[str, float]:
    return memory.scores(text, "keyword", keyword="fulltext", min_score=0.0)


def ranked(memory: Searched, table: str, question: str) -> dict[str, float]:
    """What SQLite itself says, turned into [0, 1)."""
    rows = memory.store.database.connection.execute(
        f"SELECT chunks.name, bm25({table}, 5.0, 1.0) FROM {table} "
        f"JOIN chunks ON chunks.rowid = {table}.rowid WHERE {table} MATCH ?",
        (question,),
    )
    return {name: pytest.approx(abs(rank) / (1 + abs(rank))) for name, rank in rows}


def raw_scores(memory: Searched, text: str) -> dict[str, float]:
    """What the signal says, before nearness and confidence."""
    scores = FulltextSignal(memory.store).score(Question(text, NOW))
    rows = scores.best(99)
    chunks = memory.store.chunks.get_rows(rows)
    return {chunks[hit.row].name: hit.score for hit in scores.hits(rows)}


def drop(memory: Searched, *tables: str) -> None:
    for one in tables:
        memory.store.database.connection.execute(f"DROP TABLE {one}")


@sqlite_tiers
def test_standard_fts5_for_ascii_queries(memory: Searched) -> None:
    """SQLite FTS5 with the unicode61 tokenizer; BM25 ranking converted to a [0, 1) score"""
    memory.put(*TIERS)
    drop(memory, "chunks_trigrams")  # an ASCII query does not ask them
    found = fulltext(memory, "refresh token")
    assert found.keys() == {"renew", "流程"}  # whole words: no `tokens`
    assert raw_scores(memory, "refresh token") == ranked(
        memory, "chunks_words", '"refresh" OR "token"'
    )
    assert all(0 <= score < 1 for score in found.values())
    assert list(found) == ["renew", "流程"]


@sqlite_tiers
def test_trigram_fts5_for_cjk_queries(memory: Searched) -> None:
    """CJK character sequences and ASCII words SHALL be extracted and joined with AND"""
    memory.put(*TIERS, make_chunk("用户认证 without the other word", name="half"))
    drop(memory, "chunks_words")  # a CJK query does not ask them
    found = fulltext(memory, "用户认证, token?")
    assert found.keys() == {"流程"}
    assert raw_scores(memory, "用户认证, token?") == ranked(
        memory, "chunks_trigrams", '"用户认证" AND "token"'
    )
    assert fulltext(memory, "用户认证").keys() == {"流程", "half"}


@sqlite_tiers
@pytest.mark.parametrize("tables", [("chunks_words", "chunks_trigrams"), ()], ids=["gone", "there"])
def test_like_fallback_for_edge_cases(memory: Searched, tables: tuple[str, ...]) -> None:
    """FTS5 unavailable or empty: CJK runs (1+ chars) and ASCII words (3+ chars) independently"""
    memory.put(*TIERS)
    drop(memory, *tables)
    assert fulltext(memory, "oke").keys() == {"renew", "explain", "流程"}  # part of a word
    assert fulltext(memory, "证").keys() == {"流程", "kurz"}  # a single character
    assert fulltext(memory, "认证 opaq").keys() == {"流程", "kurz", "explain"}  # either will do
    assert fulltext(memory, "ok") == {}  # two letters are part of anything
    assert fulltext(memory, "ok 证").keys() == {"流程", "kurz"}


def test_like_puts_more_matches_first(memory: Searched) -> None:
    memory.put(*TIERS)
    assert next(iter(fulltext(memory, "证 opaq oke"))) in ("explain", "流程")
    assert next(iter(fulltext(memory, "证 oke"))) == "流程"
    assert all(0 <= score < 1 for score in fulltext(memory, "证 opaq oke").values())


def test_the_default_keyword_search_offers_names_where_there_is_no_whole_word(
    memory: Searched,
) -> None:
    """Parts of words would be noise; only a CJK character is looked for inside of words."""
    memory.put(*TIERS)
    answer = memory.search("expl", "keyword")
    assert (answer.results, answer.nearest) == ((), ("explain",))
    assert memory.search("证", "keyword").signals == ("fulltext",)


# Requirement: temporal decay for dated memory files


def note(path: str) -> Chunk:
    """A letter for a name, and no date but in its path; a text of its own, so none collapses."""
    content = f"the river is wide {path.replace('-', '')}"
    return make_chunk(content, path, "n", kind=Kind.KNOWLEDGE)


def fading(memory: Searched, mode: str, **config: object) -> dict[str, float]:
    """The factor of each note: its score after and before it fades."""
    answer = memory.search("river", mode, now=TODAY, nudge=0.0, **config)  # type: ignore[arg-type]
    factors = {}
    for result in answer.results:
        lost = sum(one.value for one in result.contributions if one.signal == "recency")
        factors[result.chunk.path] = result.score / (result.score - lost)
    return factors


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_decay_applied_to_dated_files(memory: Searched, mode: str) -> None:
    """Multiplied by exp(-ln(2)/half_life * age_days); default half_life 30 days; else 1.0"""
    ages = {"2026-11-15.md": 0, "2026-10-31.md": 15, "2026-10-16.md": 30, "2026-09-16.md": 60}
    others = [make_chunk("the desert is dry", f"{n}.md", "o") for n in range(9)]
    memory.put(*map(note, ages), note("MEMORY.md"), *others, provider=table())
    found = fading(memory, mode, keyword="fulltext", min_score=0.0)
    expected = {path: math.exp(-math.log(2) / 30 * age) for path, age in ages.items()}
    assert found == pytest.approx({**expected, "MEMORY.md": 1.0}, abs=1e-12)
    assert found["2026-10-16.md"] == pytest.approx(0.5)
    assert [*found][-2:] == ["2026-10-16.md", "2026-09-16.md"]  # and the older comes later


def test_a_fresh_note_comes_before_an_old_one_and_the_answer_says_why(memory: Searched) -> None:
    memory.put(note("2026-09-16.md"), note("2026-11-14.md"), provider=table())
    old_last = memory.search("river", keyword="fulltext", nudge=0.0, now=TODAY).results
    assert [result.chunk.path for result in old_last] == ["2026-11-14.md", "2026-09-16.md"]
    loss = part(old_last[1], "recency")
    assert (loss.raw, loss.rank) == (pytest.approx(0.25), 2)
    assert loss.value < 0
    for result in old_last:
        assert sum(one.value for one in result.contributions) == pytest.approx(result.score)


@pytest.mark.parametrize(
    ("path", "kind", "factor"),
    [
        ("memory/2026-10-16.md", Kind.KNOWLEDGE, 0.5),
        ("2026-10-16-retrospective.md", Kind.KNOWLEDGE, 0.5),
        ("2020-01-01/2026-10-16.md", Kind.KNOWLEDGE, 0.5),  # the file's own date counts
        ("2027-01-01.md", Kind.KNOWLEDGE, 1.0),  # is to come
        ("2026-13-40.md", Kind.KNOWLEDGE, 1.0),  # no calendar has it
        ("12026-10-16.md", Kind.KNOWLEDGE, 1.0),
        ("migrations/2026-10-16.py", Kind.FUNCTION, 1.0),  # code does not fade
    ],
)
def test_what_counts_as_a_date(memory: Searched, path: str, kind: Kind, factor: float) -> None:
    memory.put(make_chunk("the river is wide", path, "x", kind=kind), provider=table())
    assert fading(memory, "semantic") == {path: pytest.approx(factor)}


def test_the_half_life_is_configurable(memory: Searched) -> None:
    memory.put(note("2026-11-08.md"), provider=table())
    found = fading(memory, "semantic", half_life=7.0)
    assert found == {"2026-11-08.md": pytest.approx(0.5)}


# Requirement: result filtering and limits


def test_min_score_threshold(memory: Searched) -> None:
    """Results with score below min_score (default 0.1) SHALL be discarded

    Here the default is asked of the relevance of the first result: below it, nothing is relevant.
    """
    vectors = {"near": [1.0, 0.0], "far": [0.11, 0.994], "beside": [0.8, 0.6]}
    memory.put(
        *(make_chunk(word, name=f"x{word}") for word in vectors),
        provider=TableProvider({**vectors, "close": [1.0, 0.0]}),
    )
    for mode in ("semantic", "hybrid"):
        everything = memory.scores("near", mode, min_score=0.0)
        assert [*everything] == ["xnear", "xbeside", "xfar"]
        assert everything["xnear"] >= everything["xbeside"] > everything["xfar"]
        for least in (0.1, 0.5, *everything.values()):
            kept = {name: score for name, score in everything.items() if score >= least}
            assert memory.scores("near", mode, min_score=least) == kept

    assert HybridConfig().min_score == 0.1
    best = memory.search("close", "semantic").results[0].relevance
    assert len(memory.search("close", "semantic", least=best).results) == 3
    weak = memory.search("close", "semantic", least=math.nextafter(best, 1.0))
    assert weak.results == ()
    assert weak.weak is not None
    assert weak.weak.chunk.name == "xnear"


def test_a_score_of_just_the_threshold_stays(memory: Searched) -> None:
    memory.put(*LANDSCAPE, provider=table())
    exactly = memory.scores("river", "semantic")["first"]
    assert memory.scores("river", "semantic", min_score=exactly).keys() == {"first", "second"}
    above = math.nextafter(exactly, 1)
    assert memory.scores("river", "semantic", min_score=above).keys() == {"second"}


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_max_results_limit(memory: Searched, mode: str) -> None:
    """Only the top max_results by combined score SHALL be returned"""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    chunks = [
        make_chunk(f"river {' '.join(words[:n])}", name=f"x{n}") for n in range(len(words) + 1)
    ]
    memory.put(*chunks, provider=WordsProvider())
    everything = memory.search("river alpha", mode, limit=99, min_score=0.0).results
    assert len(everything) == len(chunks)
    scores = [result.score for result in everything]
    assert scores == sorted(scores, reverse=True)
    for limit in (1, 2, 5, len(chunks)):
        found = memory.search("river alpha", mode, limit=limit, min_score=0.0).results
        assert found == everything[:limit]


# The same through the engine


def test_a_memory_of_files_with_a_provider(places: Places) -> None:
    """Indexing makes the vectors, searching by meaning finds what shares no word."""
    assert places.project is not None
    root = write_tree(
        places.project,
        {
            "auth.py": "def check(user):\n    return verify(user.password)\n",
            "files.py": "def erase(path):\n    path.unlink()\n",
            "2026-10-16.md": "# Standup\n\nWe talked about preferences.\n",
        },
    )
    with Memory(places, now=lambda: TODAY, embedder=WordsProvider()) as memory:
        memory.index(root, git=False)
        assert memory.search("login credentials").results[0].chunk_id == "auth.py:check"
        (dated,) = memory.search("settings", mode="semantic").results
        assert dated.chunk.path == "2026-10-16.md"
        assert part(dated, "recency").raw == pytest.approx(0.5)
