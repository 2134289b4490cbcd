"""What only a SQLite file can get wrong when one table of vectors takes another's place."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aurora.stores.base import FileState, Reasoning, Record
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import ChunkHistory, Kind, Tracking
from tests.builders import NOW, make_chunk
from tests.stores.older import make_older
from tests.stores.reembedding_conformance import (
    NEW,
    NEW_VECTORS,
    OLD,
    OLD_VECTORS,
    F,
    G,
    new,
    old,
    seen,
)

TABLES = ("embeddings", "next_embeddings")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    """On the way from one model to another, with all vectors of both."""
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.chunks.put_chunks([F, G])
        store.vectors.put_embeddings(OLD, OLD_VECTORS.items())
        store.vectors.start_reembedding(NEW)
        store.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        yield store


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def shape(store: SQLiteStore) -> list[object]:
    """What the two tables are: their columns and whom they belong to."""
    pragmas = ("table_info", "foreign_key_list", "index_list")
    return [rows(store.path, f"PRAGMA {pragma}({name})") for name in TABLES for pragma in pragmas]


def count(store: SQLiteStore) -> list[object]:
    return [rows(store.path, f"SELECT count(*) FROM {name}")[0][0] for name in TABLES]


def test_tables_that_changed_places_are_as_they_were(store: SQLiteStore) -> None:
    """Also, a chunk that leaves takes its vectors of both along: no row is left of it."""
    before = shape(store)
    assert count(store) == [2, 2]
    store.vectors.finish_reembedding()
    assert shape(store) == before
    assert count(store) == [2, 0]
    store.vectors.start_reembedding(OLD)
    store.vectors.put_embeddings(OLD, OLD_VECTORS.items())
    store.chunks.delete_chunks([F.id])
    assert count(store) == [1, 1]
    assert rows(store.path, "PRAGMA foreign_key_check") == []


def test_what_was_stopped_leaves_no_row(store: SQLiteStore) -> None:
    store.vectors.stop_reembedding()
    assert count(store) == [2, 0]
    assert rows(store.path, "SELECT name FROM facts WHERE name GLOB 'next*'") == []


def _take_over_and_wait(path: Path, told: multiprocessing.connection.Connection) -> None:
    store = SQLiteStore(path)
    with store.transaction():
        store.vectors.finish_reembedding()
        told.send((store.vectors.embedder(), store.vectors.get_embeddings([F.id, G.id])))
        signal.pause()


def test_who_is_killed_before_the_end_of_a_takeover_leaves_the_old_ones(
    store: SQLiteStore,
) -> None:
    before = seen(store)
    context = multiprocessing.get_context("spawn")
    hears, told = context.Pipe(duplex=False)
    process = context.Process(target=_take_over_and_wait, args=(store.path, told))
    process.start()
    assert hears.recv() == (NEW, NEW_VECTORS)  # all done, but for its last word
    assert seen(store) == before
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()

    with closing(SQLiteStore(store.path)) as again:
        assert seen(again) == before
        assert (again.vectors.next_embedder(), again.vectors.find_unembedded(by_next=True)) == (
            NEW,
            [],
        )
        assert again.maintenance.check() == []
        again.vectors.finish_reembedding()
        assert again.vectors.get_embeddings([F.id, G.id]) == NEW_VECTORS


# From before

LESSON = make_chunk("split it", "", "lesson", kind=Kind.REASONING, lines=None, id="lesson")
RECORDS = [
    Record(F, accesses=(NOW,), history=ChunkHistory(Tracking.TRACKED, (5, 2**40), True)),
    Record(LESSON, Reasoning("pattern", 0.75, 3, NOW)),
]
STATE = FileState("a.py", 10, 123, "digest", history_stamp="head", history_read_at=NOW)


def make_before_float16(path: Path) -> tuple[str, int]:
    """A memory of schema 4 with vectors as they were then; its identity and generation."""
    told: list[tuple[str, int]] = []

    def fill(store: SQLiteStore) -> None:
        store.maintenance.put_records(RECORDS)
        store.chunks.add_files([STATE])
        store.chunks.put_indexed_at(NOW)
        told.append((store.identity, store.generation()))

    make_older(path, 4, fill)
    with closing(sqlite3.connect(path)) as connection, connection:
        owner = {"name": "tiny", "dimension": "3", "fingerprint": "abc"}
        facts = [(f"embedder.{part}", value) for part, value in owner.items()]
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        vector = struct.pack("<3f", 1.0, 0.0, 0.25)
        connection.execute("INSERT INTO embeddings SELECT rowid, ? FROM chunks", (vector,))
    return told[0]


def test_vectors_twice_as_wide_are_dropped_and_all_else_is_kept(tmp_path: Path) -> None:
    """m005: what is lost is made again by the next run of indexing, by whatever model."""
    path = tmp_path / "memory.db"
    before = make_before_float16(path)
    assert rows(path, "PRAGMA user_version") == [(4,)]
    assert rows(path, "SELECT DISTINCT length(vector) FROM embeddings") == [(12,)]

    with closing(SQLiteStore(path)) as store:
        assert (store.vectors.embedder(), store.vectors.next_embedder()) == (None, None)
        assert list(store.vectors.iter_vectors()) == []
        assert store.vectors.find_unembedded() == [F.id, LESSON.id]

        assert list(store.maintenance.iter_records()) == RECORDS
        assert store.chunks.file_states() == {"a.py": STATE}
        assert (store.chunks.indexed_at(), store.maintenance.check()) == (NOW, [])
        assert (store.identity, store.generation()) == before  # the keyword index is still right
        assert rows(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]

        store.vectors.put_embeddings(NEW, [(F.id, new(1))])
        assert (store.vectors.embedder(), store.vectors.get_embeddings([F.id])) == (
            NEW,
            {F.id: new(1)},
        )


def test_the_model_of_before_may_go_on_with_narrow_vectors(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    make_before_float16(path)
    with closing(SQLiteStore(path)) as store:
        store.vectors.put_embeddings(OLD, [(F.id, old(1))])
        assert list(store.maintenance.iter_records()) == [
            replace(RECORDS[0], vector=old(1)),
            RECORDS[1],
        ]
