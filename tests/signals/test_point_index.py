"""The plane in which chunks of one matter lie together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aurora.packing import pack_vector, unit_vector
from aurora.signals.point_index import PointIndex
from aurora.stores.base import Embedder, Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, IndexState
from tests.builders import NOW, make_chunk

MODEL = Embedder("tiny", 8, "abc")


def put(store: Store, name: str, vector: list[float]) -> None:
    store.chunks.put_chunks([make_chunk(name, name=name)])
    store.vectors.put_embeddings(MODEL, [(f"a.py:{name}", pack_vector(unit_vector(vector)))])


def put_two_matters(store: Store, each: int = 30) -> None:
    """Vectors around two opposite directions, with a smaller difference inside each."""
    random = np.random.default_rng(7)
    for number in range(2 * each):
        vector = random.normal(0, 0.05, 8)
        vector[0] += 1 if number < each else -1
        vector[1] += 0.3 * random.normal()
        put(store, f"f{number}", vector.tolist())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def index(store: Store, tmp_path: Path) -> PointIndex:
    return PointIndex(store, tmp_path / "points.idx", now=lambda: NOW)


def test_matters_lie_apart(store: Store, index: PointIndex) -> None:
    put_two_matters(store)

    points = index.current().points
    one, other = points[:30], points[30:]

    spread = max(one.std(axis=0).max(), other.std(axis=0).max())
    assert np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)) > 2 * spread
    assert np.abs(points).max() < 2


def test_a_vector_is_placed_where_its_chunk_is(store: Store, index: PointIndex) -> None:
    put_two_matters(store)
    points = index.current()
    vector = np.zeros((1, 8), np.float32)
    vector[0, 0] = 1
    put(store, "same", vector[0].tolist())

    [again] = index.current().place(vector)

    assert again == pytest.approx(index.current().points[-1], abs=1e-3)
    assert len(index.current()) == len(points) + 1


def test_points_stay_where_they_are_when_others_come(store: Store, index: PointIndex) -> None:
    put_two_matters(store)
    before = index.current()
    store.chunks.delete_chunks(["a.py:f3"])
    put(store, "new", [0, 0, 0, 1, 0, 0, 0, 0])

    after = index.current()

    kept = np.isin(before.rows, after.rows)
    assert kept.sum() == 59
    assert after.points[:-1].tolist() == before.points[kept].tolist()


def test_the_file_is_used_again_and_a_damaged_one_is_made_again(
    store: Store, tmp_path: Path
) -> None:
    put_two_matters(store)
    events: list[Event] = []
    path = tmp_path / "points.idx"
    first = PointIndex(store, path, now=lambda: NOW, listen=events.append)
    points = first.current().points.tolist()
    assert first.check().state is IndexState.CURRENT

    again = PointIndex(store, path, now=lambda: NOW, listen=events.append)
    assert again.current().points.tolist() == points
    assert events == []

    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    damaged = PointIndex(store, path, now=lambda: NOW, listen=events.append)
    assert damaged.current().points.tolist() == points
    assert len(events) == 1


def test_many_new_vectors_make_new_directions(store: Store, index: PointIndex) -> None:
    put(store, "first", [1, 0, 0, 0, 0, 0, 0, 0])
    lonely = index.current().basis
    put_two_matters(store)

    assert not np.array_equal(index.current().basis, lonely)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_vectors(store: Store, index: PointIndex, count: int) -> None:
    for number in range(count):
        put(store, f"f{number}", [1.0, float(number), 0, 0, 0, 0, 0, 0])

    points = index.current().points

    assert points.shape == (count, 2)
    assert np.isfinite(points).all()
