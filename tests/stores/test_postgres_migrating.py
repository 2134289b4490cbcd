"""Numbered migrations: each whole or not at all, one at a time, and never backwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing

import psycopg
import pytest

from aurora.errors import NoMemoryError, StoreError, StoreFormatError
from aurora.stores.postgres import migrate as migrating
from aurora.stores.postgres import schema
from aurora.stores.postgres.address import parse_address
from aurora.stores.postgres.connection import Connections
from aurora.stores.postgres.migrate import WORDS, migrate, read_version
from aurora.stores.postgres.schema import MIGRATIONS, Migration
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Event, Progress, ignore_events
from tests.builders import make_chunk
from tests.threads import together

MORE = Migration("m900_add_colour", ("ALTER TABLE chunks ADD COLUMN colour text",))
BROKEN = Migration("m901_break", ("CREATE TABLE half (n int)", "SELECT * FROM nowhere"))


def connections_to(url: str) -> Connections:
    return Connections(parse_address(url))


def know(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    """Be a program with other migrations."""
    known: Sequence[Migration] = (*schema.MIGRATIONS, *more)
    monkeypatch.setattr(migrating, "MIGRATIONS", known)


def columns(url: str, table: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = 'aurora' AND table_name = %s",
            (table,),
        )
        return {name for (name,) in rows}


def fact(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT value FROM aurora.facts WHERE name = %s", (name,)
        ).fetchone()
    assert row is not None
    return str(row[0])


def set_fact(url: str, name: str, value: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE aurora.facts SET value = %s WHERE name = %s", (value, name))


def test_names_are_numbered_in_order() -> None:
    numbers = [re.match(r"m(\d{3})_\w+$", migration.name) for migration in MIGRATIONS]
    assert [int(found[1]) for found in numbers if found] == list(range(1, len(MIGRATIONS) + 1))


def test_from_nothing_it_tells_each_step(postgres_url: str) -> None:
    connections = connections_to(postgres_url)
    assert migrate(connections) == ["schema aurora", *(one.name for one in MIGRATIONS)]
    assert migrate(connections) == []


def test_a_step_that_fails_leaves_everything_as_it_was(
    memory_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, MORE, BROKEN)
    with pytest.raises(StoreError):
        migrate(connections_to(memory_url))
    assert "colour" in columns(memory_url, "chunks")  # the step before is done
    assert columns(memory_url, "half") == set()
    assert fact(memory_url, "schema") == str(len(MIGRATIONS) + 1)
    know(monkeypatch, MORE, Migration("m901_mended", BROKEN.statements[:1]))
    assert migrate(connections_to(memory_url)) == ["m901_mended"]
    assert columns(memory_url, "half") == {"n"}


def test_two_at_once_take_each_step_once(memory_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, MORE)
    done = together(4, lambda: migrate(connections_to(memory_url)))
    assert sorted(done) == [[], [], [], ["m900_add_colour"]]


def test_two_at_once_make_one_memory(postgres_url: str) -> None:
    def make() -> str:
        store = PostgresStore.create(postgres_url)
        store.close()
        return store.identity

    assert len(set(together(4, make))) == 1


def test_an_older_one_is_refused_until_it_is_migrated(
    memory_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but `aur db migrate` does it: others may share the memory with an older program."""
    know(monkeypatch, MORE)
    for open_ in (PostgresStore.open, PostgresStore.create):
        with pytest.raises(StoreFormatError, match="older Aurora") as failure:
            open_(memory_url)
        assert "aur db migrate" in failure.value.hint
    assert "colour" not in columns(memory_url, "chunks")
    assert PostgresStore.migrate(memory_url, listen=ignore_events) == ["m900_add_colour"]
    PostgresStore.open(memory_url).close()


@pytest.mark.parametrize(("name", "value"), [("schema", "99"), ("words", "999.1")])
def test_a_newer_one_is_not_touched(memory_url: str, name: str, value: str) -> None:
    set_fact(memory_url, name, value)
    for use in (
        PostgresStore.open,
        lambda url: PostgresStore.migrate(url, listen=ignore_events),
        lambda url: migrate(connections_to(url)),
    ):
        with pytest.raises(StoreFormatError, match="newer Aurora") as failure:
            use(memory_url)
        assert "upgrade" in failure.value.hint
    assert fact(memory_url, name) == value


@pytest.mark.parametrize(("name", "value"), [("schema", "99"), ("words", "999.1")])
def test_who_has_it_open_writes_nothing_once_a_newer_one_was_there(
    memory_url: str, name: str, value: str
) -> None:
    """As a server would that runs on while its users upgrade."""
    with closing(PostgresStore.open(memory_url)) as running:
        set_fact(memory_url, name, value)
        with pytest.raises(StoreFormatError, match="newer Aurora"):
            running.chunks.put_chunks([make_chunk()])
        assert running.chunks.count_chunks() == {}


def test_words_of_an_older_tokenizer_are_made_anew(memory_url: str) -> None:
    store = PostgresStore.open(memory_url)
    store.chunks.put_chunks([make_chunk(f"word{n}", name=f"f{n}") for n in range(2500)])
    store.close()
    set_fact(memory_url, "words", "0.1")
    with psycopg.connect(memory_url) as connection:
        connection.execute("SET search_path = aurora, public")
        connection.execute("DELETE FROM words")
    with pytest.raises(StoreFormatError, match="older Aurora"):
        PostgresStore.open(memory_url)
    told: list[Event] = []
    assert PostgresStore.migrate(memory_url, listen=told.append) == ["words of 2500 chunks"]
    assert told == [Progress("Making words", done, 2500) for done in (1000, 2000, 2500)]
    assert fact(memory_url, "words") == WORDS
    store = PostgresStore.open(memory_url)
    assert len(store.search.find_text("word77", limit=5)) == 1
    assert store.maintenance.check() == []
    store.close()


def test_words_that_were_half_made_are_all_made_again(memory_url: str) -> None:
    store = PostgresStore.open(memory_url)
    store.chunks.put_chunks([make_chunk(f"word{n}", name=f"f{n}") for n in range(2500)])
    store.close()
    set_fact(memory_url, "words", "0.1")

    def stop(_: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresStore.migrate(memory_url, listen=stop)
    assert fact(memory_url, "words") == "0.1"
    assert PostgresStore.migrate(memory_url, listen=ignore_events) == ["words of 2500 chunks"]


def test_where_there_is_no_memory(postgres_url: str) -> None:
    with pytest.raises(NoMemoryError) as failure:
        PostgresStore.migrate(postgres_url, listen=ignore_events)
    assert "aur db init" in failure.value.hint
    with connections_to(postgres_url).connect() as connection:
        assert read_version(connection).schema == 0
