"""What changes a memory, to be disturbed: each with a memory before it, and a state to compare."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from aurora import Memory
from aurora.engine.admin import copy_between
from aurora.engine.location import SqliteLocation
from aurora.errors import AuroraError
from aurora.indexing.import_export import export_memory
from aurora.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import write_tree
from tests.faults.faulty_disk import Fault, FaultyDisk
from tests.faults.world import DIMENSION, World
from tests.sources.repository import git

_LONG = "\n\n".join(f"Article {n}. " + "The parties agree on it. " * 30 for n in range(12))


@dataclass(frozen=True, slots=True)
class Operation:
    """`whole`: all of it is there or nothing; otherwise whole files are."""

    do: Callable[[World, Memory], object]
    whole: bool = True
    database: str = "memory.db"  # which one it changes
    schema: int = len(MIGRATIONS)  # of the memory that it finds
    dimension: int = DIMENSION  # of the vectors that are wanted


@dataclass(frozen=True)
class State:
    """All that a database holds, but for the numbers in its vectors: they need not be equal."""

    chunks: dict[str, str]
    texts: dict[str, dict[str, str]]  # of each file or document
    files: dict[str, str]
    embedder: object


@dataclass(frozen=True)
class Disturbed:
    """How an operation went, in the process that did it."""

    error: str
    struck: bool
    counts: dict[tuple[str, str], int] = field(default_factory=dict)


def _import(_: World, memory: Memory) -> object:
    return memory.admin.import_(io.BytesIO(_EXPORT))


def _copy(world: World, memory: Memory) -> object:
    return copy_between(
        SqliteLocation(memory.admin.path), SqliteLocation(world.memory_folder / "copy.db")
    )


OPERATIONS = {
    "index": Operation(lambda world, memory: memory.index(world.project), whole=False),
    "learn": Operation(lambda _, memory: memory.learn("Measure twice", context="wood")),
    "add": Operation(lambda _, memory: memory.add(_LONG, namespace="law")),
    "forget": Operation(lambda _, memory: memory.forget(memory.admin.find_to_forget("part1"))),
    "reembed": Operation(lambda _, memory: memory.admin.reembed(), dimension=32),
    "migrate": Operation(lambda _, memory: memory.stats(), schema=1),
    "copy": Operation(_copy, whole=False, database="copy.db"),
    "import": Operation(_import),
}
_EXPORTED = {
    "type": "chunk", "kind": "knowledge", "qualified_name": "", "path": "", "lines": None,
    "language": "", "namespace": "law", "document_type": "", "created_at": None, "metadata": {},
    "reasoning": None, "accesses": [], "history": None, "vector": None,
}  # fmt: skip
_TAKEN_IN = 60
_EXPORT = "\n".join(
    json.dumps(line)
    for line in (
        {"aurora": "export", "version": 1, "files": 0, "chunks": _TAKEN_IN, "embedder": None,
         "indexed_at": None},
        *({**_EXPORTED, "id": f"law-{n}", "name": f"law {n}", "content": f"Law {n}. " * 40}
          for n in range(_TAKEN_IN)),
        {"type": "end", "files": 0, "chunks": _TAKEN_IN, "accesses": 0, "vectors": 0},
    )
).encode() + b"\n"  # fmt: skip


def make_disturbable(folder: Path, name: str) -> World:
    """A project of some files, remembered as it was before the operation."""
    world, operation = World(folder), OPERATIONS[name]
    write_tree(world.project, {f"part{n % 3}/m{n}.py": _source(n, 1) for n in range(9)})
    git(world.project, "init", "--quiet")
    git(world.project, "add", ".")
    git(world.project, "commit", "--quiet", "--message", "start")
    with world.memory() as memory:
        memory.index(world.project)
        memory.learn("Cut once")
    if operation.schema < len(MIGRATIONS):
        _write_old(world.database, operation.schema)
    world.keep()
    if name == "index":  # files are edited, new and gone
        write_tree(world.project, {f"part{n % 3}/m{n}.py": _source(n, 2) for n in range(4, 11)})
        (world.project / "part0" / "m0.py").unlink()
    return world


def _source(number: int, change: int) -> str:
    functions = (f"def f{n}_{number}():\n    return {n * change}\n\n\n" for n in range(12))
    return f"{''.join(functions)}class Keeper{number}:\n    size = {change}\n"


def _write_old(database: Path, schema: int) -> None:
    """The chunks of a memory, as an older version kept them."""
    current, old = database.with_name("current.db"), database
    database.rename(current)
    with closing(sqlite3.connect(old)) as connection, connection:
        for migration in MIGRATIONS[:schema]:
            for statement in migration.statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema}")
        connection.execute("ATTACH ? AS current", (str(current),))
        columns = ", ".join(row[1] for row in connection.execute("PRAGMA main.table_info(chunks)"))
        connection.execute(f"INSERT INTO chunks ({columns}) SELECT {columns} FROM current.chunks")
        connection.execute("INSERT INTO facts VALUES ('generation', '7')")
    current.unlink()
    shutil.rmtree(database.with_name("indexes"))


def disturb(world: World, name: str, fault: Fault | None, *, again: bool = False) -> Disturbed:
    """The operation on a disk that fails; `again`, once it is mended, by the same open memory."""
    world.restore()
    operation, disk, error = OPERATIONS[name], FaultyDisk(fault).install(), ""
    with world.memory(dimension=operation.dimension) as memory:
        try:
            operation.do(world, memory)
        except AuroraError as exc:
            error = str(exc)
            disk.heal()
            if again:
                operation.do(world, memory)
    return Disturbed(error, disk.struck, dict(disk.counts))


def repeat(world: World, name: str) -> None:
    """The operation on a disk like any other."""
    operation = OPERATIONS[name]
    with world.memory(dimension=operation.dimension) as memory:
        operation.do(world, memory)


def state_of(world: World, name: str) -> State:
    """What a whole database holds: damage of any kind is an error."""
    stream, texts = io.BytesIO(), defaultdict[str, dict[str, str]](dict)
    with closing(SQLiteStore(world.memory_folder / OPERATIONS[name].database)) as store:
        problems = [row for row in store.database.rows("PRAGMA integrity_check") if row != ("ok",)]
        assert [*store.maintenance.check(), *problems] == []
        export_memory(store, stream)
    header, *lines = map(json.loads, stream.getvalue().splitlines())
    chunks = {line["id"]: line for line in lines if line["type"] == "chunk"}
    for id_, chunk in chunks.items():
        chunk["vector"] = chunk["vector"] is not None
        texts[chunk["path"] or id_.partition("@")[0]][id_] = chunk["content"]
    files = {line["path"]: json.dumps(line) for line in lines if line["type"] == "file"}
    return State(
        {id_: json.dumps(chunk) for id_, chunk in chunks.items()},
        dict(texts),
        files,
        header["embedder"],
    )
