"""A file that is as Aurora left it is believed; any other only after a look at all of it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from aurora import Memory
from aurora.errors import StoreBusyError, StoreFormatError
from aurora.stores.base import FileState, Reasoning
from aurora.stores.sqlite import integrity as sqlite_seal
from aurora.stores.sqlite.integrity import Damage, Integrity, Seal
from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import Shell
from tests.rewriting import seal
from tests.small_disk import mounted, remount

CHUNKS = [make_chunk(f"def f{n}(): pass", f"{n}.py", f"f{n}", namespace="old") for n in range(50)]
ID = CHUNKS[7].id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A memory that was closed."""
    path = tmp_path / "memory.db"
    with closing(SQLiteStore(path)) as store:
        for chunk in CHUNKS:
            store.chunks.replace_file(FileState(chunk.path, 1, 1, "d"), [chunk])
    return path


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were looked at as a whole."""
    looked: list[Path] = []
    examine = Integrity.examine

    def note(integrity: Integrity) -> None:
        looked.append(integrity.path)
        examine(integrity)

    monkeypatch.setattr(Integrity, "examine", note)
    return looked


def seal_of(path: Path) -> Path:
    return path.with_name("memory.db-seal")


def read(path: Path) -> list[str]:
    with closing(SQLiteStore(path)) as store:
        return [chunk.id for chunk in store.chunks.get_chunks([ID])]


def tear(path: Path, index: str = "sqlite_autoindex_chunks_1", word: bytes = ID.encode()) -> None:
    """Flip a bit of a word in an index: a search by it finds nothing, and says nothing."""
    with closing(sqlite3.connect(path)) as file:
        found = file.execute("SELECT pgoffset, pgsize FROM dbstat WHERE name = ?", (index,))
        pages = found.fetchall()
    aside(f"""
data = bytearray(file.read_bytes())
places = (data.find({word!r}, at, at + size) for at, size in {pages!r})
data[next(at for at in places if at >= 0)] ^= 1
file.write_bytes(data)""", path)  # fmt: skip


def touch(path: Path) -> None:
    """The same bytes, written by somebody else."""
    aside("file.write_bytes(file.read_bytes())", path)


def aside(program: str, path: Path) -> None:
    """In a process of its own: who closes a file lets go of all locks that his process has on it,
    SQLite's too."""
    head = f"from pathlib import Path\nfile = Path({str(path)!r})\n"
    subprocess.run([sys.executable, "-c", head + program], check=True)


def test_what_aurora_left_is_not_looked_at(path: Path, looks: list[Path]) -> None:
    assert read(path) == [ID]
    with closing(SQLiteStore(path)) as store:
        store.chunks.delete_chunks([ID])
    assert read(path) == []
    assert looks == []


@pytest.mark.parametrize("change", [touch, lambda path: path.chmod(0o640), os.utime])
def test_what_somebody_else_wrote_is_looked_at_once(
    path: Path, looks: list[Path], change: Callable[[Path], None]
) -> None:
    change(path)
    assert (read(path), read(path)) == ([ID], [ID])
    assert looks == [path]


def test_a_copy_is_looked_at(path: Path, looks: list[Path], tmp_path: Path) -> None:
    shutil.copytree(path.parent, tmp_path / "copy")
    copied = tmp_path / "copy" / path.name
    assert (read(copied), read(copied), looks) == ([ID], [ID], [copied])


def test_a_seal_is_its_owners_alone(path: Path) -> None:
    assert seal_of(path).stat().st_mode & 0o777 == 0o600


def test_a_seal_holds_until_somebody_else_writes(path: Path) -> None:
    assert Seal(path).holds()
    touch(path)
    assert not Seal(path).holds()


