"""SQLiteStore: the conformance suite, and what only a SQLite file can get wrong."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from aurora.errors import StoreBusyError, StoreError, StoreFormatError, UnsafeFolderError
from aurora.stores.sqlite import database_file
from aurora.stores.sqlite.rows import batches, count_levels
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind
from tests.builders import make_chunk
from tests.small_disk import mounted, remount
from tests.stores.conformance import FULL, HISTORY, STATE, StoreConformance
from tests.stores.older import make_older


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[[], SQLiteStore]]:
    opened: list[SQLiteStore] = []

    def open_() -> SQLiteStore:
        opened.append(SQLiteStore(tmp_path / "deep" / "memory.db"))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


class TestSQLiteStore(StoreConformance):
    pass


@pytest.fixture
def store(open_store: Callable[[], SQLiteStore]) -> SQLiteStore:
    return open_store()


def sql(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def words(store: SQLiteStore, query: str) -> int:
    found = sql(store.path, "SELECT count(*) FROM chunks_words WHERE chunks_words MATCH ?", query)
    return int(str(found[0][0]))


def trigrams(store: SQLiteStore, query: str) -> int:
    found = sql(
        store.path, "SELECT count(*) FROM chunks_trigrams WHERE chunks_trigrams MATCH ?", query
    )
    return int(str(found[0][0]))


def test_the_text_indexes_follow_every_change(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk("alpha 用户认证"), make_chunk("beta", name="g")])
    assert (words(store, "alpha"), words(store, "beta"), trigrams(store, '"用户认"')) == (1, 1, 1)

    store.chunks.put_chunks([make_chunk("gamma")])
    assert (words(store, "alpha"), words(store, "gamma"), trigrams(store, '"用户认"')) == (0, 1, 0)

    store.chunks.put_chunks([make_chunk("delta 认证流程")])
    assert (words(store, "gamma"), trigrams(store, '"证流程"')) == (0, 1)

    store.chunks.delete_chunks(["a.py:f", "a.py:g"])
    assert (words(store, "delta OR beta"), trigrams(store, '"证流程"')) == (0, 0)
    assert store.maintenance.check() == []


def test_only_cjk_rows_pay_for_trigrams(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk("plain ascii text"), FULL])
    assert sql(store.path, "SELECT count(*) FROM chunks_trigrams_docsize") == [(1,)]


def test_a_kind_that_there_is_not_keeps_nobody_from_asking_where_chunks_stand(
    store: SQLiteStore,
) -> None:
    """Who reads the chunk itself is told of the damage."""
    store.chunks.put_chunks([FULL])
    sql(store.path, "UPDATE chunks SET kind = 'nonsense'")
    assert [place.kind for place in store.search.get_places([1]).values()] == [Kind.CODE]
    with pytest.raises(StoreFormatError, match="damaged"):
        store.chunks.get_rows([1])
    with pytest.raises(StoreFormatError, match=r"db is damaged: 'nonsense' is not a valid Kind"):
        store.chunks.count_chunks()


@pytest.mark.parametrize("table", ["chunks_words", "chunks_trigrams"])
def test_check_finds_a_text_index_out_of_step(store: SQLiteStore, table: str) -> None:
    store.chunks.put_chunks([FULL])
    sql(store.path, f"INSERT INTO {table}({table}) VALUES ('delete-all')")
    [problem] = store.maintenance.check()
    assert problem.startswith(f"text index {table}: ")
    assert "malformed" in problem


PATHS = "CREATE INDEX chunks_path ON chunks(path)"


def test_an_index_that_does_not_know_all_rows_is_found_and_made_anew(store: SQLiteStore) -> None:
    store.chunks.put_chunks([FULL])
    store.close()
    rewrite = "UPDATE sqlite_schema SET sql = ? WHERE name = 'chunks_path'"
    for statement in ("CREATE INDEX chunks_path ON chunks(path) WHERE path = ''", PATHS):
        with closing(sqlite3.connect(store.path)) as file, file:
            file.execute("PRAGMA writable_schema = ON")
            file.execute(rewrite, (statement,))
        if statement != PATHS:
            sql(store.path, "REINDEX chunks_path")  # which takes every row out
    with closing(SQLiteStore(store.path)) as again:
        assert again.maintenance.check()[0] == "row 1 missing from index chunks_path"
        assert again.maintenance.repair() == []
        assert again.maintenance.check() == []


def test_no_statement_has_more_values_than_any_sqlite_takes() -> None:
    some = list(batches(range(1200)))
    assert [len(batch) for batch, _ in some] == [500, 500, 256]
    assert [marks.count("?") for _, marks in some] == [500, 500, 256]
    assert {value for batch, _ in some for value in batch} == {*range(1200)}


def test_facts_are_read_once_in_a_reading_and_again_after_a_write(store: SQLiteStore) -> None:
    with store.reading():
        assert store.chunks.indexed_places() == {}
        store.chunks.put_indexed_places({"docs": True})
        assert store.chunks.indexed_places() == {"docs": True}
        statements: list[str] = []
        store.database.connection.set_trace_callback(statements.append)
        assert store.chunks.indexed_places() == {"docs": True}
        assert store.vectors.embedder() is None
        store.database.connection.set_trace_callback(None)
    assert statements == []


def test_the_file_is_in_wal_mode_with_our_mark(store: SQLiteStore) -> None:
    assert sql(store.path, "PRAGMA journal_mode") == [("wal",)]
    assert sql(store.path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert sql(store.path, "PRAGMA application_id") == [(0x41555241,)]


def test_tables_are_named_for_what_they_hold(store: SQLiteStore) -> None:
    names = sql(store.path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert {"chunks", "embeddings", "accesses", "reasoning", "files"} <= {row[0] for row in names}


@pytest.mark.parametrize(
    "content",
    [b"this is not a database, it is a letter\n" * 100, os.urandom(5000), b"SQLite format 3\0" * 9],
    ids=["text", "random", "broken-header"],
)
def test_a_file_that_is_no_database_is_refused_and_untouched(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreFormatError, match="not a usable database") as caught:
        SQLiteStore(path)
    assert str(path) in caught.value.message
    assert f"keep it (`mv {path} {path}.damaged`)" in caught.value.hint
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    sql(path, "CREATE TABLE chunks (id TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreFormatError) as caught:
        SQLiteStore(path)
    assert caught.value.message == f"{path} is a SQLite database of another program"
    kept = f"it was not touched; keep it elsewhere (`mv {path} {path}.old`) and index again"
    assert caught.value.hint == kept
    assert path.read_bytes() == before


def test_a_newer_database_is_refused_and_untouched(store: SQLiteStore) -> None:
    store.chunks.put_chunks([FULL])
    store.close()
    sql(store.path, "PRAGMA user_version = 99")
    before = store.path.read_bytes()
    with pytest.raises(StoreFormatError, match="newer Aurora") as caught:
        SQLiteStore(store.path)
    assert "upgrade" in caught.value.hint
    assert store.path.read_bytes() == before


def test_a_newer_program_that_came_meanwhile_is_told_with_the_file(store: SQLiteStore) -> None:
    store.chunks.put_chunks([FULL])
    sql(store.path, "PRAGMA user_version = 99")
    told = f"{re.escape(str(store.path))} was written by a newer Aurora"
    with pytest.raises(StoreFormatError, match=told) as caught:
        store.generation()
    assert caught.value.hint == (
        "upgrade with `pip install --upgrade aurora-memory`, or start a server again that ran "
        "meanwhile; the file was not touched"
    )


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    store = SQLiteStore(path)
    assert store.maintenance.check() == []
    store.close()


def test_a_failed_migration_leaves_no_half_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step is one transaction: the next start tries again from where it was."""
    broken = MIGRATIONS[0]._replace(statements=[*MIGRATIONS[0].statements, "CREATE NONSENSE"])
    with monkeypatch.context() as patch:
        patch.setattr(database_file, "MIGRATIONS", (broken,))
        with pytest.raises(StoreError, match="syntax error"):
            SQLiteStore(tmp_path / "memory.db")
    assert sql(tmp_path / "memory.db", "SELECT count(*) FROM sqlite_schema") == [(0,)]
    store = SQLiteStore(tmp_path / "memory.db")
    assert store.maintenance.check() == []
    store.close()


