"""The operations that are killed: each is a memory to begin with, and a row of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TypeAlias

from aurora.cli.export import _new_file
from aurora.engine.admin import copy_between
from aurora.engine.location import PostgresLocation, SqliteLocation, parse_place
from aurora.indexing import embedding, histories, import_export, reader
from aurora.stores.postgres import migrate as migrating
from aurora.stores.postgres import ranking_sql
from aurora.stores.postgres.schema import MIGRATIONS, Migration
from tests.crash import beginnings
from tests.crash.projects import LESSONS, LONG, SHORT
from tests.crash.world import World

Step: TypeAlias = Callable[[World], object]
Unit: TypeAlias = Callable[[str, str], str]
Patch: TypeAlias = tuple[ModuleType, str, object]

# So many are written in one transaction; by the usual numbers a small memory is one.
SMALL: tuple[Patch, ...] = (
    (reader, "_BATCH_ROWS", 12),
    (histories, "_BATCH", 3),
    (import_export, "_PAGE", 10),
    (ranking_sql, "PAGE", 10),
)
_COLOUR = ("ALTER TABLE chunks ADD COLUMN colour text", "UPDATE chunks SET colour = 'red'")
_SHAPES = ("CREATE TABLE shapes (name text)", "INSERT INTO shapes VALUES ('round')")
NEWER = (*MIGRATIONS, Migration("colour", _COLOUR), Migration("shapes", _SHAPES))


def together(_id: str, _path: str) -> str:
    """All is one change."""
    return ""


def by_file(id_: str, path: str) -> str:
    """A file is as before or as after, whatever others are."""
    return path or id_.partition("@")[0]


def one_by_one(id_: str, path: str) -> str:
    """Chunks come in pages, and what is known of files after them."""
    return id_ or path


@dataclass(frozen=True, slots=True)
class Operation:
    """What a memory is before, and calls that each are one change when they have returned."""

    prepare: Step
    steps: Sequence[Step]
    unit: Unit = together  # of a chunk or file, by its id and path: what it changes with
    stores: tuple[str, ...] = ("sqlite", "postgres")
    counts: bool = False  # a call that was made twice is not the same as one
    patches: tuple[Patch, ...] = ()  # of the program that does it
    meanwhile: str = ""  # the model whose vectors there are for a while


def index(world: World) -> None:
    world.memory.index(world.project)


def reembed(world: World) -> None:
    world.other_model.admin.reembed()


def learn(text: str, world: World) -> None:
    """And look for it: what is learned next finds indexes that are as new as the memory."""
    world.memory.learn(text, score=0.9)
    search(world)


def add(number: int, world: World) -> None:
    """Every third takes the place of the one before it, with fewer pieces."""
    path = world.folder / f"book{number // 3}.md" if number % 3 else None
    text = SHORT if number % 3 == 2 else LONG.replace("chapter", f"chapter {number}")
    world.memory.add(text, path=path, namespace="books", metadata={"number": number})


def replace(world: World) -> None:
    """A lesson by a document of several pieces, which names the lesson in each."""
    old = world.memory.admin.store.chunks.find_ids_from("reasoning-water-apples-at-noon", limit=1)
    world.memory.add(LONG, namespace="books", replaces=old[0])


def forget(what: str, world: World) -> None:
    world.memory.forget(world.memory.admin.find_to_forget(what))


def search(world: World) -> None:
    for mode in ("keyword", "semantic"):
        world.memory.search("apple", mode=mode)


def copy(world: World) -> None:
    source = (
        parse_place(world.source) if world.source else SqliteLocation(world.folder / "source.db")
    )
    copy_between(source, world.whereabouts)


def export(world: World) -> None:
    with _new_file(world.project / "out.jsonl", force=True) as stream:
        world.memory.export(stream)


def import_(world: World) -> None:
    with (world.folder / "export.jsonl").open("rb") as stream:
        world.memory.admin.import_(stream)


def migrate(world: World) -> None:
    at = world.whereabouts
    if isinstance(at, PostgresLocation):
        at.migrate()
    else:
        at.open().close()


OPERATIONS = {
    "first index": Operation(beginnings.nothing, [index], by_file),
    "first index of much": Operation(
        beginnings.nothing, [lambda world: world.usual.index(world.project)], by_file,
        stores=("sqlite",), patches=((embedding, "QUICK_FROM", 10),), meanwhile="aurora/shallow",
    ),
    "later index": Operation(beginnings.changed, [index], by_file),
    "reembed": Operation(beginnings.indexed, [reembed]),
    "learn": Operation(beginnings.indexed, [partial(learn, text) for text in LESSONS], counts=True),
    "replace": Operation(beginnings.indexed, [replace]),
    "add": Operation(beginnings.indexed, [partial(add, number) for number in range(6)]),
    "forget": Operation(
        beginnings.with_documents,
        [partial(forget, what) for what in ("part1.py", "namespace:books", "notes.md", "kept.py")],
    ),
    "copy from a file": Operation(beginnings.beside_a_file, [copy], one_by_one),
    "copy from a server": Operation(
        beginnings.beside_a_server, [copy], one_by_one, stores=("sqlite",)
    ),
    "rebuild": Operation(beginnings.indexed, [lambda world: world.memory.admin.rebuild_bm25()]),
    "search without indexes": Operation(
        beginnings.without_indexes, [search], stores=("sqlite",)
    ),
    "import": Operation(beginnings.beside_an_export, [import_]),
    "export": Operation(beginnings.indexed, [export], stores=()),  # for `test_leftovers`
    "migrate": Operation(
        beginnings.old, [migrate], patches=((migrating, "MIGRATIONS", NEWER),)
    ),
}  # fmt: skip
