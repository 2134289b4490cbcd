"""What cannot be brought up to date stays as it is, to the byte where nothing was to be done."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from aurora.errors import StoreError, StoreFormatError
from aurora.stores.sqlite import database_file
from aurora.stores.sqlite.schema import MIGRATIONS, Migration
from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import make_chunk
from tests.full_disk import files_no_longer_than
from tests.upgrades.memories import kept, unpack
from tests.upgrades.plainly import everything, numbers, query

OLDEST = kept("sqlite")[0]
# All but its last statement can be carried out, and could be seen.
BROKEN = Migration(
    "m999_break", ("CREATE TABLE half (n)", "DELETE FROM chunks", "INSERT INTO nowhere VALUES (1)")
)
STEP = 8 * 1024  # two pages of a database

every_memory = pytest.mark.parametrize("name", kept("sqlite"))


@every_memory
def test_a_step_that_fails_leaves_nothing_of_any_step(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many went well before it: the program of yesterday can go on with the file."""
    path = unpack(name, tmp_path / "memory.db")
    before = everything(path)
    monkeypatch.setattr(database_file, "MIGRATIONS", (*MIGRATIONS, BROKEN))
    with pytest.raises(StoreError, match="no such table: nowhere"):
        SQLiteStore(path)
    assert everything(path) == before

    monkeypatch.undo()
    SQLiteStore(path).close()
    assert numbers(path)[1] == len(MIGRATIONS)


def test_wherever_the_disk_ends_all_is_done_or_nothing(tmp_path: Path) -> None:
    """And with room again, the same file is brought up to date."""
    before, failed = everything(unpack(OLDEST, tmp_path / "old.db")), 0
    for room in range(0, 1024 * 1024, STEP):
        path = unpack(OLDEST, tmp_path / f"{room}.db")
        try:
            with files_no_longer_than(room):
                SQLiteStore(path).close()
            break
        except StoreError:
            assert everything(path) == before
            failed += 1
            SQLiteStore(path).close()
        assert numbers(path)[1] == len(MIGRATIONS)
    assert failed > 3
    assert numbers(path)[1] == len(MIGRATIONS)


def folder_of(path: Path) -> dict[str, bytes]:
    """Every file beside it; but the index of a log, which SQLite makes anew whoever looks."""
    found = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    return {name: content for name, content in found.items() if not name.endswith("-shm")}


def left_open(path: Path, statement: str) -> Path:
    """The file as a killed program leaves it: the statement is committed, but only in the log."""
    place = path.parent / "killed"
    place.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(statement)
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, place)
    return place / path.name


def newer(path: Path) -> Path:
    query(unpack(kept("sqlite")[-1], path), "PRAGMA user_version = 99")
    return path


def foreign(path: Path) -> Path:
    query(path, "CREATE TABLE chunks (id TEXT)")
    return path


REFUSED = pytest.mark.parametrize(
    ("make", "said", "hint"),
    [
        (newer, "newer Aurora", "pip install --upgrade aurora-memory"),
        (foreign, "another program", "it was not touched; keep it"),
    ],
    ids=["newer", "foreign"],
)


@REFUSED
def test_what_is_not_ours_to_read_is_refused_and_untouched(
    tmp_path: Path, make: Callable[[Path], Path], said: str, hint: str
) -> None:
    path = make(tmp_path / "memory.db")
    refused_untouched(path, said, hint)


@REFUSED
def test_neither_is_it_touched_where_its_log_was_never_taken_in(
    tmp_path: Path, make: Callable[[Path], Path], said: str, hint: str
) -> None:
    """Its own program may be at work with it, or have been killed."""
    path = left_open(make(tmp_path / "memory.db"), "CREATE TABLE another (n)")
    refused_untouched(path, said, hint)
    assert query(path, "SELECT count(*) FROM another") == [(0,)]


def refused_untouched(path: Path, said: str, hint: str) -> None:
    before = folder_of(path)
    with pytest.raises(StoreFormatError, match=said) as caught:
        SQLiteStore(path)
    assert hint in caught.value.hint
    assert folder_of(path) == before


# It says that it is there, waits for the others, and tells how many chunks it found.
OPENS = """
import sys; from pathlib import Path; from aurora.stores.sqlite.store import SQLiteStore
print("there", flush=True); sys.stdin.readline()
store = SQLiteStore(Path(sys.argv[1]))
print(sum(store.chunks.count_namespaces().values())); store.close()
"""


@pytest.mark.parametrize("filled", [True, False])
def test_who_has_a_memory_open_refuses_it_once_a_newer_one_was_there(
    tmp_path: Path, filled: bool
) -> None:
    """As a server does that runs on while its users upgrade: its rows are of another form."""
    path = tmp_path / "memory.db"
    with closing(SQLiteStore(path)) as running:
        running.chunks.put_chunks([make_chunk("def f(): pass")] if filled else [])
        with closing(sqlite3.connect(path)) as newer:
            newer.execute("PRAGMA user_version = 99")
        before = everything(path)
        for use in (
            running.generation,
            lambda: running.chunks.put_chunks([make_chunk("x", "b.py")]),
        ):
            with pytest.raises(StoreFormatError, match="schema 99") as refused:
                use()
            assert refused.value.message.startswith(f"{path} was written by a newer Aurora")
            assert "start a server again" in str(refused.value.hint)
    assert everything(path) == before


def test_processes_that_migrate_at_once_take_each_step_once(tmp_path: Path) -> None:
    path = unpack(OLDEST, tmp_path / "memory.db")
    ((chunks,),) = query(path, "SELECT count(*) FROM chunks")
    command = [sys.executable, "-c", OPENS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    assert [process.stdout.readline() for process in processes] == ["there\n"] * 3
    assert [process.communicate("\n")[0] for process in processes] == [f"{chunks}\n"] * 3
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() == []
    assert numbers(path)[1] == len(MIGRATIONS)
