"""A file whose trees are torn: what can be read of it is kept, and it is whole again."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import pytest

from aurora.errors import StoreError, StoreFormatError
from aurora.packing import pack_vector as pack
from aurora.stores.base import Embedder, FileState, Reasoning
from aurora.stores.sqlite.integrity import Seal
from aurora.stores.sqlite.repair import reclaim
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, ChunkHistory, Tracking
from tests.builders import make_chunk
from tests.cli.conftest import Shell

TINY = Embedder("tiny", 3, "abc")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHUNKS = [
    make_chunk(
        f"def f{n}(): {'pass ' * 40}", f"{n}.py", f"f{n}",
        metadata={"symbols": [[f"LIMIT_{n}", "constant", 1, 1]]},
    )
    for n in range(1500)
]  # fmt: skip
LIMITS = range(0, len(CHUNKS), 100)  # symbols that are looked for
USED = 1200  # more than are read at once
KEPT = 900  # where the others are deleted
PAGE = 4096
ZEROS, NOISE = bytes(PAGE), b"\x55" * PAGE


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with closing(SQLiteStore(path)) as store:
        for chunk in CHUNKS[:5]:
            store.chunks.replace_file(FileState(chunk.path, 1, 1, "d"), [chunk])
        store.chunks.put_chunks(CHUNKS)
        store.vectors.put_embeddings(TINY, [(chunk.id, pack([1.0, 0.0, 0.0])) for chunk in CHUNKS])
        store.chunks.put_reasoning(CHUNKS[0].id, Reasoning("fix", 0.9, 3, NOW))
        with store.transaction():
            for chunk in reversed(CHUNKS[:USED]):
                store.chunks.record_access(chunk.id, NOW)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / "memory.db"
    path.write_bytes(whole)
    return path


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path)) as store:
        yield store


def overwrite(path: Path, table: str, kind: str, page: bytes) -> int:
    """Another content of a page in the middle of a table or index; returns the rows it had."""
    with closing(sqlite3.connect(path)) as file:
        wanted = "SELECT pgoffset, ncell FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path"
        found = file.execute(wanted, (table, kind)).fetchall()
    data = bytearray(path.read_bytes())
    at, rows = found[len(found) // 2]
    data[at : at + len(page)] = page
    path.write_bytes(data)
    return int(rows)


def sorted_by_id(chunks: list[Chunk]) -> list[Chunk]:
    return sorted(chunks, key=lambda chunk: chunk.id)


def count_accesses(store: SQLiteStore) -> int:
    return sum(map(len, store.chunks.get_accesses([chunk.id for chunk in CHUNKS]).values()))


def find_limits(store: SQLiteStore) -> list[str]:
    """The names of some symbols, by another spelling."""
    found = (store.search.find_definitions(f"limit{number}", limit=2) for number in LIMITS)
    return [definition.name for definitions in found for definition in definitions]


INDEXES = (
    "sqlite_autoindex_chunks_1", "chunks_namespace", "chunks_path", "accesses_chunk",
    "chunks_words_data", "chunks_words_idx", "chunks_words_docsize", "chunks_words_config",
    "chunks_trigrams_data", "files", "sqlite_sequence", "symbols", "symbols_chunk",
)  # fmt: skip


@pytest.mark.parametrize(
    ("index", "page"), list(zip(INDEXES, cycle([ZEROS, NOISE]))), ids=INDEXES
)  # fmt: skip
def test_an_index_is_made_anew_and_nothing_is_lost(path: Path, index: str, page: bytes) -> None:
    overwrite(path, index, "leaf", page)
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() != []
        assert list(store.chunks.iter_chunks()) == CHUNKS  # read past the index
        assert f"{path} is damaged: " in store.maintenance.damage()
        assert store.maintenance.repair() == []
        assert store.maintenance.damage() == ""
        assert list(store.chunks.iter_chunks()) == CHUNKS
        assert store.vectors.count_vectors() == len(CHUNKS)
        assert count_accesses(store) == USED
        assert find_limits(store) == [f"LIMIT_{number}" for number in LIMITS]
        assert store.chunks.get_reasoning(CHUNKS[0].id) == Reasoning("fix", 0.9, 3, NOW)
        assert store.chunks.file_states() == {}  # so that all are read again
        assert store.vectors.embedder() == TINY
        assert store.maintenance.check() == []


@pytest.mark.parametrize("page", [ZEROS, NOISE], ids=["zeros", "noise"])
def test_of_a_table_what_was_in_the_page_is_lost(path: Path, page: bytes) -> None:
    lost = overwrite(path, "chunks", "leaf", page)
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() != []
        rescued = list(store.chunks.iter_chunks())
        told = f"At least {lost} chunks cannot be read, so that answers may be incomplete. `aur"
        assert told in store.maintenance.damage()
        gone = store.maintenance.repair()
        left = list(store.chunks.iter_chunks())
        assert left == rescued
        assert gone == [chunk.id for chunk in sorted_by_id(CHUNKS) if chunk not in left]
        assert 0 < lost == len(CHUNKS) - len(left)
        assert [chunk for chunk in left if chunk not in CHUNKS] == []
        assert store.vectors.count_vectors() == len(left)  # none of a chunk that is gone
        assert store.vectors.find_unembedded() == []
        assert store.maintenance.check() == []


def test_of_what_was_used_no_more_is_lost_and_nothing_is_there_twice(path: Path) -> None:
    lost = overwrite(path, "accesses", "leaf", ZEROS)
    with closing(SQLiteStore(path)) as store:
        store.maintenance.repair()
        assert 0 < lost == USED - count_accesses(store)
        assert list(store.chunks.iter_chunks()) == CHUNKS


@pytest.mark.parametrize(("table", "kind"), [("chunks", "internal"), ("embeddings", "leaf")])
def test_more_may_be_lost_and_the_rest_is_whole(path: Path, table: str, kind: str) -> None:
    overwrite(path, table, kind, ZEROS)
    with closing(SQLiteStore(path)) as store:
        store.maintenance.repair()
        assert store.maintenance.check() == []
        assert [chunk for chunk in store.chunks.iter_chunks() if chunk not in CHUNKS] == []
        if table == "embeddings":
            assert len(store.vectors.find_unembedded()) > 0


def test_without_its_facts_it_is_another_memory(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        before = store.identity
    overwrite(path, "facts", "leaf", ZEROS)
    with closing(SQLiteStore(path)) as store:
        store.maintenance.repair()
        assert store.identity != before
        assert store.generation() > max(store.chunks.revisions().values())
        assert (store.vectors.embedder(), store.vectors.count_vectors()) == (None, 0)
        assert list(store.chunks.iter_chunks()) == CHUNKS


def test_who_has_it_open_reads_what_was_saved(path: Path, store: SQLiteStore) -> None:
    assert store.chunks.get_chunks([CHUNKS[0].id])
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    with closing(SQLiteStore(path)) as other:
        other.maintenance.repair()
    assert list(store.chunks.iter_chunks()) == CHUNKS
    assert [file.name for file in path.parent.iterdir() if file.is_dir()] == []


def test_what_a_killed_repair_left_is_taken_away(path: Path) -> None:
    left = path.with_name("memory.db-salvage")
    left.mkdir()
    (left / "memory.db").write_bytes(path.read_bytes()[:5000])
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    with closing(SQLiteStore(path)) as store:
        store.maintenance.repair()
        assert list(store.chunks.iter_chunks()) == CHUNKS
    assert not left.exists()


def test_killed_while_it_saves_it_can_be_repaired_again(path: Path) -> None:
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    program = f"""
import random, signal
from pathlib import Path
from aurora.stores.sqlite.repair import reclaim
from aurora.stores.sqlite.store import SQLiteStore
store = SQLiteStore(Path({str(path)!r}))
end = random.choice([0.01, 0.05, 0.2, 0.6]) * random.uniform(0.1, 1)
signal.setitimer(signal.ITIMER_REAL, end)  # of the process
store.maintenance.repair()"""
    ends = [
        subprocess.run([sys.executable, "-c", program], check=False).returncode for _ in range(8)
    ]
    assert set(ends) <= {-signal.SIGALRM, 0}
    assert -signal.SIGALRM in ends
    with closing(SQLiteStore(path)) as store:
        store.maintenance.repair()
        assert list(store.chunks.iter_chunks()) == CHUNKS
        assert store.vectors.count_vectors() == len(CHUNKS)


def test_what_sqlite_finds_is_told_without_its_heading(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[36:40] = (5).to_bytes(4)  # free pages, of which there are none
    path.write_bytes(data)
    with closing(SQLiteStore(path)) as store:
        [problem] = store.maintenance.check()
        assert problem.endswith("reelist: size is 0 but should be 5")
        assert "*" not in problem
        assert store.maintenance.repair() == []
        assert store.maintenance.check() == []
        assert list(store.chunks.iter_chunks()) == CHUNKS


def test_where_nothing_new_can_be_laid_beside_it_that_is_told(path: Path) -> None:
    there = path.with_name("memory.db-salvage")
    there.touch()
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    with (
        closing(SQLiteStore(path)) as store,
        pytest.raises(StoreError, match=f"Cannot make the folder {re.escape(str(there))}: "),
    ):
        store.maintenance.repair()
    assert there.exists()


def test_a_page_that_goes_bad_below_its_seal_is_told_with_the_file(path: Path) -> None:
    overwrite(path, "chunks", "leaf", NOISE)
    seal = Seal(path)
    with seal.turn():
        seal.put(seal.doubt())
    with closing(SQLiteStore(path)) as store, pytest.raises(StoreFormatError) as raised:
        list(store.chunks.iter_chunks())
    told = f"{path} is not a usable database: database disk image is malformed"
    assert raised.value.message == told


def test_what_cannot_be_read_at_all_is_told_with_what_to_do(path: Path) -> None:
    overwrite(path, "sqlite_schema", "leaf", NOISE)
    with pytest.raises(StoreFormatError) as raised:
        SQLiteStore(path)
    assert raised.value.hint == (
        "`aur mem repair` keeps all that can be read; if it cannot be opened, keep it "
        f"(`mv {path} {path}.damaged`) and put a backup in its place, or index again and "
        "`aur mem import` an export"
    )


def test_a_person_gets_back_what_can_be_read(filled: Shell) -> None:
    overwrite(filled.cwd / ".aurora" / "memory.db", "chunks_path", "leaf", ZEROS)

    found = filled.run("mem", "search", "lesson that stays")
    assert "a lesson that stays" in found.stdout
    assert "All of its chunks can be read. `aur mem repair` keeps" in found.stderr
    assert "aur mem repair" in filled.fails("mem", "learn", "a lesson that is refused")
    done = filled.run("mem", "repair")
    assert (done.returncode, "Was damaged: " in done.stdout) == (0, True)
    assert "`aur mem index` reads the files again" in done.stderr
    filled.ok("mem", "index", ".")
    assert "a lesson that stays" in filled.ok("mem", "search", "lesson that stays")
    assert "return 1" in filled.ok("mem", "get", "a.py:find_me")


def leak(data: bytearray) -> None:
    """A page at the end that nothing leads to."""
    data += bytes(PAGE)
    set_number(data, 28, number(data, 28) + 1)


def leak_many(data: bytearray) -> None:
    for _ in range(40):
        leak(data)


def forget_free_pages(data: bytearray) -> None:
    """Pages that were free, and are neither used nor free now."""
    set_number(data, 32, 0)
    set_number(data, 36, 0)


def lose_free_pages(data: bytearray) -> None:
    """A list of free pages that leads out of the file."""
    set_number(data, 32, len(data) // PAGE + 9)


def take_free_pages_twice(data: bytearray) -> None:
    """A list of free pages that names pages in use: what is written next goes over their rows."""
    trunk = (number(data, 32) - 1) * PAGE
    for leaf in range(number(data, trunk + 4)):
        set_number(data, trunk + 8 + 4 * leaf, 3 + leaf)


def count_free_pages_wrong(data: bytearray) -> None:
    set_number(data, (number(data, 32) - 1) * PAGE + 4, 1)


STRUCTURES = [
    leak, leak_many, forget_free_pages, lose_free_pages, take_free_pages_twice,
    count_free_pages_wrong,
]  # fmt: skip


def number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4])


def set_number(data: bytearray, at: int, value: int) -> None:
    data[at : at + 4] = value.to_bytes(4)


@pytest.fixture(scope="module")
def with_free_pages(tmp_path_factory: pytest.TempPathFactory, whole: bytes) -> bytes:
    path = tmp_path_factory.mktemp("free") / "memory.db"
    path.write_bytes(whole)
    with closing(SQLiteStore(path)) as store:
        store.chunks.put_histories({CHUNKS[1].id: ChunkHistory(Tracking.TRACKED, (5, 7), False)})
        store.chunks.delete_chunks([chunk.id for chunk in CHUNKS[KEPT:]])
    data = path.read_bytes()
    assert number(data, 36) > 9  # free pages
    return data


@pytest.fixture
def leaking(tmp_path: Path, with_free_pages: bytes, request: pytest.FixtureRequest) -> Path:
    """A file whose rows are whole, and whose pages are not accounted for."""
    path, data = tmp_path / "memory.db", bytearray(with_free_pages)
    request.param(data)
    path.write_bytes(data)
    return path


def everything(store: SQLiteStore) -> object:
    with store.snapshot() as still:
        return (
            list(still.maintenance.iter_records()),
            still.vectors.embedder(),
            still.maintenance.count_records(),
        )


@pytest.mark.parametrize("leaking", STRUCTURES, indirect=True)
def test_a_file_whose_rows_can_all_be_read_is_repaired_with_all_of_them(
    leaking: Path, with_free_pages: bytes
) -> None:
    other = leaking.with_name("other.db")
    other.write_bytes(with_free_pages)
    with closing(SQLiteStore(other)) as store:
        before = everything(store)
    with closing(SQLiteStore(leaking)) as store:
        assert store.maintenance.check() != []
        assert store.maintenance.repair() == []
        assert (everything(store), store.maintenance.check()) == (before, [])
        store.chunks.put_chunks(CHUNKS)  # which takes free pages
        assert store.maintenance.check() == []


@pytest.mark.parametrize("leaking", STRUCTURES, indirect=True)
def test_before_that_all_of_it_is_read_and_nothing_is_written(
    leaking: Path, with_free_pages: bytes
) -> None:
    other = leaking.with_name("other.db")
    other.write_bytes(with_free_pages)
    with closing(SQLiteStore(other)) as store:
        before = everything(store), store.chunks.file_states(), store.identity, store.generation()
    data = leaking.read_bytes()
    with closing(SQLiteStore(leaking)) as store:
        now = everything(store), store.chunks.file_states(), store.identity, store.generation()
        assert now == before
        assert f"{leaking} is damaged: " in store.maintenance.damage()
        assert (
            ". All of its chunks can be read. `aur mem repair` keeps all"
            in store.maintenance.damage()
        )
        with pytest.raises(StoreFormatError, match="is damaged") as raised:
            store.chunks.put_chunks(CHUNKS)
        assert "aur mem repair" in str(raised.value.hint)
    assert leaking.read_bytes() == data


def cut(path: Path) -> None:
    """What a full disk or a copy that was stopped leaves: the end is missing."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 10 * 7])


