"""PostgresStore: the conformance suite, with and without partitions, and what only a server can
get wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.errors import NoMemoryError, StoreBusyError, StoreError
from aurora.stores.base import Checkout, FileState
from aurora.stores.postgres import connection as trouble
from aurora.stores.postgres.rows import MARK, hide, show
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Criteria
from tests.builders import NOW, make_chunk
from tests.postgres.databases import Databases
from tests.properties import examples
from tests.stores.conformance import FULL, HISTORY, StoreConformance
from tests.stores.reembedding_conformance import ReembeddingConformance
from tests.stores.search_conformance import HOSTILE, ids_of_hostile
from tests.stores.transfer_conformance import TransferConformance

Open = Callable[[], PostgresStore]


def opening(url: str) -> Iterator[Open]:
    opened: list[PostgresStore] = []

    def open_() -> PostgresStore:
        opened.append(PostgresStore.open(url))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def open_store(memory_url: str) -> Iterator[Open]:
    yield from opening(memory_url)


@pytest.fixture
def store(open_store: Open) -> PostgresStore:
    return open_store()


class TestPostgresStore(StoreConformance):
    pass


def test_files_of_an_older_version_belong_to_the_first_that_comes(store: PostgresStore) -> None:
    state = FileState(path="a.py", size=3, modified_ns=7, digest="first")
    store.chunks.replace_file(state, [make_chunk(content="older")])
    store.checkouts.use(Checkout("one", "ada@here"))
    store.checkouts.enter(NOW)
    assert store.chunks.file_states() == {"a.py": state}
    store.checkouts.use(Checkout("two", "ben@there"))
    store.checkouts.enter(NOW)
    assert store.chunks.file_states() == {}


class TestPartitionedStore(TransferConformance, ReembeddingConformance):
    """Whole records, which have parts in all tables, with namespaces in one of three partitions."""

    @pytest.fixture
    def open_store(self, postgres_databases: Databases) -> Iterator[Open]:
        with postgres_databases.memory(partitions=3) as url:
            yield from opening(url)

    @pytest.fixture
    def store(self, open_store: Open) -> PostgresStore:
        return open_store()

    def test_namespaces_lie_in_tables_of_their_own(self, store: PostgresStore) -> None:
        store.chunks.put_chunks(make_chunk(name=f"f{n}", namespace=f"team{n}") for n in range(12))
        tables = store.database.rows(
            "SELECT tableoid::regclass::text, count(*) FROM chunks GROUP BY 1"
        )
        assert len(tables) == 3
        assert sum(count for _, count in tables) == 12


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_chunk_in_another_namespace_takes_all_along(
    postgres_databases: Databases, partitions: int
) -> None:
    with (
        postgres_databases.memory(partitions) as url,
        closing(PostgresStore.open(url)) as store,
    ):
        chunk = make_chunk(namespace="a")
        store.chunks.put_chunks([chunk])
        store.chunks.record_access(chunk.id, NOW)
        store.chunks.put_histories({chunk.id: HISTORY})
        for namespace in ("b", "", "c"):
            moved = make_chunk(namespace=namespace)
            assert store.chunks.put_chunks([moved]) == 1
            assert store.chunks.get_chunks([chunk.id]) == [moved]
            assert store.chunks.get_accesses([chunk.id]) == {chunk.id: (NOW,)}
            assert store.chunks.get_histories([chunk.id]) == {chunk.id: HISTORY}
            assert store.chunks.count_namespaces() == {namespace: 1}
            assert store.maintenance.check() == []


# What the seed's own statements do with what people type


@pytest.mark.parametrize("text", HOSTILE, ids=ids_of_hostile)
def test_what_breaks_the_seeds_query_is_a_question_here(store: PostgresStore, text: str) -> None:
    store.chunks.put_chunks([make_chunk("some words", name="some")])
    assert len(store.search.find_text(f"{text} words", limit=5)) <= 1


def test_the_seeds_query_fails_on_most_hostile_texts_and_ours_on_none(
    store: PostgresStore, memory_url: str
) -> None:
    """Seed 004 joins the words by ` & ` and puts them into the statement. Research met 87 %."""
    store.chunks.put_chunks([make_chunk("some words", name="some")])
    failed = total = 0
    with psycopg.connect(memory_url, autocommit=True) as connection:
        for text in SYNTAX:
            total += 1
            store.search.find_text(text, limit=5)
            tsquery = " & ".join(text.split())
            try:
                connection.execute(f"SELECT to_tsquery('english', '{tsquery}')")
            except psycopg.Error:
                failed += 1
    assert failed / total > 0.8, (failed, total)
    assert store.maintenance.check() == []


SYNTAX = [
    f"{before}{sign}{after}"
    for sign in (
        "'",
        "&",
        "|",
        "!",
        "(",
        ")",
        ":",
        "<->",
        "' OR 1=1 --",
        "';DROP TABLE x;--",
        "a b(",
    )
    for before in ("", "plan ", "what's ")
    for after in ("", " two", " & ")
]


def test_a_statement_in_a_question_changes_nothing(store: PostgresStore) -> None:
    store.chunks.put_chunks([make_chunk("some words", name="some")])
    for text in ("'; DROP TABLE aurora.chunks CASCADE; --", "x') OR true --", "%s %(a)s", "$1"):
        store.search.find_text(text, limit=5)
        store.search.find_definitions(text, limit=5)
        store.search.find_rows(Criteria(names=(text,), paths=(text,), metadata=((text, text),)))
        store.chunks.find_ids(text, limit=5)
        store.chunks.find_below(text)
        assert store.chunks.get_chunks([text]) == []
    assert sum(store.chunks.count_chunks().values()) == 1


# Texts that PostgreSQL does not hold


@given(st.text(alphabet=["\0", MARK, "0", "1", "a"], max_size=8))
def test_a_nul_comes_back_and_so_does_what_stands_for_it(text: str) -> None:
    assert "\0" not in hide(text)
    assert show(hide(text)) == text


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    key=st.text(alphabet=["\0", MARK, "k", "'", "é"], min_size=1, max_size=4),
)
def test_any_text_comes_back_from_the_server(store: PostgresStore, text: str, key: str) -> None:
    chunk = make_chunk(text, name=text[:20], metadata={key: [text, {key: None}]})
    store.chunks.put_chunks([chunk])
    assert store.chunks.get_chunks([chunk.id]) == [chunk]


def test_the_longest_texts_are_kept_whole_and_found_by_their_beginning(
    store: PostgresStore,
) -> None:
    """More words than a tsvector holds."""
    text = " ".join(f"word{number:x}" * 3 for number in range(120_000))
    store.chunks.put_chunks([make_chunk(text, name="long")])
    assert store.chunks.get_chunks(["a.py:long"])[0].content == text
    assert store.search.find_text("word7word7word7", limit=1)


# Who may write, and when


def test_a_writer_that_waits_too_long_is_told(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.postgres.connection.BUSY_SECONDS", 1)
    first, second = open_store(), open_store()
    with first.transaction():
        first.chunks.put_chunks([make_chunk()])
        with pytest.raises(StoreBusyError, match="is in use by another process"):
            second.chunks.put_chunks([FULL])
        assert second.chunks.count_chunks() == {}  # who reads does not wait
    assert second.chunks.put_chunks([FULL]) == 1


def test_reads_of_one_search_are_of_one_generation_and_see_its_own_writes(open_store: Open) -> None:
    first, second = open_store(), open_store()
    with first.reading():
        before = first.generation()
        with first.reading():
            second.chunks.put_chunks([FULL])
        assert first.generation() == before < second.generation()
        first.chunks.put_chunks([make_chunk()])
        assert first.generation() == second.generation()
    with first.reading():
        assert first.generation() == second.generation()


def test_an_empty_database_has_no_memory_and_says_how_to_make_one(postgres_url: str) -> None:
    with pytest.raises(NoMemoryError, match="no memory yet") as caught:
        PostgresStore.open(postgres_url)
    assert "aur db init" in caught.value.hint


def test_memories_in_two_schemas_know_nothing_of_each_other(postgres_url: str) -> None:
    with (
        closing(PostgresStore.create(postgres_url, "one")) as one,
        closing(PostgresStore.create(postgres_url, "two")) as two,
    ):
        one.chunks.put_chunks([make_chunk()])
        with one.alone(), two.alone(), one.transaction():
            two.chunks.put_chunks([FULL])
        assert one.identity != two.identity
        assert [chunk.id for chunk in two.chunks.iter_chunks()] == [FULL.id]
        assert (one.maintenance.check(), two.maintenance.check()) == ([], [])


def test_what_is_wrong_is_found(store: PostgresStore) -> None:
    store.chunks.put_chunks([make_chunk(name="a"), make_chunk(name="b")])
    with store.transaction():
        store.database.execute('DELETE FROM words WHERE "row" = (SELECT min("row") FROM words)')
        store.database.execute("UPDATE terms SET chunks = chunks + 1")
    problems = store.maintenance.check()
    assert any("lack theirs" in problem for problem in problems)
    assert any("counted wrong" in problem for problem in problems)
    assert store.ranking.rebuild_words() == 2
    assert store.maintenance.check() == []


def test_of_what_a_server_says_its_first_words_are_told(store: PostgresStore) -> None:
    """Without the line and the place in a statement that nobody typed."""
    with pytest.raises(StoreError) as caught:
        store.database.rows("SELECT nonsense FROM chunks")
    assert caught.value.message == f'{store.address.shown}: column "nonsense" does not exist'


def test_no_error_of_the_drivers_shows_a_password() -> None:
    exc = psycopg.OperationalError('invalid dsn "postgresql://ann:s3cret@db/x password=s3cret"')
    told = trouble.explained(exc, "postgresql://ann@db/x")
    assert isinstance(told, StoreError)
    assert "s3cret" not in str(told)