@pytest.mark.parametrize(
    ("number", "levels"),
    [("", 0), ("00", 0), ("7f05", 127), ("8100", 128), ("837405", 500), ("81800105", 16385)],
)
def test_levels_are_a_number_of_sqlites(number: str, levels: int) -> None:
    assert count_levels(bytes.fromhex("ffffffff" + number)) == levels


def test_words_can_be_merged_as_often_as_somebody_forgets(store: SQLiteStore) -> None:
    """SQLite 3.40 takes a text index for damaged after some thousand merges of all."""
    with store.transaction():
        for number in range(1500):
            store.chunks.put_chunks([make_chunk(f"def f(): return {number}", f"{number}.py", "f")])
            store.maintenance.merge_words()
    assert store.maintenance.check() == []
    assert [row for row, _ in store.search.find_text("1499", limit=5)] == [1500]


def test_forgetting_cleans_up_also_where_a_text_index_is_missing(store: SQLiteStore) -> None:
    """As a SQLite that was built without trigrams would leave it."""
    store.chunks.put_chunks([FULL])
    store.database.connection.execute("DROP TABLE chunks_trigrams")
    store.maintenance.scrub()
    assert store.chunks.get_chunks([FULL.id]) == [FULL]


def test_a_new_memory_has_no_generation(store: SQLiteStore) -> None:
    assert store.generation() == 0


