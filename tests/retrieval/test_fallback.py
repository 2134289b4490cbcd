"""What a search does when one of its signals cannot answer (seed 003, and FR-10.5 of seed 000)."""

from __future__ import annotations

import logging
import math

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed, embed_missing
from aurora.retrieval.candidates import FALLBACK, NO_KEYWORD, NO_PROVIDER
from aurora.retrieval.config import FUSIONS
from aurora.stores.base import Store
from aurora.types import Event, Mode, Note, Query
from tests.builders import NOW, make_chunk
from tests.embedders import words_vector
from tests.retrieval.meaning import (
    BrokenProvider,
    WordProvider,
    assert_weighted,
    remember,
    retriever_on,
)

every_fusion = pytest.mark.parametrize("fusion", FUSIONS)
without_meaning = pytest.mark.parametrize(
    "embedder", [None, BrokenProvider()], ids=["none", "broken"]
)

CHUNKS = [
    make_chunk("test " * (n + 1) + "query " * n + "pad " * 5, name=f"f{n}", path=f"{n}.py")
    for n in range(8)
]


@pytest.fixture
def filled(store: Store) -> Store:
    """Chunks with vectors, each used, some more than others."""
    remember(store, *CHUNKS, make_chunk("a garden", name="g", path="g.py"))
    for number, chunk in enumerate(CHUNKS):
        for _ in range(1 + number * 7 % 5):
            store.chunks.record_access(chunk.id, NOW)
    return store


def test_fallback_triggered_when_no_provider(filled: Store) -> None:
    """By words and use; the semantic score of every result is 0."""
    answer = retriever_on(filled).retrieve(Query("test query", limit=5))
    assert len(answer.results) == 5
    assert answer.signals == ("bm25", "activation")
    for result in answer.results:
        assert result.semantic_score == 0.0
        assert result.bm25_score > 0.0
        assert result.activation_score > 0.0


def test_fallback_triggered_when_embed_fails(filled: Store) -> None:
    """No exception; the same results as without a provider, and why."""
    provider = BrokenProvider()
    answer = retriever_on(filled, provider).retrieve(Query("test query", limit=5))
    assert provider.queries == ["test query"]
    assert answer.results == retriever_on(filled).retrieve(Query("test query", limit=5)).results
    assert answer.notes[0].text.endswith("(The question could not be embedded: Model load failed)")
    assert [result.semantic_score for result in answer.results] == [0.0] * 5


@pytest.mark.parametrize(
    "vector",
    [[1.0], [math.nan] * 64, [math.inf] * 64, []],
    ids=["short", "nan", "infinite", "none"],
)
def test_a_vector_that_cannot_be_compared_is_no_vector(filled: Store, vector: list[float]) -> None:
    provider = WordProvider()
    provider.embed_query = lambda text: vector  # type: ignore[method-assign]  # noqa: ARG005
    answer = retriever_on(filled, provider).retrieve(Query("test query"))
    assert answer.results == retriever_on(filled).retrieve(Query("test query")).results
    assert answer.notes[0].text.endswith("(words did not return a vector of 64 finite numbers)")


def test_a_vector_of_any_length_is_compared_by_its_direction(filled: Store) -> None:
    """Also with numbers that no float32 could be."""
    huge = WordProvider()
    huge.embed_query = lambda text: [1e300 * n for n in words_vector(text, 64)]  # type: ignore[method-assign]
    answer = retriever_on(filled, huge).retrieve(Query("test query"))
    assert answer == retriever_on(filled, WordProvider()).retrieve(Query("test query"))
    assert (answer.signals[:2], answer.notes) == (("bm25", "semantic"), ())


@without_meaning
def test_fallback_normalizes_weights_correctly(
    filled: Store, embedder: EmbeddingProvider | None
) -> None:
    """30/40/30 without meaning is 50/0/50."""
    retriever = retriever_on(
        filled, embedder, fusion="staged",
        bm25_weight=0.3, semantic_weight=0.4, activation_weight=0.3,
    )  # fmt: skip
    results = retriever.retrieve(Query("test query")).results
    assert len(results) == 8
    assert_weighted(results, bm25=0.5, activation=0.5)


