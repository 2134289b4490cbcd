"""Use as a signal: what a store remembers of openings and commits, turned into scores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aurora.signals.activation import ActivationEngine, ActivationSignal
from aurora.signals.base import Question
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import ChunkHistory, Hit, Tracking
from tests.builders import NOW, make_chunk

OPENED, COMMITTED, BOTH, NEVER = (make_chunk(name=name) for name in "abcd")
TODAY, BEFORE = NOW, NOW - timedelta(days=4)
ROWS = {OPENED.id: 1, COMMITTED.id: 2, BOTH.id: 3, NEVER.id: 4}
QUESTION = Question("anything", NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks([OPENED, COMMITTED, BOTH, NEVER])
    store.chunks.record_access(OPENED.id, TODAY)
    store.chunks.record_access(BOTH.id, TODAY)
    seconds = (int(BEFORE.timestamp()),)
    store.chunks.put_histories(
        {id_: ChunkHistory(Tracking.TRACKED, seconds) for id_ in (COMMITTED.id, BOTH.id)}
    )
    yield store
    store.close()


def test_openings_and_commits_count_alike(store: SQLiteStore) -> None:
    """S is 1 for today and ½ for four days ago, and P is S / (1 + S)."""
    assert store.chunks.revisions().keys() == set(ROWS.values())
    assert ActivationSignal(store).score(QUESTION).hits(list(ROWS.values())) == [
        Hit(1, pytest.approx(1 / 2), 2),
        Hit(2, pytest.approx(1 / 3), 3),
        Hit(3, pytest.approx(3 / 5), 1),
    ]


def test_ranks_are_those_among_the_rows_asked_for(store: SQLiteStore) -> None:
    assert ActivationSignal(store).score(QUESTION).hits([2, 4]) == [Hit(2, pytest.approx(1 / 3), 1)]


def test_it_proposes_nothing(store: SQLiteStore) -> None:
    answer = ActivationSignal(store).score(QUESTION)
    assert answer.best(9) == answer.best(9, among=[1, 2, 3]) == []


def test_another_engine_may_forget_nothing(store: SQLiteStore) -> None:
    hits = ActivationSignal(store, ActivationEngine(decay=0.0)).score(QUESTION).hits([1, 2])
    assert hits == [Hit(1, 0.5, 1), Hit(2, 0.5, 1)]