def test_a_file_without_a_text_index_is_believed_all_the_same(path: Path) -> None:
    """As a SQLite that was built without FTS5 would leave it."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("DROP TABLE chunks_trigrams")
    assert (read(path), read(path)) == ([ID], [ID])


def test_who_has_found_it_sealed_does_not_read_the_seal_again(
    path: Path, looks: list[Path]
) -> None:
    with closing(SQLiteStore(path)) as store:
        assert store.chunks.get_chunks([ID])
        seal_of(path).unlink()
        assert store.chunks.get_chunks([ID])
    assert looks == []


def test_a_log_tells_that_it_is_looked_at(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger=sqlite_seal.__name__)
    touch(path)
    assert read(path) == [ID]
    assert caplog.messages == [f"{path} is checked for damage"]


READERS: dict[str, Callable[[SQLiteStore], object]] = {
    "get": lambda store: store.chunks.get_chunks([ID]),
    "find": lambda store: store.chunks.find_in_namespace("old"),
    "iterate": lambda store: list(store.chunks.iter_chunks()),
    "count": lambda store: store.chunks.count_chunks(),
    "generation": SQLiteStore.generation,
    "export": lambda store: list(store.maintenance.iter_records()),
}
WRITERS: dict[str, Callable[[SQLiteStore], object]] = {
    "write": lambda store: store.chunks.put_chunks(CHUNKS[:1]),
    "delete": lambda store: store.chunks.delete_chunks([ID]),
    "index": lambda store: store.alone().__enter__(),
}
INDEXES = [("sqlite_autoindex_chunks_1", ID.encode()), ("chunks_namespace", b"old")]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("index", "word"), INDEXES)
def test_an_index_that_would_hide_rows_is_not_asked(
    path: Path, looks: list[Path], reader: str, index: str, word: bytes
) -> None:
    with closing(SQLiteStore(path)) as store:
        before = READERS[reader](store)
    tear(path, index, word)
    with closing(SQLiteStore(path)) as store:
        for _ in range(2):  # it is not believed the second time
            assert READERS[reader](store) == before
            assert f"{path} is damaged: row " in store.maintenance.damage()
    assert looks == [path]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(("index", "word"), INDEXES)
def test_a_file_with_such_an_index_is_not_written_to(
    path: Path, writer: str, index: str, word: bytes
) -> None:
    tear(path, index, word)
    with closing(SQLiteStore(path)) as store:
        for _ in range(2):
            with pytest.raises(StoreFormatError) as raised:
                WRITERS[writer](store)
            assert f"{path} is damaged: row " in raised.value.message
            assert "aur mem repair" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("tables", "more"),
    [
        (["facts"], ""),
        (["facts", "files"], ", and 1 problem more"),
        (["facts", "files", "reasoning"], ", and 2 problems more"),
    ],
)
def test_the_first_problem_is_told_and_how_many_there_are(
    path: Path, tables: list[str], more: str
) -> None:
    with closing(SQLiteStore(path)) as store:
        store.chunks.put_reasoning(ID, Reasoning("fix", 0.9, 3, datetime(2026, 1, 1, tzinfo=UTC)))
    with closing(sqlite3.connect(path)) as file, file:
        for table in tables:
            file.execute(f"UPDATE {table} SET checksum = checksum + 1")
    assert f"{path} is damaged: damage in 2 rows of facts{more}. " in damage(path)


def damage(path: Path) -> str:
    with closing(SQLiteStore(path)) as store:
        return store.maintenance.damage()


def test_a_file_that_is_damaged_while_it_is_open_is_told(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        assert store.chunks.get_chunks([ID])  # its pages are in the cache now
        assert store.maintenance.damage() == ""
        tear(path)
        assert [chunk.id for chunk in store.chunks.get_chunks([ID])] == [ID]
        assert "is damaged: row " in store.maintenance.damage()


def test_reads_together_share_one_check(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = count_checks(monkeypatch)
    with closing(SQLiteStore(path)) as store:
        with store.reading():
            for reader in READERS.values():
                reader(store)
            with store.reading():
                assert store.maintenance.damage() == ""
        assert len(checks) == 1
        tear(path)
        with store.reading():
            assert [chunk.id for chunk in store.chunks.get_chunks([ID])] == [ID]
            assert "is damaged: row " in store.maintenance.damage()
            with pytest.raises(StoreFormatError, match="is damaged: row "):
                store.chunks.delete_chunks([ID])


def test_a_search_checks_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    project = write_tree(tmp_path / "project", {"a.py": "def find_me(): pass\n"})
    environ = {"AURORA_HOME": str(tmp_path / "home")}
    with Memory.open(project, environ=environ) as memory:
        memory.index(project, git=False)
        memory.search("find_me")
        checks = count_checks(monkeypatch)
        assert memory.search("find_me")
    assert len(checks) == 1


def count_checks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose state is compared with their seal from now on."""
    checks: list[Path] = []
    find_damage = Integrity.find_damage

    def note(integrity: Integrity) -> Damage | None:
        checks.append(integrity.path)
        return find_damage(integrity)

    monkeypatch.setattr(Integrity, "find_damage", note)
    return checks