def spoil_header(path: Path) -> None:
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


@pytest.mark.parametrize("spoil", [cut, spoil_header])
def test_a_file_that_cannot_be_opened_is_put_back_with_all_that_can_be_read(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(path)
    data = path.read_bytes()
    with pytest.raises(StoreFormatError, match="is not a usable database"):
        SQLiteStore(path)
    reclaimed = reclaim(path)
    assert reclaimed is not None
    kept, lost = reclaimed
    assert (kept.name, kept.read_bytes()) == ("memory.db.damaged", data)
    with closing(SQLiteStore(path)) as store:
        assert (store.maintenance.repair(), store.maintenance.check()) == ([], [])
        left = list(store.chunks.iter_chunks())
        assert [chunk for chunk in left if chunk not in CHUNKS] == []
        assert len(left) == len(CHUNKS) if spoil is spoil_header else len(left) > 200  # of 1500
        assert {*lost}.isdisjoint(chunk.id for chunk in left)
        assert (lost == []) == (spoil is spoil_header)
        assert store.chunks.get_reasoning(CHUNKS[0].id) == Reasoning("fix", 0.9, 3, NOW)
    assert reclaim(path) is None
    assert sorted(file.suffix for file in path.parent.iterdir() if file.is_dir()) == []


def test_a_file_of_which_nothing_can_be_read_is_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"Dear diary,\n" * 5000)
    with pytest.raises(StoreFormatError, match="is not a usable database") as raised:
        reclaim(path)
    assert "put a backup in its place" in str(raised.value.hint)
    assert path.read_bytes() == b"Dear diary,\n" * 5000
    assert [file.name for file in path.parent.iterdir() if "damaged" in file.name] == []


