"""What must be true of a memory, whenever whoever changed it was killed."""

from __future__ import annotations

import gc
import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

import psycopg

from aurora.engine.location import PostgresLocation, SqliteLocation, StoreLocation
from aurora.errors import NoMemoryError, StoreFormatError
from aurora.indexing.embedding import ChunkText, embedding_text, vectors_of
from aurora.packing import unpack_vector
from aurora.signals.semantic import cosine
from aurora.stores.base import Embedder, FileState, Record, Store
from tests.crash.operations import Operation, Unit
from tests.crash.projects import QUERIES
from tests.crash.providers import PROVIDERS, SHALLOW
from tests.crash.world import World
from tests.postgres.processes import wait_until

Answers = list[list[tuple[str, float]]]


@dataclass(frozen=True)
class State:
    """All that a memory holds, whatever its order. Of vectors only that they are there."""

    records: Mapping[str, Record]
    files: Mapping[str, FileState]
    embedded: frozenset[str]
    embedder: Embedder | None
    indexed_at: datetime | None

    def units(self, unit: Unit) -> dict[str, list[object]]:
        """Chunks and files by what they change with. Histories come later, and are not of it."""
        found: defaultdict[str, list[object]] = defaultdict(list)
        for id_, record in self.records.items():
            found[unit(id_, record.chunk.path)].append(replace(record, history=None))
        for path, state in self.files.items():
            found[unit("", path)].append(replace(state, history_stamp="", history_read_at=None))
        return found


def require_same(found: State | None, expected: State | None) -> None:
    """Or tell in what they differ."""
    if found != expected:
        assert found is not None
        assert expected is not None
        assert found.indexed_at == expected.indexed_at
        assert found.embedder == expected.embedder
        assert found.embedded == expected.embedded, "others have vectors"
        for name in ("files", "records"):
            one, other = getattr(found, name), getattr(expected, name)
            keys = one.keys() | other.keys()
            differing = {key: (one.get(key), other.get(key)) for key in keys}
            assert not {key: pair for key, pair in differing.items() if pair[0] != pair[1]}, name


NOTHING = State({}, {}, frozenset(), None, None)


def look(world: World) -> State | None:
    """What a memory holds that must be whole; none of one that has to be migrated first."""
    at = world.whereabouts
    if isinstance(at, PostgresLocation):
        _wait_until_alone(at.url)
    elif isinstance(at, SqliteLocation):
        if at.stamp() is None:
            return NOTHING
        with closing(sqlite3.connect(at.path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = _look_into(at)
    if found == NOTHING:
        gc.collect()  # or a connection may stay: see `test_leftovers`
    return found


def _look_into(at: StoreLocation) -> State | None:
    try:
        with closing(at.open()) as store:
            assert store.maintenance.check() == []
            return _read(store)
    except NoMemoryError:
        return NOTHING
    except StoreFormatError as exc:
        assert "older Aurora" in exc.message  # noqa: PT017
        return None


def _wait_until_alone(url: str) -> None:
    """A server goes on for a moment with what one who is dead has asked it for."""
    others = (
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s "
        "AND backend_type = 'client backend'"
    )
    with psycopg.connect(url, autocommit=True) as server:
        me = [server.info.backend_pid]
        wait_until(lambda: not server.execute(others, me).fetchall(), "the end of what was asked")


def _read(store: Store) -> State:
    records = {record.chunk.id: record for record in store.maintenance.iter_records()}
    embedder = store.vectors.embedder()
    for record in records.values():
        if record.vector is not None:
            assert embedder is not None
            true = _true_vector(embedder.name, embedding_text(record.chunk))
            assert cosine(unpack_vector(record.vector), true) > 0.9999, record.chunk.id
    return State(
        {id_: replace(record, vector=None) for id_, record in records.items()},
        {
            path: replace(state, identity="")  # inodes of a copy are others
            for path, state in store.chunks.file_states().items()
        },
        frozenset(id_ for id_, record in records.items() if record.vector is not None),
        embedder,
        store.chunks.indexed_at(),
    )


@cache
def _true_vector(model: str, text: ChunkText) -> Sequence[float]:
    (vector,) = vectors_of(PROVIDERS[model], [text])
    return unpack_vector(vector)


def require_between(found: State, before: State, after: State, operation: Operation) -> None:
    """Every unit is as it was before the call that was under way, or as after it."""
    unit = operation.unit
    units, old, new = (state.units(unit) for state in (found, before, after))
    for key in units.keys() | old.keys() | new.keys():
        assert units.get(key) in (old.get(key), new.get(key)), f"half of {key or 'a change'}"
    by = found.embedder
    assert by in (before.embedder, after.embedder) or (by and by.name == operation.meanwhile)
    lost = (before.embedded & after.embedded) - found.embedded
    changed = {id_ for id_ in lost if before.records[id_].chunk != after.records[id_].chunk}
    assert lost == changed, "vectors are lost"
    for path, state in found.files.items():
        if state.history_stamp:  # else git was not asked yet
            _require_histories(path, found, before, after)


def _require_histories(path: str, found: State, *versions: State) -> None:
    for id_, record in found.records.items():
        if record.chunk.path == path:
            known = [state.records[id_].history for state in versions if id_ in state.records]
            assert record.history in known, f"another's history of {id_}"


def require_true_answers(world: World, *, model: str = SHALLOW.name) -> None:
    """What a search finds by the indexes that there are is what it finds by new ones."""
    found = _answers(world, model)
    for index in world.memory_folder.glob("indexes/*.idx"):
        index.unlink()
    with world.opened() as own:
        if isinstance(own.whereabouts, PostgresLocation):
            own.memory.admin.rebuild_bm25()
    assert _answers(world, model) == found
    assert any(found) or look(world) in (None, NOTHING)


def _answers(world: World, model: str) -> Answers:
    with closing(world.make_memory(model)) as memory:
        return [
            [
                (result.chunk_id, result.score)
                for result in memory.search(query, mode=mode, limit=1000).results
            ]
            for query, mode in QUERIES
        ]


_NUMBERS = re.compile(r"[0-9a-f]{12,}")


def files_of(world: World) -> set[str]:
    """Names of what lies around, without locks; folders in which git worked are swept away after a
    day."""
    files = [path for path in world.project.rglob("*") if path.is_file()]
    own = [path for path in files if ".git" not in path.parts and not path.match("*.db-embedding")]
    scratch = [path for path in world.scratch.rglob("*") if "aurora-git-" not in str(path)]
    return {_NUMBERS.sub("*", str(path.relative_to(world.folder))) for path in (*own, *scratch)}