def test_a_generation_grows_also_where_chance_gives_the_smallest_step(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.shared.os.urandom", bytes)  # that many zeros
    seen = [store.generation()]
    for content in ("one", "two", "three"):
        store.chunks.put_chunks([make_chunk(content)])
        seen.append(store.generation())
    assert seen == sorted(set(seen))


def test_copies_that_go_their_own_ways_share_no_new_revision(
    store: SQLiteStore, tmp_path: Path
) -> None:
    """The same row changed in both: an index of one must not take the other's text for known."""
    store.chunks.put_chunks([make_chunk(), FULL])
    store.close()
    shutil.copy(store.path, tmp_path / "copy.db")
    copy = SQLiteStore(tmp_path / "copy.db")
    assert copy.chunks.revisions() == store.chunks.revisions()
    store.chunks.put_chunks([make_chunk("here")])
    copy.chunks.put_chunks([make_chunk("there")])
    assert len(store.chunks.revisions().items() & copy.chunks.revisions().items()) == 1
    copy.close()


def test_what_was_written_before_revisions_were_numbered_counts_as_new(tmp_path: Path) -> None:
    """m003: two copies could have given one number to two texts."""
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    make_older(path, 1, lambda store: store.chunks.put_chunks([make_chunk(), FULL]))
    sql(path, "UPDATE chunks SET generation = 1")
    before = int(str(sql(path, "SELECT value FROM facts WHERE name = 'generation'")[0][0]))
    shutil.copy(path, copy)

    stores = SQLiteStore(path), SQLiteStore(copy)

    for store in stores:
        assert store.generation() > before
        assert set(store.chunks.revisions().values()) == {store.generation()}
        assert (list(store.chunks.iter_chunks()), store.maintenance.check()) == (
            [make_chunk(), FULL],
            [],
        )
    assert stores[0].generation() != stores[1].generation()
    for store in stores:
        store.close()


def test_a_store_of_the_first_schema_is_brought_up_to_date_and_keeps_all(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    make_older(path, 1, lambda store: store.chunks.put_chunks([make_chunk(), FULL]))
    [(before,)] = sql(path, "SELECT value FROM facts WHERE name = 'identity'")
    sql(path, "INSERT INTO files VALUES ('a.py', 10, 123, 'digest')")

    store = SQLiteStore(path)

    assert store.identity == before
    assert store.chunks.get_chunks(["a.py:f", FULL.id]) == [make_chunk(), FULL]
    assert store.chunks.file_states() == {"a.py": replace(STATE, identity="")}
    assert store.chunks.get_histories(["a.py:f"]) == {}
    assert store.chunks.put_histories({"a.py:f": HISTORY}) == 1
    assert store.maintenance.check() == []
    assert sql(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    store.close()


def test_a_writer_that_waits_too_long_says_so(store: SQLiteStore) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.database.connection.execute("PRAGMA busy_timeout = 50")
        told = f"{re.escape(str(store.path))} is in use by another process"
        with pytest.raises(StoreBusyError, match=told):
            store.chunks.put_chunks([FULL])
        other.execute("ROLLBACK")
    assert store.chunks.put_chunks([FULL]) == 1


@pytest.mark.parametrize(
    ("said", "kind", "message", "hint"),
    [
        ("database is locked", StoreBusyError,
         "{path} is in use by another process (waited 10 s)",
         "wait until the other `aur` has finished, then try again"),
        ("the database is busy", StoreBusyError,
         "{path} is in use by another process (waited 10 s)",
         "wait until the other `aur` has finished, then try again"),
        ("Could not decode to UTF-8 column 'name' with text 'x'", StoreFormatError,
         "{path} is damaged: a text in it is not valid UTF-8",
         "`aur mem repair` keeps all that can be read, and files are read again"),
        ("database disk image is malformed", StoreFormatError,
         "{path} is not a usable database: database disk image is malformed",
         "`aur mem repair` keeps all that can be read; if it cannot be opened, keep it "
         "(`mv {path} {path}.damaged`) and put a backup in its place, or index again and "
         "`aur mem import` an export"),
        ("unable to open database file", StoreError,
         "Cannot open {path}: unable to open database file",
         "check that the folder exists and is writable, and that the disk is not full"),
        ("attempt to write a readonly database", StoreError,
         "Cannot open {path}: attempt to write a readonly database",
         "check that the folder exists and is writable, and that the disk is not full"),
        ("database or disk is full", StoreError,
         "Cannot write {path}: database or disk is full", "free some space, then try again"),
        ("no such table: x", StoreError,
         "{path}: no such table: x", "`aur doctor` shows problems such as a full disk"),
    ],
    ids=lambda value: value if isinstance(value, str) and "{" not in value else "",
)  # fmt: skip
def test_what_sqlite_says_is_told_with_the_file_and_a_next_step(
    tmp_path: Path, said: str, kind: type[StoreError], message: str, hint: str
) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(StoreError) as caught, database_file.translated(path):
        raise sqlite3.OperationalError(said)
    told = caught.value
    assert (type(told), told.message) == (kind, message.format(path=path))
    assert told.hint == hint.format(path=path)


def test_what_it_says_inside_of_two_transactions_is_told_with_the_file(store: SQLiteStore) -> None:
    told = f"^{re.escape(str(store.path))}: no such table: nowhere"
    with pytest.raises(StoreError, match=told), store.transaction(), store.transaction():
        store.database.connection.execute("DELETE FROM nowhere")


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolderError, match="is not a plain file"):
        SQLiteStore(tmp_path)


def test_who_opens_a_memory_waits_for_nobody_who_writes(store: SQLiteStore) -> None:
    with store.transaction():
        store.chunks.put_chunks([FULL])
        with closing(SQLiteStore(store.path)) as other:
            assert other.chunks.count_chunks() == {}


def test_who_makes_a_memory_waits_for_another_who_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def pause(seconds: float) -> None:
            assert 0 < seconds < 1
            other.execute("ROLLBACK")

        monkeypatch.setattr("aurora.stores.sqlite.database_file.time.sleep", pause)
        SQLiteStore(tmp_path / "memory.db").close()
        monkeypatch.undo()
    assert sql(tmp_path / "memory.db", "PRAGMA journal_mode") == [("wal",)]


def test_who_makes_a_memory_does_not_wait_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "BUSY_MS", 50)
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError):
            SQLiteStore(tmp_path / "memory.db")


