"""Merging when the index is damaged, of another life of the store, or overtaken by a writer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from aurora.signals.base import Question
from aurora.signals.bm25 import BM25Signal
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Note
from tests.builders import NOW, hide, make_chunk
from tests.signals.merging import Bench, Raced

CORRUPTED = Note("BM25 index corrupted, rebuilding...", warning=True)


@pytest.mark.parametrize("word", [b"number", b"a.py:two"], ids=["term", "id"])
def test_a_damaged_index_is_not_merged_but_rebuilt(bench: Bench, word: bytes) -> None:
    bench.signal().refresh()
    whole = bench.path.read_bytes()
    assert word in whole
    bench.path.write_bytes(whole.replace(word, bytes(reversed(word))))
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    bench.rows_read()

    assert bench.signal().refresh() == 5

    assert (bench.rows_read()[-1], bench.events) == (None, [CORRUPTED])
    assert bench.saved() == bench.rebuilt()


def test_an_index_cut_short_while_in_use_is_rebuilt(bench: Bench) -> None:
    bench.signal().refresh()
    signal = bench.signal()
    signal.refresh()
    os.truncate(bench.path, 100)
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    assert signal.refresh() == 5
    assert bench.events == [CORRUPTED]
    assert bench.saved() == bench.rebuilt()


@pytest.mark.parametrize("after", [[], [make_chunk("there", name="two")]], ids=["at-once", "later"])
def test_an_index_of_another_life_of_the_store_leaves_no_trace(
    bench: Bench, after: list[Chunk]
) -> None:
    """A backup restored: what was indexed since it was made has the same rows and other texts."""
    bench.signal().refresh()
    bench.store.close()
    shutil.copy(bench.folder / "memory.db", bench.folder / "backup.db")
    bench.store.chunks.put_chunks(
        [make_chunk("here", name="two"), make_chunk("number five", name="five")]
    )
    bench.signal().refresh()
    bench.store.close()

    shutil.move(bench.folder / "backup.db", bench.folder / "memory.db")
    bench.open()
    bench.store.chunks.put_chunks(after)
    signal = bench.signal()

    assert signal.score(Question("here five", NOW)).best(9) == []
    assert len(signal.score(Question("there", NOW)).best(9)) == len(after)
    assert bench.saved() == bench.rebuilt()


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.chunks.delete_chunks(["a.py:two"]),
        lambda store: store.chunks.put_chunks([make_chunk("raced", name="two")]),
        lambda store: store.chunks.put_chunks([make_chunk("raced", name="one")]),
        lambda store: hide(store, "a.py:two"),
        lambda store: store.chunks.forget_files(["a.py"]),
    ],
    ids=["deleted", "changed", "another-changed", "hidden", "everything-gone"],
)
def test_what_another_process_writes_meanwhile_comes_with_the_next_look(
    bench: Bench, write: Callable[[SQLiteStore], object]
) -> None:
    bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("changed", name="two")])
    raced = Raced(bench.store.path)
    raced.chunks.write = write
    signal = BM25Signal(raced, bench.path, now=lambda: NOW)

    signal.refresh()
    signal.refresh()

    assert bench.saved() == bench.rebuilt()
    raced.close()


def test_a_text_read_late_is_known_by_its_own_revision(bench: Bench) -> None:
    """Otherwise a backup of the moment before would find its text taken for known."""
    bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("changed", name="two")])
    bench.store.close()
    shutil.copy(bench.folder / "memory.db", bench.folder / "backup.db")
    raced = Raced(bench.store.path)
    raced.chunks.write = lambda store: store.chunks.put_chunks([make_chunk("raced", name="two")])
    BM25Signal(raced, bench.path, now=lambda: NOW).refresh()
    raced.close()

    shutil.move(bench.folder / "backup.db", bench.folder / "memory.db")
    bench.open()
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    bench.signal().refresh()

    assert bench.saved() == bench.rebuilt()
