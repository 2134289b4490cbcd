"""Many who ask while the memory changes: each sees what was there before, and few do the work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aurora.signals.base import Question
from aurora.signals.bm25 import BM25Scorer, BM25Signal
from aurora.signals.derived_index import IndexBehindError
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Progress
from tests.builders import NOW, make_chunk


class Watched(SQLiteStore):
    """Tells when somebody has asked how old the store is: that is when a question comes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.came = threading.Semaphore(0)

    def generation(self) -> int:
        generation = super().generation()
        self.came.release()
        return generation


class Slow(BM25Signal):
    """Waits in the middle of its work, each time until it may go on."""

    begun, may_go = threading.Semaphore(0), threading.Semaphore(0)
    times = 0

    def _update(self, generation: int) -> BM25Scorer:
        self.times += 1
        self.begun.release()
        assert self.may_go.acquire(timeout=30)
        return super()._update(generation)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Watched]:
    store = Watched(tmp_path / "memory.db")
    store.chunks.put_chunks([make_chunk(name="first")])
    yield store
    store.close()


def come(store: Watched) -> None:
    assert store.came.acquire(timeout=30)


def test_who_waits_takes_what_was_made_since(store: Watched, tmp_path: Path) -> None:
    signal = Slow(store, tmp_path / "bm25.idx", now=lambda: NOW)
    signal.may_go.release()
    assert len(signal.current()) == 1
    signal.begun.acquire()
    while store.came.acquire(blocking=False):
        pass

    with ThreadPoolExecutor(3) as pool:
        store.chunks.put_chunks([make_chunk(name="second")])
        one = pool.submit(signal.current)
        signal.begun.acquire()  # it is at work
        store.chunks.put_chunks([make_chunk(name="third")])
        while store.came.acquire(blocking=False):
            pass
        others = [pool.submit(signal.current) for _ in range(2)]
        come(store)
        come(store)  # both wait for the first, who need not have seen the third chunk
        signal.may_go.release()
        signal.begun.acquire()  # one of them does the work for both
        store.chunks.put_chunks([make_chunk(name="fourth")])
        signal.may_go.release()

        assert len(one.result(30)) >= 2
        assert [len(other.result(30)) >= 3 for other in others] == [True, True]
    assert signal.times == 3  # and the fourth chunk, which came later, was nobody's concern

    signal.may_go.release()
    assert len(signal.current()) == 4


def test_words_are_not_looked_up_in_an_index_that_a_run_is_ahead_of(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks([make_chunk(name="first")])
    signal = BM25Signal(store, tmp_path / "bm25.idx", now=lambda: NOW)
    signal.refresh()
    with store.alone() as tell:
        tell(Progress("Indexing", 1, 2))
        assert signal.score(Question("first", NOW)).best(9)
        store.chunks.put_chunks([make_chunk(name="second")])
        with pytest.raises(IndexBehindError):
            signal.score(Question("second", NOW))
        assert signal.usable() is not None
    assert signal.score(Question("second", NOW)).best(9)
    store.close()