def test_what_is_kept_of_a_damaged_file_is_never_overwritten(path: Path, whole: bytes) -> None:
    for name in ("memory.db.damaged", "memory.db.damaged-2"):
        spoil_header(path)
        reclaimed = reclaim(path)
        assert reclaimed is not None
        assert reclaimed.kept.name == name
        assert reclaimed.kept.read_bytes()[100:] == whole[100:]
        path.write_bytes(whole)


def test_a_person_gets_back_a_file_that_was_cut_off(filled: Shell) -> None:
    memory = filled.cwd / ".aurora" / "memory.db"
    memory.write_bytes(memory.read_bytes()[:-PAGE])
    assert "aur mem repair" in filled.fails("mem", "search", "lesson")
    done = filled.run("mem", "repair")
    assert (done.returncode, done.stdout) == (0, "Was damaged: it could not be opened\n")
    assert "memory.db.damaged: `aur mem forget` does not reach it" in done.stderr
    filled.ok("mem", "index", ".")
    assert "a lesson that stays" in filled.ok("mem", "search", "lesson that stays")


def test_many_threads_read_a_damaged_file_at_once(path: Path) -> None:
    overwrite(path, "chunks_path", "leaf", ZEROS)
    with closing(SQLiteStore(path)) as store, ThreadPoolExecutor(8) as threads:
        read = [threads.submit(lambda: list(store.chunks.iter_chunks())) for _ in range(16)]
        assert all(one.result() == CHUNKS for one in read)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which files are open")
def test_the_copy_that_answers_come_from_has_no_name(tmp_path: Path) -> None:
    """A killed process must not leave the texts of a memory in a folder for temporary files."""
    program = """
import os
from aurora.stores.sqlite.database_file import connect_temporary
copy = connect_temporary()
copy.execute("CREATE TABLE large AS SELECT zeroblob(20000000)")
open_files = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
print(*open_files, "and named:", os.listdir(os.environ["SQLITE_TMPDIR"]))"""
    environ = {**os.environ, "SQLITE_TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert f"{tmp_path}/" in done.stdout  # it is on the disk
    assert done.stdout.endswith("and named: []\n")
