"""Old notes fade: exp(−ln 2 / half-life · age), by the date in the path (seed 001)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.signals.activation import HALF_LIFE, RecencySignal, recency
from aurora.signals.base import Question
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind
from tests.builders import hide, make_chunk

TODAY = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    store.close()


def put(store: SQLiteStore, *paths: str, kind: Kind = Kind.KNOWLEDGE) -> None:
    store.chunks.put_chunks([make_chunk("words", path, "n", kind=kind) for path in paths])


def factors(
    store: SQLiteStore, signal: RecencySignal | None = None, now: datetime = TODAY
) -> dict[str, float]:
    answer = (signal or RecencySignal(store)).score(Question("words", now))
    chunks = store.chunks.get_rows(list(store.chunks.revisions()))
    return {chunks[hit.row].path: hit.score for hit in answer.hits(list(chunks))}


@pytest.mark.parametrize(
    ("days", "factor"), [(0, 1), (30, 0.5), (60, 0.25), (15, math.sqrt(0.5)), (300, 2**-10)]
)
def test_half_is_left_after_every_half_life(days: float, factor: float) -> None:
    assert HALF_LIFE == 30
    assert recency(days) == pytest.approx(factor, rel=1e-12)
    assert recency(days / 10, half_life=3) == pytest.approx(factor, rel=1e-12)


@given(st.floats(-1e6, 1e6), st.floats(0.01, 1e5), st.floats(0, 1e4))
def test_it_never_grows_and_stays_between_none_and_all(
    age: float, half_life: float, more: float
) -> None:
    assert 0 < recency(age + more, half_life=half_life) <= recency(age, half_life=half_life) <= 1


def test_a_date_that_is_to_come_is_as_fresh_as_today() -> None:
    assert recency(-5) == recency(0) == 1


@pytest.mark.parametrize(
    ("path", "factor"),
    [
        ("2026-10-16.md", 0.5),
        ("notes/2026-10-16-standup.md", 0.5),
        ("notes/standup_2026-10-16.md", 0.5),
        ("2026-10-16/standup.md", 0.5),
        ("2000-01-01/2026-10-16.md", 0.5),
        ("2026-11-15.md", 1.0),
        ("2027-11-15.md", 1.0),
        ("MEMORY.md", None),
        ("2026-10.md", None),
        ("20261016.md", None),
        ("2026-02-30.md", None),
        ("2026-99-99.md", None),
        ("12026-10-16.md", None),
        ("2026-10-160.md", None),
        ("2026-10-16/2026-99-99.md", 0.5),  # the last that is a date
    ],
)
def test_the_date_is_the_last_in_the_path(
    store: SQLiteStore, path: str, factor: float | None
) -> None:
    put(store, path)
    assert factors(store) == ({} if factor is None else {path: pytest.approx(factor)})


def test_the_oldest_dates_fade_to_all_but_nothing(store: SQLiteStore) -> None:
    put(store, "0001-01-01.md", "1970-01-01.md", "9999-12-31.md")
    for half_life in (30.0, 0.001):
        found = factors(store, RecencySignal(store, half_life=half_life))
        assert found["9999-12-31.md"] == 1.0
        assert 0 < found["0001-01-01.md"] <= found["1970-01-01.md"] < 1e-100


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.KNOWLEDGE])
def test_only_knowledge_fades(store: SQLiteStore, kind: Kind) -> None:
    put(store, "migrations/2026-10-16.py", kind=kind)
    assert factors(store) == {}


def test_hours_count(store: SQLiteStore) -> None:
    put(store, "2026-11-15.md")
    noon = TODAY + timedelta(hours=12)
    assert factors(store, now=noon) == {"2026-11-15.md": pytest.approx(0.5 ** (0.5 / 30))}


def test_the_signal_follows_the_store(store: SQLiteStore) -> None:
    signal = RecencySignal(store)
    put(store, "2026-10-16.md")
    assert factors(store, signal) == {"2026-10-16.md": pytest.approx(0.5)}
    put(store, "2026-09-16.md", "MEMORY.md")
    assert factors(store, signal).keys() == {"2026-10-16.md", "2026-09-16.md"}
    store.chunks.delete_chunks(["2026-10-16.md:n"])
    assert factors(store, signal) == {"2026-09-16.md": pytest.approx(0.25)}
    hide(store, "2026-09-16.md:n")
    assert factors(store, signal) == {}


def test_ranks_are_by_date_and_the_same_day_is_the_same_rank(store: SQLiteStore) -> None:
    put(store, "2026-09-16.md", "a/2026-10-16.md", "b/2026-10-16.md", "2026-11-15.md")
    answer = RecencySignal(store).score(Question("words", TODAY))
    assert [hit.rank for hit in answer.hits([1, 2, 3, 4])] == [4, 2, 2, 1]
    assert answer.best(3) == [4, 2, 3]
