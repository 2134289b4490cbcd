"""How an index file stands to its store: told without loading, making or mending anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_formula import BM25Parameters
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import IndexState
from tests.builders import NOW, make_chunk
from tests.signals.vectored import VectorBench


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks([make_chunk(f"def f{n}(): pass", name=f"f{n}") for n in range(500)])
    yield store
    store.close()


@pytest.fixture
def signal(store: SQLiteStore, tmp_path: Path) -> BM25Signal:
    return keyword_index(store, tmp_path)


def keyword_index(store: SQLiteStore, folder: Path, k1: float = 1.5) -> BM25Signal:
    parameters = BM25Parameters(k1=k1)
    return BM25Signal(store, folder / "bm25.idx", now=lambda: NOW, parameters=parameters)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8192] ^= 1
    path.write_bytes(content)


def test_an_index_that_nobody_made_is_missing(signal: BM25Signal, tmp_path: Path) -> None:
    assert signal.check().state is IndexState.MISSING
    assert not (tmp_path / "bm25.idx").exists()


def test_an_index_of_the_store_as_it_is_now_is_current(signal: BM25Signal) -> None:
    signal.refresh()
    assert signal.check().state is signal.check(whole=True).state is IndexState.CURRENT


def test_an_index_of_the_store_as_it_was_is_behind(store: SQLiteStore, signal: BM25Signal) -> None:
    signal.refresh()
    store.chunks.put_chunks([make_chunk("def late(): pass", name="late")])
    assert signal.check().state is IndexState.BEHIND


def test_an_index_of_another_store_is_outdated(store: SQLiteStore, tmp_path: Path) -> None:
    keyword_index(store, tmp_path).refresh()
    other = SQLiteStore(tmp_path / "other.db")
    check = keyword_index(other, tmp_path).check()
    other.close()
    assert check.state is IndexState.OUTDATED
    assert "another memory" in check.reason


def test_a_header_that_is_none_is_damage(signal: BM25Signal, tmp_path: Path) -> None:
    (tmp_path / "bm25.idx").write_bytes(b"Dear diary")
    assert signal.check().state is IndexState.DAMAGED
    assert (tmp_path / "bm25.idx").read_bytes() == b"Dear diary"


def test_only_a_check_of_the_whole_sees_a_flipped_bit(signal: BM25Signal, tmp_path: Path) -> None:
    signal.refresh()
    flip_a_bit(tmp_path / "bm25.idx")
    assert signal.check().state is IndexState.CURRENT
    check = signal.check(whole=True)
    assert check.state is IndexState.DAMAGED
    assert "checksum" in check.reason


def test_a_folder_in_place_of_the_file_is_damage(signal: BM25Signal, tmp_path: Path) -> None:
    (tmp_path / "bm25.idx").mkdir()
    check = signal.check()
    assert check.state is IndexState.DAMAGED
    assert "cannot be read" in check.reason


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda _: None, IndexState.CURRENT),
        (lambda bench: bench.store.chunks.put_chunks([make_chunk("later")]), IndexState.BEHIND),
        (lambda bench: os.truncate(bench.path, 9000), IndexState.DAMAGED),
        (lambda bench: bench.path.unlink(), IndexState.MISSING),
    ],
    ids=["as made", "a chunk later", "cut short", "deleted"],
)
def test_the_vector_index_is_told_the_same_way(
    tmp_path: Path, change: Callable[[VectorBench], object], state: IndexState
) -> None:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([make_chunk("aaa", name="a")])
    bench.embed()
    bench.index().current()
    change(bench)
    assert bench.index().check(whole=True).state is state
    bench.store.close()


def test_a_check_needs_no_numpy(signal: BM25Signal, tmp_path: Path) -> None:
    signal.refresh()
    program = (
        "import sys; from pathlib import Path\n"
        "from aurora.signals.bm25 import BM25Signal\n"
        "from aurora.stores.sqlite.store import SQLiteStore\n"
        "folder = Path(sys.argv[1]); store = SQLiteStore(folder / 'memory.db')\n"
        "print(BM25Signal(store, folder / 'bm25.idx', now=None).check(whole=True).state)\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["current", "False"]
