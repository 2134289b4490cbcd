"""The log of a SQLite file is moved over by us, and never while somebody commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aurora.stores.sqlite.integrity import LONG, Stamp, shorten_log
from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import make_chunk


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.chunks.put_chunks([make_chunk(name="first")])
        yield store


@pytest.fixture
def other(store: SQLiteStore) -> Iterator[sqlite3.Connection]:
    """Another process's, as far as SQLite is concerned."""
    path = store.path
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        yield connection


def log_of(store: SQLiteStore) -> int:
    return store.path.with_name("memory.db-wal").stat().st_size


def write(store: SQLiteStore, *, size: int = 2 * LONG, name: str = "big") -> None:
    store.chunks.put_chunks([make_chunk(f"{name} " * (size // (len(name) + 1)), name=name)])


def test_a_long_log_is_moved_over(store: SQLiteStore) -> None:
    write(store)
    assert store.path.stat().st_size > LONG
    write(store, size=100, name="small")
    assert log_of(store) == LONG  # a part of it is old: what is in use is less
    assert store.maintenance.check() == []


def test_a_short_one_is_left(store: SQLiteStore) -> None:
    before = Stamp.of(store.path)
    write(store, size=LONG // 100)
    assert Stamp.of(store.path) == before
    assert log_of(store) > 0


def test_nobody_can_commit_meanwhile(store: SQLiteStore, other: sqlite3.Connection) -> None:
    tried: list[str] = []

    def trace(statement: str) -> None:
        if "wal_checkpoint" in statement:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as exc:
                tried.append(str(exc))

    store.database.connection.set_trace_callback(trace)
    write(store)
    assert tried == ["database is locked"]
    other.execute("BEGIN IMMEDIATE")  # and he waits no longer than that


def test_who_meets_a_writer_leaves_it_to_him(store: SQLiteStore, other: sqlite3.Connection) -> None:
    other.execute("BEGIN")
    other.execute("SELECT * FROM chunks").fetchall()
    write(store)  # which stays in the log: there is one who reads what was before
    other.execute("COMMIT")
    before = Stamp.of(store.path)
    other.execute("BEGIN IMMEDIATE")
    shorten_log(store.database.connection, store.path)
    assert Stamp.of(store.path) == before
    other.execute("COMMIT")
    shorten_log(store.database.connection, store.path)
    assert store.path.stat().st_size > LONG


def test_who_reads_an_older_state_keeps_it(store: SQLiteStore) -> None:
    with store.snapshot() as still:
        write(store)
        assert [chunk.name for chunk in still.chunks.iter_chunks()] == ["first"]
        assert log_of(store) > LONG
    write(store, size=100, name="next")
    write(store, size=100, name="last")
    assert log_of(store) == LONG  # a part of it is old: what is in use is less


def test_sqlite_does_not_do_it_by_itself(store: SQLiteStore) -> None:
    with store.snapshot() as still:
        for each in (store, still):
            [(pages,)] = each.database.rows("PRAGMA wal_autocheckpoint")
            assert pages == 0
