"""The memories that operations begin with."""

from __future__ import annotations

import shutil
import sqlite3
from array import array
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import psycopg

from aurora.engine.location import PostgresLocation
from aurora.indexing.documents import Labels, cut_document
from aurora.indexing.embedding import embed_missing
from aurora.stores.base import FileState, Reasoning, Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind
from tests.builders import NOW, make_chunk, parse, write_tree
from tests.crash.projects import LONG, QUERIES, change, module, plant
from tests.crash.providers import SHALLOW
from tests.crash.world import World

NOON = "Water apples at noon"


def nothing(world: World) -> None:
    plant(world.folder)


def indexed(world: World) -> None:
    """With a use, and a lesson that is not found, because another one replaced it."""
    plant(world.folder)
    world.memory.index(world.project)
    world.memory.get("kept.py:kept_1")
    world.memory.get("part3.py:part3_1")
    old = world.memory.learn("Water apples at dawn").id
    world.memory.learn(NOON, score=0.1, replaces=old)
    for _, mode in QUERIES:
        world.memory.search("apple", mode=mode)  # so that indexes are as new as the memory


def changed(world: World) -> None:
    indexed(world)
    change(world.folder)


def with_documents(world: World) -> None:
    indexed(world)
    for number in range(2):
        world.memory.add(LONG + f"\n\nThe end {number}.", namespace="books")


def without_indexes(world: World) -> None:
    indexed(world)
    shutil.rmtree(world.memory_folder / "indexes")


def beside_a_file(world: World) -> None:
    """Some of it is in both."""
    indexed(world)
    with closing(SQLiteStore(world.folder / "source.db")) as store:
        fill(store)


def beside_a_server(world: World) -> None:
    indexed(world)
    with closing(PostgresStore.create(world.source)) as store:
        fill(store)


def beside_an_export(world: World) -> None:
    beside_a_file(world)
    other = World(world.folder / "other")
    other.memory_folder.mkdir(parents=True)
    shutil.copy(world.folder / "source.db", other.memory_folder / "memory.db")
    with other.opened() as own, (world.folder / "export.jsonl").open("wb") as stream:
        own.memory.export(stream)


def fill(store: Store) -> None:
    """Chunks with everything that can hang on one: more than go into one page."""
    for n in range(9):
        path = f"other{n}.py" if n else "kept.py"
        chunks = parse(module(f"other{n}", "pear"), path)
        store.chunks.replace_file(FileState(path, 60 + n, 5, f"4:{n}"), chunks)
    store.chunks.put_chunks(cut_document(LONG, Labels(namespace="far"), now=NOW))
    lesson = make_chunk(
        "Guess where pears are", "", "guess", id="guess", kind=Kind.REASONING,
        metadata={"source": "reasoning", "replaced_by": "another"},
    )  # fmt: skip
    store.chunks.put_chunks([lesson])
    store.chunks.put_reasoning("guess", Reasoning("pattern", 0.2, 0, NOW))
    store.chunks.record_access("other1.py:other1_1", NOW)
    store.chunks.put_indexed_at(NOW)
    embed_missing(store, SHALLOW)


def old(world: World) -> None:
    plant(world.folder)
    at = world.whereabouts
    if isinstance(at, PostgresLocation):
        _old_on_server(world, at)
    else:
        texts = {f"part{n}.py": f"def part{n}():\n    return apple\n" for n in range(30)}
        write_tree(world.project, {**texts})  # a row whose file is gone is not shown
        _old_in_file(world.memory_folder / "memory.db", texts)


def _old_on_server(world: World, at: PostgresLocation) -> None:
    """Words were made otherwise; tables have yet to change, too (`Operation.more_migrations`)."""
    world.memory.index(world.project)
    with psycopg.connect(at.url, options=f"-c search_path={at.schema}") as server:
        server.execute("UPDATE facts SET value = '0.1' WHERE name = 'words'")
        server.execute("DELETE FROM words WHERE row % 2 = 0")


def _old_in_file(path: Path, texts: Mapping[str, str]) -> None:
    """The first schema, with vectors as they were then: by SQL, for the store writes newer ones."""
    vector = array("f", [1.0, 0.0, 0.0]).tobytes()
    facts = [("generation", "7"), ("embedder.name", "tiny"), ("embedder.dimension", "3")]
    with closing(sqlite3.connect(path)) as file, file:
        for statement in MIGRATIONS[0].statements:
            file.execute(statement)
        file.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        file.execute("PRAGMA user_version = 1")
        file.executemany(
            """INSERT INTO chunks (id, kind, name, qualified_name, path, language, content,
                   namespace, document_type, metadata, has_cjk, generation)
               VALUES (?1 || ':f', 'function', 'f', 'f', ?1, 'python', ?2, '', '', '{}', 0, 7)""",
            texts.items(),
        )
        file.execute("INSERT INTO embeddings SELECT rowid, ? FROM chunks", (vector,))
        file.execute("INSERT INTO accesses SELECT rowid, 1.0 FROM chunks")
        file.execute("INSERT INTO files SELECT path, 10, 123, 'digest' FROM chunks")
        file.executemany("INSERT INTO facts VALUES (?, ?)", facts)