def test_who_checks_a_damaged_one_does_not_seal_it(path: Path) -> None:
    tear(path)
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() != []
        assert not store.is_sealed
    assert "is damaged" in damage(path)


def test_it_is_mended_and_all_files_are_read_again(path: Path, looks: list[Path]) -> None:
    tear(path)
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() != []
        assert store.maintenance.repair() == []
        assert store.chunks.file_states() == {}
        assert store.maintenance.check() == []
        assert [chunk.id for chunk in store.chunks.get_chunks([ID])] == [ID]
    assert looks == []


def test_what_a_newer_program_made_of_it_is_told_as_such(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        with closing(sqlite3.connect(path)) as newer:
            newer.execute("PRAGMA user_version = 99")
            newer.execute("PRAGMA wal_checkpoint")  # so that it is in the file
        with pytest.raises(StoreFormatError, match="written by a newer Aurora"):
            store.chunks.get_chunks([ID])


def test_a_log_that_is_written_into_the_file_breaks_no_seal(path: Path, looks: list[Path]) -> None:
    """SQLite does so within a commit, when the log has grown."""
    with closing(SQLiteStore(path)) as store:
        before = path.stat().st_size
        store.chunks.put_chunks([make_chunk("x" * 6_000_000, "big.py", "big")])
        assert path.stat().st_size > before
        store.chunks.put_chunks([make_chunk("y", "small.py", "small")])
        assert store.chunks.get_chunks([ID])
        assert read(path) == [ID]
    assert looks == []


def test_who_forgets_leaves_it_sealed(path: Path, looks: list[Path]) -> None:
    with closing(SQLiteStore(path)) as store:
        store.chunks.delete_chunks([ID])
        store.maintenance.scrub()
        assert store.is_sealed
        assert read(path) == []
    assert looks == []


def test_what_is_written_into_a_file_with_a_broken_seal_does_not_seal_it(path: Path) -> None:
    with closing(SQLiteStore(path)) as store, store.transaction():
        store.chunks.put_chunks([make_chunk("x" * 6_000_000, "big.py", "big")])
        tear(path, "chunks", b"def f7()")  # in a page that is not written anew
    assert "is damaged: damage in 1 row of chunks, and 1 problem more. 1 chunk" in damage(path)
    assert read(path) == []


def test_who_forgets_to_close_it_leaves_it_sealed(path: Path, looks: list[Path]) -> None:
    def write() -> None:
        SQLiteStore(path).chunks.delete_chunks([CHUNKS[0].id])

    write()
    assert not path.with_name("memory.db-wal").exists()
    assert (read(path), looks) == ([ID], [])


def test_a_process_that_ends_without_closing_it_leaves_it_sealed(
    path: Path, looks: list[Path]
) -> None:
    aside(DELETING, path)
    assert (read(path), looks) == ([ID], [])


def test_what_a_killed_process_wrote_is_there_and_looked_at(path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        aside(f"{DELETING}import os; os.kill(os.getpid(), {signal.SIGKILL:d})", path)
    assert raised.value.returncode == -signal.SIGKILL
    with closing(SQLiteStore(path)) as store:
        assert store.chunks.get_chunks([CHUNKS[0].id]) == []
        assert store.maintenance.check() == []


DELETING = f"""
from aurora.stores.sqlite.store import SQLiteStore
store = SQLiteStore(file)
store.chunks.delete_chunks([{CHUNKS[0].id!r}])
"""  # and it is not closed


def test_readers_do_not_wait_for_who_changes_the_file(
    path: Path, looks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_seal, "_PAUSE", -1)  # who waits cannot
    with closing(SQLiteStore(path)) as store, Seal(path).turn() as is_ours:
        assert is_ours
        touch(path)
        assert store.chunks.get_chunks([ID])
    assert looks == []


def test_who_writes_does_not_wait_long_for_another(path: Path) -> None:
    with closing(SQLiteStore(path)) as store, Seal(path).turn():
        assert store.chunks.delete_chunks([ID]) == 1
    assert read(path) == []


def test_who_is_patient_has_his_turn(path: Path) -> None:
    had: list[bool] = []

    def wait() -> None:
        with Seal(path).turn(60) as is_ours:
            had.append(is_ours)

    waiting = Thread(target=wait)
    with Seal(path).turn():
        waiting.start()
        waiting.join(0.2)
        assert had == []
    waiting.join()
    assert had == [True]


def test_who_checks_it_waits_for_who_writes(path: Path) -> None:
    found: list[list[str]] = []

    def check() -> None:
        with closing(SQLiteStore(path)) as store:
            found.append(store.maintenance.check())

    checking = Thread(target=check)
    with closing(SQLiteStore(path)) as writer:
        with writer.transaction():
            checking.start()
            checking.join(0.3)
            assert found == []
        checking.join()
    assert found == [[]]


def test_who_comes_while_it_is_examined_waits(path: Path, looks: list[Path]) -> None:
    found: list[list[str]] = []
    reading = Thread(target=lambda: found.append(read(path)))
    another = Seal(path)
    touch(path)
    with another.turn():
        stamp = another.doubt()
        reading.start()
        reading.join(0.2)
        assert found == []
        another.put(stamp)
    reading.join()
    assert (found, looks) == ([[ID]], [])


def test_nobody_waits_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_seal, "_CHECK_PATIENCE", 0.05)
    seal_of(path).write_bytes(b"")
    touch(path)
    with Seal(path).turn(), pytest.raises(StoreBusyError) as raised:
        read(path)
    assert raised.value.message == f"{path} is being checked for damage by another process"
    assert raised.value.hint == "wait until it has finished, then try again"


@pytest.mark.parametrize("content", [b"", b"\0" * 90, b"1 2 3\n", b"a b c d\n", b"\xff" * 5000])
def test_a_seal_that_says_nothing_is_none(path: Path, looks: list[Path], content: bytes) -> None:
    seal_of(path).write_bytes(content)
    assert (read(path), read(path), looks) == ([ID], [ID], [path])


def test_a_file_without_a_seal_is_looked_at_and_sealed(path: Path, looks: list[Path]) -> None:
    seal_of(path).unlink()
    assert (read(path), read(path), looks) == ([ID], [ID], [path])


def test_where_no_seal_can_be_kept_every_process_looks(path: Path, looks: list[Path]) -> None:
    seal_of(path).unlink()
    seal_of(path).mkdir()
    with closing(SQLiteStore(path)) as store:
        assert store.chunks.get_chunks([ID]) == store.chunks.get_chunks([ID])
    assert looks == [path]
    assert read(path) == [ID]
    assert looks == [path, path]


@pytest.fixture
def still(path: Path) -> Iterator[Path]:
    """A copy of it on a disk that is mounted read-only."""
    with mounted(8) as disk:
        shutil.copytree(path.parent, disk / "memory")
        yield disk / "memory" / path.name


def test_a_copy_on_a_disk_mounted_read_only_is_looked_at(still: Path, looks: list[Path]) -> None:
    remount(still.parents[1], "ro")
    with closing(SQLiteStore(still)) as store:
        assert store.chunks.get_chunks([ID]) == store.chunks.get_chunks([ID])
    assert looks == [still]


def test_who_may_only_read_sees_what_others_write_later(still: Path) -> None:
    """SQLite takes such a file for one that never changes, and would not look again."""
    remount(still.parents[1], "ro")
    with closing(SQLiteStore(still)) as store:
        assert store.chunks.get_chunks([CHUNKS[0].id]) == [CHUNKS[0]]
        remount(still.parents[1], "rw")
        aside(DELETING, still)
        remount(still.parents[1], "ro")
        assert store.chunks.get_chunks([CHUNKS[0].id]) == []
        with store.snapshot() as moment:
            assert len(list(moment.chunks.iter_chunks())) == len(CHUNKS) - 1


def test_a_damaged_one_there_is_told(still: Path) -> None:
    tear(still)
    remount(still.parents[1], "ro")
    assert ("is damaged" in damage(still), read(still)) == (True, [ID])


def test_damage_below_the_seal_there_is_told_once_it_is_known(still: Path) -> None:
    tear(still)
    seal(still)
    remount(still.parents[1], "ro")  # where the seal cannot be broken
    with closing(SQLiteStore(still)) as store:
        assert (store.maintenance.damage(), store.chunks.get_chunks([ID])) == ("", [])
        assert "is damaged: row " in store.maintenance.damage(look=True)
        assert [chunk.id for chunk in store.chunks.get_chunks([ID])] == [ID]
        assert "is damaged: row " in store.maintenance.damage()


def test_while_somebody_writes_all_but_words_is_looked_at(path: Path, looks: list[Path]) -> None:
    with closing(SQLiteStore(path)) as writer, writer.transaction():
        touch(path)
        assert read(path) == [ID]
        assert read(path) == [ID]  # and nobody has sealed it
        assert looks == [path, path]
        tear(path)
        assert "is damaged: row " in damage(path)


def test_indexing_looks_at_all_of_it_every_week(path: Path, looks: list[Path]) -> None:
    """A bit that flips on the disk itself changes no time of the file."""
    with closing(SQLiteStore(path)) as store:
        with store.alone():
            assert looks == []
        tear(path)
        seal(path)
    with closing(SQLiteStore(path)) as store:
        with store.alone():
            assert (store.chunks.get_chunks([ID]), looks) == ([], [])  # which nobody has noticed
        *stamp, _ = seal_of(path).read_text().split()
        seal_of(path).write_text(" ".join([*stamp, "1700000000"]))
        with pytest.raises(StoreFormatError, match="is damaged"), store.alone():
            pass
        assert [chunk.id for chunk in store.chunks.get_chunks([ID])] == [ID]
    assert looks == [path]


def test_a_look_in_the_future_counts_as_none(path: Path, looks: list[Path]) -> None:
    """A clock that was wrong must not put the next look off for years."""
    *stamp, _ = seal_of(path).read_text().split()
    seal_of(path).write_text(" ".join([*stamp, "4102444800"]))
    for _ in range(2):
        with closing(SQLiteStore(path)) as store, store.alone():
            assert looks == [path]


def test_indexing_does_not_wait_for_ever_to_look_at_it(
    path: Path, looks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.sqlite.integrity._CHECK_PATIENCE", 0.05)
    *stamp, _ = seal_of(path).read_text().split()
    seal_of(path).write_text(" ".join([*stamp, "1700000000"]))
    with closing(SQLiteStore(path)) as store, Seal(path).turn(), store.alone():
        assert looks == [path]


def test_a_person_is_told_and_mends_it(filled: Shell) -> None:
    memory = filled.cwd / ".aurora" / "memory.db"
    tear(memory, word=b"a.py:find_me")

    for words in (("search", "find_me"), ("get", "a.py:find_me"), ("stats",), ("export",)):
        done = filled.run("mem", *words)
        assert (done.returncode, done.stderr.count(f"{memory} is damaged: row ")) == (0, 1)
        assert done.stderr.count("aur mem repair") == 1
        assert "find_me" in done.stdout or words == ("stats",)
    for words in (("index", "."), ("learn", "more"), ("forget", "--yes", "a.py")):
        told = filled.fails("mem", *words)
        assert f"{memory} is damaged: row " in told
        assert "aur mem repair" in told
    assert "aur mem repair" in filled.run("doctor").stdout
    assert "Was damaged: row " in filled.ok("mem", "repair")
    assert "find_me" in filled.ok("mem", "get", "a.py:find_me")
    assert "a lesson that stays" in filled.ok("mem", "search", "lesson that stays")
    assert "Nothing is damaged" in filled.ok("mem", "repair")
