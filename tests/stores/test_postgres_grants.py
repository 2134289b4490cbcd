"""`aur db grant` and `aur db revoke`, with real roles on a real server."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql

from aurora import Memory, Places
from aurora.config import Settings
from aurora.config.schema import StoreSettings
from aurora.engine.location import PostgresLocation
from aurora.errors import NoMemoryError, StoreError
from aurora.stores.base import Embedder
from aurora.stores.postgres import indexes
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Note
from tests.builders import make_chunk, write_tree
from tests.postgres.databases import Databases
from tests.postgres.server import PostgresServer

MakeRole = Callable[[str], str]
EMBEDDER = Embedder("test", 4, "abc")


@pytest.fixture
def make_role(postgres: PostgresServer, memory_url: str) -> Iterator[MakeRole]:
    """Makes a role that may connect and nothing else; its address of the memory."""
    roles: list[str] = []

    def make(name: str) -> str:
        password, parts = secrets.token_hex(8), urlsplit(memory_url)
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Literal(password)))
        roles.append(name)
        login = f"{quote(name, safe='')}:{password}@{parts.hostname}:{parts.port}"
        return parts._replace(netloc=login).geturl()

    yield make
    with psycopg.connect(memory_url, autocommit=True) as connection:
        for name in map(sql.Identifier, roles):
            connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
            connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.fixture
def owner(memory_url: str) -> PostgresLocation:
    return PostgresLocation(memory_url, "aurora")


@pytest.fixture
def open_as(tmp_path: Path) -> Iterator[Callable[[str], tuple[Memory, list[str]]]]:
    """Opens the memory of a project at an address; the memory, and the notes that it tells."""
    opened: list[Memory] = []
    root = write_tree(tmp_path / "web", {"app.py": "def parse_quokka(text): return text\n"})

    def open_(url: str) -> tuple[Memory, list[str]]:
        notes: list[str] = []
        settings = Settings(store=StoreSettings(url=url))
        memory = Memory(
            Places(tmp_path / "home", root),
            settings,
            listen=lambda event: notes.append(event.text) if isinstance(event, Note) else None,
        )
        opened.append(memory)
        return memory, notes

    yield open_
    for memory in opened:
        memory.close()


OpenAs = Callable[[str], tuple[Memory, list[str]]]
ALTERS = (
    "DROP TABLE aurora.chunks CASCADE",
    "ALTER TABLE aurora.chunks ADD COLUMN more text",
    "TRUNCATE aurora.files",
    "CREATE TABLE aurora.more (a text)",
    "DROP SCHEMA aurora CASCADE",
    "SELECT * FROM other.secret",
    "CREATE SCHEMA mine",
)
WRITES = (
    "INSERT INTO aurora.facts VALUES ('a', 'b')",
    "UPDATE aurora.chunks SET name = ''",
    "DELETE FROM aurora.words",
    "SELECT nextval('aurora.chunk_rows')",
)


def require_refused(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)  # type: ignore[call-overload]


def make_other_schema(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE TABLE other.secret (a text)")


def test_a_reader_searches_and_changes_nothing(
    owner: PostgresLocation, make_role: MakeRole, open_as: OpenAs
) -> None:
    url = make_role("a_reader")
    mine, _ = open_as(owner.url)
    mine.index(mine.places.project or "")
    make_other_schema(owner.url)
    owner.grant("a_reader", writes=False)
    memory, notes = open_as(url)
    (first, *_) = memory.search("parse quokka").results
    assert first.chunk.name == "parse_quokka"
    assert memory.get(first.chunk.id) == first.chunk
    assert memory.stats().files == 1
    (note,) = notes
    assert note.startswith("This use is not remembered: ")
    assert "permission denied for table accesses" in note
    for write in (
        lambda: memory.learn("quokka"),
        lambda: memory.forget(first.chunk.id),
        lambda: memory.index(memory.places.project or "", force=True),
    ):
        with pytest.raises(StoreError, match=r"a_reader@.*permission denied for") as refused:
            write()
        assert "aur db grant writer" in str(refused.value.hint)
    require_refused(url, *WRITES, *ALTERS)


def test_a_writer_indexes_learns_and_forgets_and_cannot_alter(
    owner: PostgresLocation, make_role: MakeRole, open_as: OpenAs
) -> None:
    url = make_role('a "writer";--')  # a name that must be quoted
    make_other_schema(owner.url)
    owner.grant('a "writer";--', writes=True)
    memory, notes = open_as(url)
    memory.index(memory.places.project or "")
    (first, *_) = memory.search("parse quokka").results
    memory.get(first.chunk.id)
    lesson = memory.learn("quokkas need a retry")
    memory.add("A plan for quokkas")
    assert memory.forget(lesson.id, scrub=False) == 1
    assert memory.admin.rebuild_bm25() == 2
    assert not [note for note in notes if "denied" in note or "not remembered" in note]
    require_refused(url, *ALTERS)


def test_tables_that_the_owner_makes_later_are_included(
    owner: PostgresLocation, make_role: MakeRole
) -> None:
    reader, writer = make_role("a_reader"), make_role("a_writer")
    owner.grant("a_reader", writes=False)
    owner.grant("a_writer", writes=True)
    with psycopg.connect(owner.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE aurora.later (a bigserial PRIMARY KEY, b text)")
    with psycopg.connect(writer, autocommit=True) as connection:
        connection.execute("INSERT INTO aurora.later (b) VALUES ('x')")
    with psycopg.connect(reader, autocommit=True) as connection:
        assert connection.execute("SELECT b FROM aurora.later").fetchall() == [("x",)]
    require_refused(reader, "DELETE FROM aurora.later")


def test_rights_can_be_lowered_and_taken_away(owner: PostgresLocation, make_role: MakeRole) -> None:
    url = make_role("a_writer")
    owner.grant("a_writer", writes=True)
    owner.grant("a_writer", writes=True)  # again changes nothing
    owner.grant("a_writer", writes=False)
    require_refused(url, *WRITES)
    with closing(PostgresStore.open(url)) as store:
        assert store.chunks.count_files() == 0
    owner.revoke("a_writer")
    with pytest.raises(StoreError, match="permission denied for schema aurora"):
        PostgresStore.open(url)
    with psycopg.connect(owner.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE aurora.later (a text)")
        left = "SELECT count(*) FROM pg_default_acl"
        assert connection.execute(left).fetchone() == (0,)
        connection.execute("DROP ROLE a_writer")  # nothing depends on it any more
        connection.execute("CREATE ROLE a_writer")  # the fixture drops it


def test_partitions_are_included(postgres_databases: Databases, make_role: MakeRole) -> None:
    url = urlsplit(make_role("a_writer"))
    with postgres_databases.memory(partitions=3) as partitioned:
        PostgresLocation(partitioned, "aurora").grant("a_writer", writes=True)
        there = url._replace(path=urlsplit(partitioned).path).geturl()
        with closing(PostgresStore.open(there)) as store:
            chunk = make_chunk("one", "a.py")
            store.chunks.put_chunks([chunk])
            assert store.chunks.get_chunks([chunk.id])
        PostgresLocation(partitioned, "aurora").revoke("a_writer")


def test_a_missing_vector_index_names_who_can_build_it(
    owner: PostgresLocation, make_role: MakeRole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_EXACT", 2)
    url = make_role("a_writer")
    owner.grant("a_writer", writes=True)
    chunks = [make_chunk(name=name) for name in ("one", "two", "three")]
    with closing(PostgresStore.open(url)) as store:
        store.chunks.put_chunks(chunks)
        assert store.ranking.prepare_search() == ""
        vector = b"\0\x3c" * EMBEDDER.dimension
        store.vectors.put_embeddings(EMBEDDER, [(chunk.id, vector) for chunk in chunks])
        warning = store.ranking.prepare_search()
        assert "only the owner of the tables can build it" in warning
        assert "Have postgres run `aur index`" in warning
        with closing(PostgresStore.open(owner.url)) as own:
            assert own.ranking.prepare_search() == ""
        assert store.ranking.prepare_search() == ""
        assert store.ranking.vectors_in_use() == (0, True)


def test_what_cannot_be_granted_names_the_next_step(
    owner: PostgresLocation, make_role: MakeRole, postgres_url: str
) -> None:
    url = make_role("a_writer")
    for name in ("nobody_here", "public", 'x"; DROP TABLE facts', "a\0b", ""):
        with pytest.raises(StoreError, match="There is no role") as missing:
            owner.grant(name, writes=True)
        assert "CREATE ROLE" in str(missing.value.hint)
        with pytest.raises(StoreError, match="There is no role"):
            owner.revoke(name)
    with pytest.raises(StoreError, match="postgres can do everything"):
        owner.grant("postgres", writes=False)
    owner.grant("a_writer", writes=True)
    with pytest.raises(StoreError, match="a_writer does not own") as refused:
        PostgresLocation(url, "aurora").grant("a_writer", writes=True)
    assert "connect as postgres" in str(refused.value.hint)
    with pytest.raises(NoMemoryError):
        PostgresLocation(postgres_url, "nothing").grant("a_writer", writes=True)


def test_a_database_that_not_everybody_may_enter(
    owner: PostgresLocation, make_role: MakeRole
) -> None:
    url = make_role("a_reader")
    with psycopg.connect(owner.url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(name))
    with pytest.raises(StoreError):
        PostgresStore.open(url)
    owner.grant("a_reader", writes=False)
    PostgresStore.open(url).close()