def test_a_store_may_be_closed_while_other_threads_have_it_open(store: SQLiteStore) -> None:
    asked, closed = threading.Event(), threading.Event()

    def read() -> None:
        store.chunks.count_chunks()
        asked.set()
        closed.wait()

    reader = threading.Thread(target=read)
    reader.start()
    asked.wait()
    try:
        store.close()
    finally:
        closed.set()
        reader.join()
    assert store.chunks.count_chunks() == {}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Cannot make the folder"):
        SQLiteStore(tmp_path / "file" / "memory.db")


def test_a_thread_takes_its_connection_along(store: SQLiteStore) -> None:
    """A server that starts a thread a request does not run out of files."""
    for _ in range(20):
        thread = threading.Thread(target=store.chunks.count_chunks)
        thread.start()
        thread.join()
    gc.collect()
    assert len(store.database.connections) == 1


def test_a_thread_keeps_its_connection(store: SQLiteStore) -> None:
    before = store.database.connection
    store.chunks.put_chunks([FULL])
    assert store.database.connection is before


def test_a_thread_that_ends_closes_its_connection(store: SQLiteStore) -> None:
    """At once, not when the collector comes by."""
    held: list[sqlite3.Connection] = []
    thread = threading.Thread(target=lambda: held.append(store.database.connection))
    thread.start()
    thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        held[0].execute("SELECT 1")