@without_meaning
def test_fallback_logs_warning(
    filled: Store, embedder: EmbeddingProvider | None, caplog: pytest.LogCaptureFixture
) -> None:
    """With what to do about it; once for a retriever, however often it is asked."""
    told: list[Event] = []
    retriever = retriever_on(filled, embedder, listen=told.append)
    with caplog.at_level(logging.WARNING):
        answers = [retriever.retrieve(Query("test query")) for _ in range(3)]
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "BM25+Activation fallback" in record.message
    assert "85% quality" in record.message
    assert "To restore full quality, check: aur doctor" in record.message
    assert told == [Note(record.message, warning=True)]
    assert [answer.notes for answer in answers] == [tuple(told)] * 3


def test_fallback_handles_edge_case_zero_weights(filled: Store) -> None:
    """Where neither words nor use have a weight, use alone decides."""
    retriever = retriever_on(
        filled, fusion="staged", bm25_weight=0.0, semantic_weight=1.0, activation_weight=0.0
    )
    results = retriever.retrieve(Query("test query")).results
    assert len({result.activation_score for result in results}) > 1
    assert_weighted(results, bm25=0.0, activation=1.0)


@every_fusion
@without_meaning
def test_the_format_of_a_result_is_the_same_without_meaning(
    filled: Store, fusion: str, embedder: EmbeddingProvider | None
) -> None:
    (result,) = retriever_on(filled, embedder).retrieve(Query("test", 1, fusion=fusion)).results
    assert result.chunk_id == result.chunk.id
    assert result.content == result.chunk.content
    assert result.metadata == result.chunk.metadata
    assert result.score > 0.0
    assert result.bm25_score > 0.0
    assert result.semantic_score == 0.0
    assert 0.0 <= result.activation_score <= 1.0


def test_asked_for_meaning_alone_words_answer_and_say_so(filled: Store) -> None:
    answer = retriever_on(filled).retrieve(Query("test query", mode=Mode.SEMANTIC))
    assert answer.mode is Mode.KEYWORD
    assert (len(answer.results), answer.notes) == (8, (Note(NO_PROVIDER, warning=True),))


def test_asked_for_words_alone_nothing_is_missing(
    filled: Store, caplog: pytest.LogCaptureFixture
) -> None:
    answer = retriever_on(filled).retrieve(Query("test query", mode=Mode.KEYWORD))
    assert (answer.notes, caplog.records) == ((), [])


