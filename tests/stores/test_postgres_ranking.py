"""The database as a ranker: the same BM25 as the index file's, the nearest vectors, the plans."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

import aurora
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.parsers.registry import parser_for
from aurora.signals.base import Question
from aurora.signals.bm25 import BM25Scorer
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.server_ranking import Searches, ServerKeywords, ServerKeywordScores
from aurora.stores.base import Embedder
from aurora.stores.postgres import indexes, ranking_sql, selection
from aurora.stores.postgres import ranking_sql as ranking
from aurora.stores.postgres.ranking_sql import ranked
from aurora.stores.postgres.store import PostgresStore
from aurora.text import WORDS, chunk_text, document_terms, query_words
from aurora.types import Chunk, Document
from tests.builders import hide, make_chunk

MODEL = Embedder("tiny", 8, "abc")
QUESTIONS = [
    "read a file", "BM25Scorer", "how are chunks stored in the database", "self", "return None",
    "the index of vectors is damaged", "get_rows", "nowhereword", "transaction store error hint",
    "a", "def", "Sequence[int] Mapping[str, object]",
]  # fmt: skip


def own_chunks() -> Iterator[Chunk]:
    """Real code: this program's."""
    root = Path(aurora.__file__).parent
    for file in sorted(root.rglob("*.py")):
        document = Document(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
        yield from parser_for(document.path).parse(document).chunks


@pytest.fixture(scope="module")
def chunks() -> list[Chunk]:
    return list({chunk.id: chunk for chunk in islice(own_chunks(), 1200)}.values())


@pytest.fixture
def store(memory_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore.open(memory_url)) as store:
        yield store


def ask(store: PostgresStore, text: str, **parameters: float | str) -> ServerKeywordScores:
    signal = ServerKeywords(Searches(store.ranking, store.vectors), BM25Parameters(**parameters))  # type: ignore[arg-type]
    return signal.score(Question(text, datetime(2026, 1, 1, tzinfo=UTC)))


def chunks_of(store: PostgresStore, rows: Sequence[int]) -> list[Chunk]:
    found = store.chunks.get_rows(rows)
    return [found[row] for row in rows]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"k1": 0.0}, {"k1": 1.2, "b": 0.0}, {"b": 1.0}, {"idf": "robertson"}],
    ids=str,
)
@pytest.mark.parametrize("work", [(10_000,), (40, 4_000)], ids=["most", "few"])
def test_scores_and_order_are_those_of_the_index_file(
    store: PostgresStore,
    chunks: list[Chunk],
    parameters: dict[str, float | str],
    work: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where few chunks are scored before the others are selected."""
    monkeypatch.setattr(selection, "_WORK", work)
    monkeypatch.setattr(ranking_sql, "_FEW_MATCHES", work[0])
    store.chunks.put_chunks(chunks)
    scorer = BM25Scorer(**parameters, analysis=WORDS)  # type: ignore[arg-type]
    scorer.build_index((chunk.id, chunk_text(chunk)) for chunk in chunks)
    rows = {
        row: chunk.id
        for row, chunk in store.chunks.get_rows(list(store.chunks.revisions())).items()
    }
    for text in QUESTIONS:
        answer = ask(store, text, **parameters)
        expected = dict(scorer.rank(text, pool=len(chunks)))
        best = answer.best(50)
        # Of equal scores around the fiftieth, each may choose others.
        scores = {rows[hit.row]: hit.score for hit in answer.hits(best)}
        assert scores == pytest.approx({id_: expected[id_] for id_ in scores}, rel=1e-5), text
        highest = [score for score in sorted(expected.values(), reverse=True)[:50] if score > 0]
        assert [expected[rows[row]] for row in best] == pytest.approx(highest, rel=1e-5)
        assert answer.ceiling == pytest.approx(scorer.score_all(text).ceiling)
        asked = query_words(text)
        assert [answer.terms(row) for row in best] == [
            {word for word, root in asked.items() if {word, root} & terms}
            for terms in map(set, map(document_terms, map(chunk_text, chunks_of(store, best))))
        ]


def test_statistics_follow_every_change(store: PostgresStore, chunks: list[Chunk]) -> None:
    draw = random.Random(7)  # noqa: S311 - not for secrets
    known = {chunk.id: chunk for chunk in chunks[:200]}
    store.chunks.put_chunks(known.values())
    for step in range(8):
        for chunk in draw.sample(sorted(known.values(), key=lambda one: one.id), 10):
            lot = draw.random()
            if lot < 0.3:
                store.chunks.delete_chunks([chunk.id])
                del known[chunk.id]
            elif lot < 0.6:
                changed = make_chunk(
                    f"new words of step{step}", chunk.path, chunk.name, id=chunk.id
                )
                store.chunks.put_chunks([changed])
                known[chunk.id] = changed
            else:
                hide(store, chunk.id, by=draw.choice(["another", None]))
    assert store.maintenance.check() == []
    found = list(store.chunks.iter_chunks())
    counted = store.ranking.count_terms(["new", "step7", "zzyzx"])
    texts = [document_terms(chunk_text(chunk)) for chunk in found]
    length = sum(max(len(text), WORDS.shortest) for text in texts)
    assert (counted.chunks, counted.tokens) == (len(found), length)
    expected = {term: sum(term in text for text in texts) for term in ("new", "step7")}
    assert counted.containing == {term: count for term, count in expected.items() if count}


def test_common_words_alone_still_find_as_many_as_are_asked_for(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little may be judged: rare words propose, and where they are too few, others do."""
    monkeypatch.setattr(selection, "_WORK", (20, 100, 400))
    monkeypatch.setattr(ranking_sql, "_FEW_MATCHES", 20)
    store.chunks.put_chunks(make_chunk("common words everywhere", name=f"f{n}") for n in range(300))
    store.chunks.put_chunks([make_chunk("common words and rarity", name="rare")])
    assert len(ask(store, "common words").best(100)) == 100
    best = ask(store, "common words rarity").best(100)
    assert len(best) >= 20
    assert store.chunks.get_rows(best[:1])[best[0]].name == "rare"


def test_a_filter_ranks_common_words_among_its_rows(
    store: PostgresStore, chunks: list[Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_WORK", (40, 4_000))
    monkeypatch.setattr(ranking_sql, "_FEW_MATCHES", 40)
    store.chunks.put_chunks(chunks)
    among = array("q", list(store.chunks.revisions())[::3])
    for text in QUESTIONS:
        scores = ask(store, text)
        if not scores.is_empty:
            hits = {hit.row: hit.score for hit in scores.hits(list(among))}
            best = ask(store, text).best(20, among=among)
            found = [hits[row] for row in best]
            assert found == pytest.approx(sorted(hits.values(), reverse=True)[:20], rel=1e-5), text


# Vectors


def vector(draw: random.Random) -> list[float]:
    return list(unpack_vector(pack_vector(unit_vector([draw.gauss(0, 1) for _ in range(8)]))))


@pytest.fixture
def many(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> tuple[PostgresStore, list[list[float]]]:
    """A store whose vectors are many enough for an index."""
    monkeypatch.setattr(indexes, "_EXACT", 500)
    monkeypatch.setattr(ranking, "_FEW", 10)
    draw = random.Random(3)  # noqa: S311 - as above
    chunks = [make_chunk(f"word{n % 50} text", name=f"f{n}") for n in range(2000)]
    vectors = [vector(draw) for _ in chunks]
    store.chunks.put_chunks(chunks)
    pairs = zip((chunk.id for chunk in chunks), map(pack_vector, vectors), strict=True)
    store.vectors.put_embeddings(MODEL, pairs)
    store.ranking.prepare_search()
    return store, vectors


def plan(store: PostgresStore, statement: ranking_sql.Statement) -> str:
    # A thousand rows are read faster than any index; the plan is what a million would have.
    with store.transaction():
        store.database.execute("SET LOCAL enable_seqscan = off")
        sql, values = statement
        lines = store.database.rows(f"EXPLAIN {sql}", values)
    return "\n".join(str(line) for (line,) in lines)


def test_both_indexes_answer_one_statement(many: tuple[PostgresStore, list[list[float]]]) -> None:
    store, vectors = many
    search = Searches(store.ranking, store.vectors)
    asked = Question("word7 text", datetime(2026, 1, 1, tzinfo=UTC))
    ServerKeywords(search, BM25Parameters()).score(asked)
    words = search.of(asked).words
    statement = ranking_sql.rank_statement(
        words, selection.select_all(words), vectors[0],
        slot=0, by_index=True, pool=100, among=None,
    )  # fmt: skip
    told = plan(store, statement)
    assert "Bitmap Index Scan on words_tsv_idx" in told
    assert "Index Scan using vectors_0_hnsw on vectors_0" in told


def test_the_index_finds_the_nearest(many: tuple[PostgresStore, list[list[float]]]) -> None:
    store, vectors = many
    assert store.ranking.vectors_in_use() == (0, True)
    right = 0
    for asked in vectors[:20]:
        by_index = store.ranking.rank(None, asked, pool=10).by_meaning
        exact = ranked(
            store.database.rows(
                *ranking_sql.rank_statement(
                    None, "", asked, slot=0, by_index=False, pool=10, among=None
                )
            ),
            10,
        ).by_meaning
        assert by_index[0] == exact[0]
        right += len(set(by_index) & set(exact))
    assert right >= 0.95 * 200


@pytest.mark.parametrize("every", [2, 40], ids=["half", "few"])
def test_a_filter_still_fills_the_limit(
    many: tuple[PostgresStore, list[list[float]]], every: int
) -> None:
    """Without a scan that goes on, an index gives what is left of its first candidates."""
    store, vectors = many
    among = list(store.chunks.revisions())[::every]
    for asked in vectors[:5]:
        found = store.ranking.rank(None, asked, pool=40, among=among).by_meaning
        assert len(found) == 40
        assert set(found) <= set(among)


def test_an_index_follows_what_comes_and_goes(
    many: tuple[PostgresStore, list[list[float]]],
) -> None:
    store, vectors = many
    (first,) = store.ranking.rank(None, vectors[5], pool=1).by_meaning
    name = store.chunks.get_rows([first])[first].id
    store.chunks.delete_chunks([name])
    assert store.ranking.rank(None, vectors[5], pool=1).by_meaning != [first]
    store.chunks.put_chunks([make_chunk("again", name="again")])
    store.vectors.put_embeddings(MODEL, [("a.py:again", pack_vector(vectors[5]))])
    (found,) = store.ranking.rank(None, vectors[5], pool=1).by_meaning
    assert store.chunks.get_rows([found])[found].name == "again"
    hide(store, "a.py:again")
    assert store.ranking.rank(None, vectors[5], pool=1).by_meaning != [found]


def test_another_model_gets_an_index_of_its_own(
    many: tuple[PostgresStore, list[list[float]]],
) -> None:
    store, _ = many
    other = Embedder("other", 4, "xyz")
    store.vectors.start_reembedding(other)
    ids = store.vectors.find_unembedded(by_next=True)
    store.vectors.put_embeddings(other, ((id_, pack_vector([1.0, 0.0, 0.0, 0.0])) for id_ in ids))
    store.vectors.finish_reembedding()
    assert store.ranking.vectors_in_use() == (1, False)
    store.ranking.prepare_search()
    assert store.ranking.vectors_in_use() == (1, True)
    assert len(store.ranking.rank(None, [1.0, 0.0, 0.0, 0.0], pool=10).by_meaning) == 10


def test_an_index_that_was_stopped_halfway_is_made_again(
    many: tuple[PostgresStore, list[list[float]]],
) -> None:
    store, vectors = many
    with store.transaction():
        store.database.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'vectors_0_hnsw'::regclass"
        )
    assert any("not valid" in problem for problem in store.maintenance.check())
    store.ranking.prepare_search()
    assert store.maintenance.check() == []
    assert store.ranking.rank(None, vectors[0], pool=10).by_meaning


def test_a_zero_vector_is_near_to_nothing(store: PostgresStore) -> None:
    store.chunks.put_chunks([make_chunk(name="zero"), make_chunk(name="one")])
    one = pack_vector([1.0] + [0.0] * 7)
    store.vectors.put_embeddings(MODEL, [("a.py:zero", pack_vector([0.0] * 8)), ("a.py:one", one)])
    found = store.ranking.rank(None, unpack_vector(one), pool=10)
    assert [store.chunks.get_rows([row])[row].name for row in found.by_meaning] == ["one"]
