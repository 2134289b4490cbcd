"""Searching in SQLite: its indexes are used, FTS5 may be missing, and SQL agrees with Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.errors import StoreError
from aurora.stores.matching import MAX_TERMS, find_terms, phrase_pattern, phrase_words
from aurora.stores.sqlite.schema import FOLDED_NAME
from aurora.stores.sqlite.store import SQLiteStore
from aurora.text import fold_name
from aurora.types import Criteria, Kind
from tests.builders import make_chunk
from tests.properties import examples
from tests.stores.older import make_older
from tests.stores.search_conformance import CORPUS, found, names

READS = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks(CORPUS)
    yield store
    store.close()


@pytest.fixture
def without_fts(store: SQLiteStore) -> SQLiteStore:
    """As a SQLite that was built without FTS5 would leave it: no text index answers."""
    for table in ("chunks_words", "chunks_trigrams"):
        store.database.connection.execute(f"DROP TABLE {table}")
    return store


def statements(store: SQLiteStore, ask: Callable[[], object]) -> list[str]:
    """The SQL that a question runs, with its values."""
    seen: list[str] = []
    store.database.connection.set_trace_callback(seen.append)
    ask()
    store.database.connection.set_trace_callback(None)
    return [sql for sql in seen if sql.lstrip().startswith("SELECT")]


def plan(store: SQLiteStore, ask: Callable[[], object]) -> str:
    """How SQLite looks for the answer to the last thing a question asks."""
    return plans(store, ask)[-1]


def plans(store: SQLiteStore, ask: Callable[[], object]) -> list[str]:
    explain = store.database.connection.execute
    return [
        "\n".join(row[3] for row in explain(f"EXPLAIN QUERY PLAN {sql}"))
        for sql in statements(store, ask)
    ]


# Indexes


def test_definitions_are_looked_up_by_the_indexes_of_names(store: SQLiteStore) -> None:
    chunks, symbols = plans(store, lambda: store.search.find_definitions("get_user", limit=5))
    assert "USING INDEX chunks_name (<expr>=?)" in chunks
    assert "SEARCH symbols USING PRIMARY KEY (folded_name=?)" in symbols
    few = "SCAN main.chunks USING INDEX chunks_replaced"
    assert "SCAN" not in (chunks + symbols).replace(few, "")


def test_symbols_are_looked_up_by_their_names(store: SQLiteStore) -> None:
    used = plan(store, lambda: store.search.find_definitions("get_user", limit=5))
    assert "SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)" in used
    assert "SEARCH symbols USING PRIMARY KEY (folded_name=?)" in used


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(kinds=(Kind.CLASS,)),
        Criteria(languages=("python",)),
        Criteria(namespaces=("team",), document_types=("decision",)),
        Criteria(),
    ],
    ids=["kind", "language", "namespace-and-type", "all"],
)
def test_labels_are_compared_without_reading_texts(store: SQLiteStore, criteria: Criteria) -> None:
    assert "chunks USING COVERING INDEX" in plan(store, lambda: store.search.find_rows(criteria))


def test_names_are_read_without_the_texts_beside_them(store: SQLiteStore) -> None:
    assert "USING COVERING INDEX chunks_name" in plan(
        store, lambda: list(store.search.iter_names())
    )
    named = Criteria(names=("get*",))
    assert "USING COVERING INDEX chunks_name" in plan(store, lambda: store.search.find_rows(named))


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(sources=("document",)), Criteria(agents=("codex",)), Criteria(sessions=("abc",)),
        Criteria(branches=("main",)), Criteria(projects=("/code",)),
        Criteria(metadata=(("session", "abc"),)),
    ],
    ids=["source", "agent", "session", "branch", "project", "meta"],
)  # fmt: skip
def test_sessions_are_looked_up_without_reading_the_metadata_of_all_chunks(
    store: SQLiteStore, criteria: Criteria
) -> None:
    few = "SCAN main.chunks USING INDEX chunks_replaced"
    for used in plans(store, lambda: store.search.find_rows(criteria)):
        if "chunks_replaced" in used and used.strip() != few:
            assert "SCAN" not in used.replace(few, ""), used


def test_a_session_is_found_beside_numbers_that_json_has_no_words_for(store: SQLiteStore) -> None:
    """Python writes `NaN`, and SQLite refuses the whole text."""
    odd = make_chunk(name="odd", metadata={"branch": "main", "weight": float("nan")})
    store.chunks.put_chunks([odd])
    assert names(store, Criteria(branches=("main",))) == {"odd"}


def test_counting_kinds_still_reads_no_texts(store: SQLiteStore) -> None:
    """m004 drops the index of kinds that m002 made for it."""
    assert "chunks USING COVERING INDEX chunks_labels" in plan(store, store.chunks.count_chunks)


@pytest.mark.parametrize("phrase", ["认证", "token"])
def test_only_texts_with_cjk_are_read_for_a_phrase(store: SQLiteStore, phrase: str) -> None:
    criteria = Criteria(phrases=(phrase,))
    assert "chunks USING INDEX chunks_cjk" in plan(store, lambda: store.search.find_rows(criteria))


@READS
@given(name=st.text() | st.text("aZ_- \0éÉİ认", max_size=12))
def test_names_are_folded_in_sql_as_in_python(name: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        ((folded,),) = connection.execute(f"SELECT {FOLDED_NAME} FROM (SELECT ? AS name)", (name,))
    assert folded == fold_name(name)


def test_chunks_of_an_older_schema_are_found(tmp_path: Path) -> None:
    make_older(tmp_path / "memory.db", 3, lambda store: store.chunks.put_chunks(CORPUS))
    store = SQLiteStore(tmp_path / "memory.db")
    assert [found.name for found in store.search.find_definitions("GetUser", limit=5)] == [
        "get_user"
    ]
    assert names(store, Criteria(kinds=(Kind.CLASS,))) == {"HTTPServer"}
    assert store.maintenance.check() == []
    store.close()


# Without FTS5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("users", ["get_user", "HTTPServer"]),
        ("server safe", ["HTTPServer"]),
        ("user login", ["Login notes", "get_user", "HTTPServer"]),
        ("用户认证流程", ["Login notes"]),
        ("认证 token", ["Login notes", "认证", "get_user"]),
        ("se", []),
        ("?!", []),
    ],
)
def test_text_is_found_without_fts(
    without_fts: SQLiteStore, text: str, expected: list[str]
) -> None:
    assert found(without_fts, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("users", ["HTTPServer", "get_user"]),
        ("认证", ["认证", "Login notes"]),
        ("认证 token", ["Login notes", "认证", "get_user"]),
        ("token认证", ["Login notes", "认证", "get_user"]),
        ("ogin oken", ["Login notes", "get_user"]),
    ],
)
def test_text_is_found_best_first(store: SQLiteStore, text: str, expected: list[str]) -> None:
    assert found(store, text) == expected


def test_a_score_is_the_rank_of_the_index_brought_below_1(store: SQLiteStore) -> None:
    ((rank,),) = store.database.connection.execute(
        "SELECT bm25(chunks_words, 5.0, 1.0) FROM chunks_words WHERE chunks_words MATCH 'safe'"
    )
    assert rank < -0.1
    assert [score for _, score in store.search.find_text("safe", limit=5)] == [-rank / (1 - rank)]


@pytest.mark.parametrize(
    ("text", "points"), [("safe", 1), ("get_user", 1 + 1 / 2), ("get_user token", 2 + 1 / 3)]
)
def test_without_an_index_each_word_is_a_point_and_one_in_a_name_a_little_more(
    without_fts: SQLiteStore, text: str, points: float
) -> None:
    ((_, score), *_) = without_fts.search.find_text(text, limit=5)
    assert score == pytest.approx(points / (1 + points))


def test_an_underscore_is_no_wildcard(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk(name="getxuser")])
    assert found(store, "et_use") == ["get_user"]  # a part of a word is found by LIKE


def test_three_letters_of_cjk_are_enough_for_the_index(store: SQLiteStore) -> None:
    asked = statements(store, lambda: store.search.find_text("用户认", limit=5))
    assert any("chunks_trigrams MATCH" in sql for sql in asked)
    assert not any(" LIKE " in sql for sql in asked)


@pytest.mark.parametrize(
    "phrase", ["return users", "USERS", "get user", "use", "认证", "token, 用户", "login notes"]
)
def test_phrases_mean_the_same_without_fts(store: SQLiteStore, phrase: str) -> None:
    criteria = [Criteria(phrases=(phrase,)), Criteria(without=(phrase,))]
    with_index = [names(store, one) for one in criteria]
    store.database.connection.execute("DROP TABLE chunks_words")
    assert [names(store, one) for one in criteria] == with_index


def test_a_damaged_text_index_is_no_missing_one(store: SQLiteStore) -> None:
    """What is broken is said, not searched around."""
    store.database.connection.execute("UPDATE chunks_words_data SET block = x'ffffffffffffffff'")
    store.close()
    with pytest.raises(StoreError):
        store.search.find_text("users", limit=5)


def test_an_index_that_was_interrupted_is_no_missing_one(store: SQLiteStore) -> None:
    once = iter([1])
    store.database.connection.set_progress_handler(lambda: next(once, 0), 1)
    with pytest.raises(StoreError, match="interrupted"):
        store.search.find_text("users", limit=5)


@pytest.mark.parametrize(
    ("phrase", "text", "fits"),
    [("认证", "token认证", True), ("认证", "认证token", True), ("a b", "ab", False)],
)
def test_words_are_apart_but_where_a_script_has_no_spaces(
    phrase: str, text: str, fits: bool
) -> None:
    assert (phrase_pattern(phrase_words(phrase)).search(text) is not None) == fits


LETTERS = "abAB _-.\n(\"'认"


@READS
@given(phrase=st.text(LETTERS, max_size=8), content=st.text(LETTERS, max_size=40))
def test_the_text_index_and_the_pattern_find_the_same_phrases(
    store: SQLiteStore, phrase: str, content: str
) -> None:
    store.chunks.put_chunks([make_chunk(content, "p.py", "x")])
    words = phrase_words(phrase)
    fits = not words or phrase_pattern(words).search(content)
    criteria = Criteria(paths=("p.py",), phrases=(phrase,))
    assert names(store, criteria) == ({"x"} if fits else set())


# Words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("get_user(__init__, x)", ["get_user", "init", "x"]),
        ("User user USER", ["User"]),
        ("token认证flow用户", ["token", "认证", "flow", "用户"]),
        ("a_认证_b", ["a", "认证", "b"]),
        ("X认证", ["X", "认证"]),
        ("_ __ ?", []),
        ("re\u0301sume\u0301", ["résumé"]),
        ("a\0b \ud800c", ["a", "b", "c"]),
    ],
    ids=["code", "capitals", "mixed", "underscores", "capital", "no-words", "accents", "broken"],
)
def test_a_question_is_taken_apart_into_words(text: str, terms: list[str]) -> None:
    assert find_terms(text) == terms


def test_the_number_and_length_of_words_are_bounded() -> None:
    assert len(find_terms(" ".join(f"w{number}" for number in range(100_000)))) == MAX_TERMS
    assert len(phrase_words("a b " * 100_000)) == MAX_TERMS
    assert [len(term) for term in find_terms("x" * 1_000_000)] == [128]
    assert find_terms("_" * 1_000_000) == []


def test_the_longest_question_is_answered_by_every_tier(store: SQLiteStore) -> None:
    many = " ".join(f"nowhere{number}" for number in range(MAX_TERMS - 1))
    assert found(store, f"users {many}") == ["HTTPServer", "get_user"]
    assert found(store, f"ogin {many}") == ["Login notes"]
    assert found(store, f"认证 {many}") == ["认证", "Login notes"]
