"""A file whose trees are torn: what can be read of it is kept, and it is whole again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.errors import StoreFormatError
from aurora.packing import pack_vector as pack
from aurora.stores.base import Embedder, FileState, Reasoning
from aurora.stores.sqlite import SQLiteStore
from tests.builders import make_chunk
from tests.cli.conftest import Shell

TINY = Embedder("tiny", 3, "abc")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHUNKS = [make_chunk(f"def f{n}(): {'pass ' * 40}", f"{n}.py", f"f{n}") for n in range(1500)]
ZEROS, NOISE = bytes(4096), b"\x55" * 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with closing(SQLiteStore(path)) as store:
        for chunk in CHUNKS[:5]:
            store.replace_file(FileState(chunk.path, 1, 1, "d"), [chunk])
        store.put_chunks(CHUNKS)
        store.put_embeddings(TINY, [(chunk.id, pack([1.0, 0.0, 0.0])) for chunk in CHUNKS])
        store.put_reasoning(CHUNKS[0].id, Reasoning("fix", 0.9, 3, NOW))
        for chunk in CHUNKS[:400]:
            store.record_access(chunk.id, NOW)
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


def overwrite(path: Path, table: str, kind: str, page: bytes) -> None:
    """Another content of a page in the middle of a table or index."""
    with closing(sqlite3.connect(path)) as file:
        wanted = "SELECT pgoffset FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path"
        found = [at for (at,) in file.execute(wanted, (table, kind))]
    data = bytearray(path.read_bytes())
    at = found[len(found) // 2]
    data[at : at + len(page)] = page
    path.write_bytes(data)


@pytest.mark.parametrize("page", [ZEROS, NOISE], ids=["zeros", "noise"])
@pytest.mark.parametrize(
    "index",
    ["sqlite_autoindex_chunks_1", "chunks_namespace", "chunks_path", "accesses_chunk",
     "chunks_words_data", "chunks_words_idx", "chunks_words_docsize", "chunks_words_config",
     "chunks_trigrams_data", "files", "sqlite_sequence"],
)  # fmt: skip
def test_an_index_is_made_anew_and_nothing_is_lost(path: Path, index: str, page: bytes) -> None:
    overwrite(path, index, "leaf", page)
    with closing(SQLiteStore(path)) as store:
        assert store.check() != []
        with pytest.raises(StoreFormatError, match="is damaged"):
            store.get_chunks([CHUNKS[0].id])
        assert store.repair() == []
        assert list(store.iter_chunks()) == CHUNKS
        assert store.count_vectors() == len(CHUNKS)
        assert len(store.get_accesses([chunk.id for chunk in CHUNKS])) == 400
        assert store.get_reasoning(CHUNKS[0].id) == Reasoning("fix", 0.9, 3, NOW)
        assert store.file_states() == {}  # so that all are read again
        assert store.embedder() == TINY
        assert store.check() == []


@pytest.mark.parametrize("page", [ZEROS, NOISE], ids=["zeros", "noise"])
def test_of_a_table_what_was_in_the_page_is_lost(path: Path, page: bytes) -> None:
    overwrite(path, "chunks", "leaf", page)
    with closing(SQLiteStore(path)) as store:
        before = store.check()
        assert before != []
        store.repair()
        left = list(store.iter_chunks())
        assert len(CHUNKS) - 20 < len(left) < len(CHUNKS)
        assert [chunk for chunk in left if chunk not in CHUNKS] == []
        assert store.count_vectors() == len(left)  # none of a chunk that is gone
        assert store.find_unembedded() == []
        assert store.check() == []


@pytest.mark.parametrize(("table", "kind"), [("chunks", "internal"), ("embeddings", "leaf")])
def test_more_may_be_lost_and_the_rest_is_whole(path: Path, table: str, kind: str) -> None:
    overwrite(path, table, kind, ZEROS)
    with closing(SQLiteStore(path)) as store:
        store.repair()
        assert store.check() == []
        assert [chunk for chunk in store.iter_chunks() if chunk not in CHUNKS] == []
        if table == "embeddings":
            assert len(store.find_unembedded()) > 0


def test_without_its_facts_it_is_another_memory(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        before = store.identity
    overwrite(path, "facts", "leaf", ZEROS)
    with closing(SQLiteStore(path)) as store:
        store.repair()
        assert store.identity != before
        assert store.generation() > max(store.revisions().values())
        assert (store.embedder(), store.count_vectors()) == (None, 0)
        assert list(store.iter_chunks()) == CHUNKS


def test_who_has_it_open_reads_what_was_saved(path: Path, store: SQLiteStore) -> None:
    assert store.get_chunks([CHUNKS[0].id])
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    with closing(SQLiteStore(path)) as other:
        other.repair()
    assert list(store.iter_chunks()) == CHUNKS
    assert [file.name for file in path.parent.iterdir() if file.is_dir()] == []


def test_what_a_killed_repair_left_is_taken_away(path: Path) -> None:
    left = path.with_name("memory.db-salvage")
    left.mkdir()
    (left / "memory.db").write_bytes(path.read_bytes()[:5000])
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    with closing(SQLiteStore(path)) as store:
        store.repair()
        assert list(store.iter_chunks()) == CHUNKS
    assert not left.exists()


def test_killed_while_it_saves_it_can_be_repaired_again(path: Path) -> None:
    overwrite(path, "chunks_namespace", "leaf", NOISE)
    program = f"""
import random, signal
from pathlib import Path
from aurora.stores.sqlite import SQLiteStore
store = SQLiteStore(Path({str(path)!r}))
end = random.choice([0.01, 0.05, 0.2, 0.6]) * random.uniform(0.1, 1)
signal.setitimer(signal.ITIMER_REAL, end)  # of the process
store.repair()"""
    ends = [
        subprocess.run([sys.executable, "-c", program], check=False).returncode for _ in range(8)
    ]
    assert set(ends) <= {-signal.SIGALRM, 0}
    assert -signal.SIGALRM in ends
    with closing(SQLiteStore(path)) as store:
        store.repair()
        assert list(store.iter_chunks()) == CHUNKS
        assert store.count_vectors() == len(CHUNKS)


def test_what_cannot_be_read_at_all_is_told_with_what_to_do(path: Path) -> None:
    overwrite(path, "sqlite_schema", "leaf", NOISE)
    with pytest.raises(StoreFormatError) as raised:
        SQLiteStore(path)
    assert f"mv {path} {path}.damaged" in str(raised.value.hint)


def test_a_person_gets_back_what_can_be_read(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def find_me():\n    return 1\n")
    shell = Shell(root, tmp_path / "home")
    shell.ok("init")
    shell.ok("mem", "index", ".")
    shell.ok("mem", "learn", "a lesson that stays")
    overwrite(root / ".aurora" / "memory.db", "chunks_path", "leaf", ZEROS)

    assert "aur mem repair" in shell.fails("mem", "search", "lesson")
    done = shell.run("mem", "repair")
    assert (done.returncode, "Was damaged: " in done.stdout) == (0, True)
    assert "`aur mem index` reads the files again" in done.stderr
    shell.ok("mem", "index", ".")
    assert "a lesson that stays" in shell.ok("mem", "search", "lesson that stays")
    assert "return 1" in shell.ok("mem", "get", "a.py:find_me")