def _open_and_write(path: Path, number: int) -> None:
    store = SQLiteStore(path)
    for step in range(20):
        store.chunks.put_chunks([make_chunk(name=f"f{number}_{step}")])
    store.close()


def test_processes_that_start_together_share_one_store(tmp_path: Path) -> None:
    """Migrating and writing at once: nothing doubled, nothing lost."""
    path = tmp_path / "memory.db"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_open_and_write, args=(path, n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    store = SQLiteStore(path)
    assert (len(list(store.chunks.iter_chunks())), store.maintenance.check()) == (80, [])
    assert store.generation() >= 80
    store.close()


def test_a_store_that_another_is_just_making_is_recognised(tmp_path: Path) -> None:
    """What is read of a file to know it must be of one moment, not before and after."""
    failures: list[BaseException] = []

    def open_(path: Path, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            SQLiteStore(path).close()
        except BaseException as exc:
            failures.append(exc)

    for number in range(15):
        arguments = (tmp_path / f"{number}.db", threading.Barrier(4))
        threads = [threading.Thread(target=open_, args=arguments) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def _write_forever(path: Path, told: multiprocessing.connection.Connection) -> None:
    store = SQLiteStore(path)
    for number in range(1_000_000):
        store.chunks.put_chunks([make_chunk(name=f"{number}_{part}") for part in range(10)])
        told.send(number)


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    context = multiprocessing.get_context("spawn")
    hears, told = context.Pipe(duplex=False)
    writer = context.Process(target=_write_forever, args=(path, told))
    writer.start()
    last = -1
    while last < 30:
        last = hears.recv()
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join()
    while hears.poll():
        last = hears.recv()

    store = SQLiteStore(path)
    found = {chunk.name for chunk in store.chunks.iter_chunks()}
    assert {f"{number}_{part}" for number in range(last + 1) for part in range(10)} <= found
    assert len(found) % 10 == 0
    assert store.maintenance.check() == []
    store.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root mounts")
def test_a_memory_on_a_disk_mounted_read_only_can_be_read(tmp_path: Path) -> None:
    """And written never; SQLite by itself would lay its log beside the file, and fail."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        with closing(SQLiteStore(disk / "a memory?#.db")) as store:
            store.chunks.put_chunks([make_chunk("one"), make_chunk("two", name="g")])
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with closing(SQLiteStore(disk / "a memory?#.db")) as store:
            assert len(list(store.chunks.iter_chunks())) == 2
            with pytest.raises(StoreError, match="readonly"):
                store.chunks.put_chunks([make_chunk("three", name="h")])
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_memory_on_a_full_disk_can_be_read() -> None:
    with mounted(4) as disk:
        with closing(SQLiteStore(disk / "memory.db")) as store:
            store.chunks.put_chunks([make_chunk("one"), make_chunk("two", name="g")])
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        with closing(SQLiteStore(disk / "memory.db")) as store:
            assert len(list(store.chunks.iter_chunks())) == 2
            with pytest.raises(StoreError):
                store.chunks.put_chunks([make_chunk("three", name="h")])


def test_what_was_removed_is_in_no_file_once_it_is_scrubbed(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk("zanzibarquux"), FULL])
    store.chunks.delete_chunks(["a.py:f"])
    store.maintenance.scrub()
    for file in store.path.parent.iterdir():
        assert b"zanzibarquux" not in file.read_bytes()
    assert store.chunks.get_chunks([FULL.id]) == [FULL]


def test_who_scrubs_while_another_reads_is_told_and_waits_for_writers_as_before(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.sqlite.maintenance._READERS_MS", 50)
    store.chunks.put_chunks([make_chunk()])
    with store.snapshot():
        store.chunks.delete_chunks(["a.py:f"])
        with pytest.raises(StoreBusyError, match="db is being read by another process") as caught:
            store.maintenance.scrub()
    assert caught.value.hint == "it is overwritten with the next `aur mem forget`"
    assert store.database.rows("PRAGMA busy_timeout") == [(database_file.BUSY_MS,)]
    store.maintenance.scrub()


def test_an_older_memory_that_cannot_be_changed_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SQLiteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreFormatError, match="older Aurora") as caught:
        database_file.connect_unchanging(path)
    assert caught.value.hint == "copy the memory to a disk that can be written"


def test_the_schema_of_a_file_is_told_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SQLiteStore(path).close()
    assert database_file.schema_of(path) == len(MIGRATIONS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert database_file.schema_of(path) == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_the_schema_of_a_file_that_is_not_there_is_an_error_and_makes_none(tmp_path: Path) -> None:
    """Nor is there a word about a connection that never was (warnings are errors here)."""
    with pytest.raises(StoreError, match="unable to open"):
        database_file.schema_of(tmp_path / "memory.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("look", [database_file.schema_of, database_file.connect_unchanging])
def test_who_may_only_look_is_told_which_file_he_cannot_read(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(StoreError, match=f"Cannot open {re.escape(str(path))}: unable to open"):
        look(path)
    SQLiteStore(path).close()
    sql(path, "PRAGMA user_version = 99")
    with pytest.raises(StoreFormatError, match=f"{re.escape(str(path))} was written by a newer"):
        look(path)


def test_who_may_only_look_sees_what_another_has_just_written_and_leaves_nothing(
    store: SQLiteStore,
) -> None:
    def look() -> tuple[int]:
        with closing(database_file.connect_unchanging(store.path)) as connection:
            count: tuple[int] = connection.execute("SELECT count(*) FROM chunks").fetchone()
            return count

    store.chunks.put_chunks([FULL])
    assert look() == (1,)
    store.close()
    assert look() == (1,)
    left = sorted(file.name for file in store.path.parent.iterdir())
    assert left == ["memory.db", "memory.db-seal"]


def test_a_check_that_cannot_look_is_an_error_and_no_damage() -> None:
    """FTS5 takes the question for a write."""
    with mounted(8) as disk:
        path = disk / "memory.db"
        SQLiteStore(path).close()
        remount(disk, "ro")
        with (
            closing(SQLiteStore(path)) as store,
            pytest.raises(StoreError, match=f"Cannot open {re.escape(str(path))}: .* readonly"),
        ):
            store.maintenance.check()