def test_chunks_without_any_vector_are_found_by_words(store: Store) -> None:
    store.chunks.put_chunks(CHUNKS)
    provider = WordProvider()
    answer = retriever_on(store, provider).retrieve(Query("test query"))
    assert (len(answer.results), answer.signals) == (8, ("bm25",))
    why = "No chunk has a vector yet: make them with `aur mem index`"
    assert answer.notes == (Note(f"{FALLBACK} ({why})", warning=True),)
    assert provider.queries == []  # there is nothing to compare with


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (WordProvider(name="other"), "not of other (64)"),
        (WordProvider(dimension=32), "not of words (32)"),
        (WordProvider(fingerprint="2"), "not of words (64) as it is now: 2, not 1"),
    ],
    ids=["name", "dimension", "fingerprint"],
)
def test_vectors_of_another_embedder_are_told_and_never_compared(
    filled: Store, other: WordProvider, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = retriever_on(filled, other).retrieve(Query("test query"))
    (note,) = answer.notes
    assert note.warning
    assert note.text.startswith(f"This memory holds vectors of words (64 dimensions), {told}")
    assert "aur mem reembed" in note.text
    assert [record.message for record in caplog.records] == [note.text]
    assert answer.results == retriever_on(filled).retrieve(Query("test query")).results


@every_fusion
def test_without_a_keyword_match_meaning_alone_decides_and_says_so(
    filled: Store, fusion: str
) -> None:
    """FR-10.5: in the order of meaning, however much something was used."""
    remember(
        filled,
        make_chunk("login " * 2 + "pad " * 2, name="second", path="a.py"),
        make_chunk("login " * 3, name="first", path="a.py"),
    )
    for _ in range(100):
        filled.chunks.record_access("a.py:second", NOW)
    query = Query("authentication signin", fusion=fusion)
    answer = retriever_on(filled, WordProvider(), nudge=0.0).retrieve(query)
    assert [result.chunk.name for result in answer.results] == ["first", "second"]
    assert answer.notes == (Note(NO_KEYWORD),)
    assert NO_KEYWORD == "Note: No keyword matches found, falling back to semantic search"


@every_fusion
def test_parts_of_words_are_no_answer_but_single_cjk_characters_are(
    store: Store, fusion: str
) -> None:
    """To the index, which has pairs of them, one character is a part; to a reader it is a word."""
    store.chunks.put_chunks(
        [make_chunk("the passwords", name="a"), make_chunk("用户认证", name="b")]
    )
    retriever = retriever_on(store)
    assert retriever.retrieve(Query("asswords", fusion=fusion)).results == ()
    answer = retriever.retrieve(Query("证", fusion=fusion))
    assert [result.chunk.name for result in answer.results] == ["b"]
    assert answer.signals == ("fulltext",)


@every_fusion
@pytest.mark.parametrize("embedder", [None, WordProvider()], ids=["words", "meaning"])
def test_no_match_at_all_is_nothing_with_the_nearest_names(
    store: Store, fusion: str, embedder: EmbeddingProvider | None
) -> None:
    remember(store, make_chunk("def check_login(): pass", name="check_login"))
    answer = retriever_on(store, embedder).retrieve(Query("chekc_lgoin", fusion=fusion))
    assert answer.results == ()
    assert answer.nearest == ("check_login",)


@every_fusion
def test_names_are_suggested_only_where_a_word_is_unknown(store: Store, fusion: str) -> None:
    remember(store, make_chunk("def check_login(): pass", name="check_login"))
    ask = retriever_on(store).retrieve
    texts = ("check login", "check lgoin")
    known, misspelt = (ask(Query(text, fusion=fusion, min_score=2.0)) for text in texts)
    assert (known.results, known.nearest) == ((), ())
    assert (misspelt.results, misspelt.nearest[0]) == ((), "check_login")


class Stranger(WordProvider):
    """Finds everything near, and says that it has no word for it."""

    def embed_query(self, text: str) -> list[float]:
        return super().embed_query(f"test {text}")

    def knows(self, text: str) -> bool:
        return "test" in text


@every_fusion
def test_what_neither_words_nor_the_model_knows_is_not_found_by_chance(
    filled: Store, fusion: str
) -> None:
    retriever = retriever_on(filled, Stranger())
    assert retriever.retrieve(Query("xyzabc123", fusion=fusion)).results == ()
    assert retriever.retrieve(Query("garden", fusion=fusion)).results  # by the word
    assert retriever.retrieve(Query("xyzabc123", mode=Mode.SEMANTIC)).results  # who asks only that


@pytest.fixture
def places(places: Places) -> Places:
    """With chunks in it."""
    with Memory(places) as memory:
        memory.admin.create()
        memory.admin.store.chunks.put_chunks(CHUNKS)
        embed_missing(memory.admin.store, WordProvider())
    return places


@pytest.mark.parametrize(
    ("environ", "signals"),
    [({}, ("bm25", "semantic")), ({"AURORA_EMBEDDING_PROVIDER": "none"}, ("bm25",))],
    ids=["embedder", "none"],
)
def test_a_variable_forces_the_fallback_whatever_embedder_there_is(
    places: Places, environ: dict[str, str], signals: tuple[str, ...]
) -> None:
    provider = WordProvider()
    settings = SettingsFiles(places, environ)
    with Memory(places, settings, now=lambda: NOW, embedder=provider) as memory:
        answer = memory.search("test query")
    assert answer.signals == signals
    assert bool(answer.notes) == bool(environ) != bool(provider.queries)


@every_fusion
def test_a_result_knows_whether_it_has_a_vector(store: Store, fusion: str) -> None:
    store.chunks.put_chunks(CHUNKS)
    embed(store, WordProvider(), [CHUNKS[0].id])
    answer = retriever_on(store, WordProvider()).retrieve(Query("test query", fusion=fusion))
    with_vector = {result.chunk_id for result in answer.results if result.has_vector}
    assert (len(answer.results), with_vector) == (8, {CHUNKS[0].id})
