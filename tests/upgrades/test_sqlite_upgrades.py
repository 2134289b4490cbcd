"""A memory in a file, of every schema there ever was, becomes one of today and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Lines, Symbol
from tests.builders import note_as_own
from tests.cli.conftest import Shell
from tests.indexing.remembered import Remembered, remembered
from tests.rewriting import rewrite
from tests.upgrades.memories import kept, number, unpack
from tests.upgrades.plainly import columns, contents, query, schema
from tests.upgrades.project import build

REVISED = 3  # the schema since which a chunk keeps its revision
NARROW = 5  # the one since which vectors are as wide as today; older ones are made again
CHECKED = 6  # the one since which a change of models goes on; older ones are begun again
SUMMED_ANEW = 7
SHARED = 10  # the one since which the checksum of a file names its checkout, too

ANOTHER_MODEL = "sqlite-5-early.db.gz"  # new texts have no vectors until `aur mem reembed`
UNLISTED = "sqlite-8-late.db.gz"  # the last one without a list of symbols

every_memory = pytest.mark.parametrize("name", kept("sqlite"))


def test_the_newest_schema_has_a_memory() -> None:
    """`python -m tests.upgrades.make` makes it, best before a further migration is written."""
    assert {number(name) for name in kept("sqlite")} == set(range(1, len(MIGRATIONS) + 1))


def migrated(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        assert store.maintenance.check() == []


@every_memory
def test_it_holds_what_it_held(tmp_path: Path, name: str) -> None:
    path = unpack(name, tmp_path / "memory.db")
    there = columns(path)
    if number(name) < REVISED:
        there["chunks"].remove("generation")
    if number(name) < NARROW:
        del there["embeddings"]
    if number(name) < CHECKED:
        there.pop("next_embeddings", None)
    if number(name) < SUMMED_ANEW:
        for names in there.values():
            names[:] = [column for column in names if column != "checksum"]
    if number(name) < SHARED:
        there["files"] = [column for column in there["files"] if column != "checksum"]
    before = contents(path, there)
    assert all(before.values())

    migrated(path)

    assert contents(path, there) == before
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []
    assert query(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


@every_memory
def test_it_is_still_the_same_memory(tmp_path: Path, name: str) -> None:
    """Whose vectors it has belongs to them, and goes where they go."""
    path = unpack(name, tmp_path / "memory.db")
    lasting = "name IN ('identity', 'indexed_at')"
    if number(name) >= NARROW:
        lasting += " OR name LIKE 'embedder.%'"
    if number(name) >= CHECKED:
        lasting += " OR name LIKE 'next_embedder.%'"
    facts = f"SELECT name, value FROM facts WHERE {lasting} ORDER BY name"
    before = query(path, facts)

    migrated(path)

    assert query(path, facts) == before
    with closing(SQLiteStore(path)) as store:
        assert (store.vectors.embedder() is not None) == (number(name) >= NARROW)


@every_memory
def test_its_tables_are_those_of_a_new_one(tmp_path: Path, name: str) -> None:
    path, new = unpack(name, tmp_path / "memory.db"), tmp_path / "new.db"
    migrated(path)
    migrated(new)
    assert schema(path) == schema(new)


@every_memory
def test_what_it_holds_is_found(tmp_path: Path, name: str) -> None:
    """Without the log, whose file is on another machine."""
    project = build(tmp_path)
    path = unpack(name, project / ".aurora" / "memory.db")
    there = {str(id_) for (id_,) in query(path, "SELECT id FROM chunks")}
    note_as_own(tmp_path / "home", path)
    with Memory(Places(tmp_path / "home", project)) as memory:
        for words, best in {
            "authenticate_user": "auth.py:authenticate_user",
            "认证流程": "用户.py:认证流程",
            "auditors": "notes/2026-03-14-login.md:Login > Why",
            "upload backoff": "reasoning-retry-the-upload-with-backoff-09506751",
            "milestone4": "doc-plan-2382ff8331c0@5",
        }.items():
            found = [result.chunk_id for result in memory.search(words, mode="keyword").results]
            assert found[:1] == [best] if best in there else best not in found
        [failed] = memory.search("guess pid", mode="keyword").results  # not found by older ones
        assert failed.remarks == ("did not work",)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """What is remembered of the same project by a memory without a past."""
    return indexed(tmp_path_factory.mktemp("fresh"))


def indexed(folder: Path, name: str = "") -> Remembered:
    """The project and what was said of it, read again, into an old memory if one is named."""
    project = build(folder)
    if name:
        unpack(name, memory_file(folder))
    with Memory(Places(folder / "home", project)) as memory:
        memory.index(project)
    return remembered(memory_file(folder))


def test_its_constants_are_found_by_name_after_the_next_index(tmp_path: Path) -> None:
    """Files that did not change are parsed again; lessons, documents and answers stay."""
    project, path = build(tmp_path), unpack(UNLISTED, memory_file(tmp_path))
    note_as_own(tmp_path / "home", path)
    lasting = "SELECT id, content FROM chunks WHERE id LIKE 'reasoning-%' OR id LIKE 'doc-%'"
    lessons = "SELECT pattern_type, success_score, usage_count FROM reasoning ORDER BY chunk"
    before = query(path, lasting), query(path, lessons)
    with Memory(Places(tmp_path / "home", project)) as memory:
        first = memory.search("SESSION_MINUTES").results[0]
        assert (first.chunk.path, first.symbol) == ("settings.py", None)
        assert stays_found(memory)

        memory.index(project)

        for name, kind, line in [
            ("SESSION_MINUTES", "constant", 5), ("maxAttempts", "constant", 6),
            ("Role.GUEST", "constant", 13),
        ]:  # fmt: skip
            first = memory.search(name).results[0]
            assert (first.chunk.path, first.lines) == ("settings.py", Lines(line, line))
            assert first.symbol is not None
            assert first.symbol.kind == kind
        assert stays_found(memory)
        assert memory.admin.check() == []
    assert (query(path, lasting), query(path, lessons)) == before


def stays_found(memory: Memory) -> bool:
    questions = {
        "upload backoff": "reasoning-retry-the-upload-with-backoff-09506751",
        "milestone4": "doc-plan-2382ff8331c0@5",
        "authenticate_user": "auth.py:authenticate_user",
    }
    found = {words: memory.search(words, mode="keyword").results[0] for words in questions}
    return {words: result.chunk_id for words, result in found.items()} == questions


def test_symbols_that_an_import_brought_into_an_older_one_are_found(tmp_path: Path) -> None:
    """Its program kept the metadata of a newer one and knew nothing of symbols."""
    path = unpack(UNLISTED, tmp_path / "memory.db")
    symbols = json.dumps({"symbols": [["USERS", "variable", 3, 3]]})
    rewrite(path, "chunks", f"metadata = '{symbols}' WHERE id = 'auth.py:authenticate_user'")
    with closing(SQLiteStore(path)) as store:
        found = store.search.find_definitions("users", limit=5)
        assert [each.symbol for each in found] == [Symbol("USERS", "variable", Lines(3, 3))]
        assert store.maintenance.check() == []


def memory_file(folder: Path) -> Path:
    return folder / "project" / ".aurora" / "memory.db"


@every_memory
def test_its_files_are_indexed_as_in_a_new_one(
    tmp_path: Path, name: str, fresh: Remembered
) -> None:
    """And nothing else changes: neither what was handed over, nor how often it was used."""
    before = unpack(name, tmp_path / "before.db")
    uses = "SELECT id, at FROM accesses JOIN chunks ON rowid = chunk ORDER BY id, at"
    others = f"SELECT id, content FROM chunks WHERE path NOT IN ({marks(fresh.files)}) ORDER BY id"

    after = indexed(tmp_path, name)

    own = {id_: chunk for id_, chunk in after.chunks.items() if chunk.path in fresh.files}
    assert own == fresh.chunks
    assert {path: after.files[path].digest for path in fresh.files} == {
        path: state.digest for path, state in fresh.files.items()
    }
    texts = set(query(before, "SELECT id, name, content FROM chunks"))
    changed = {c.id for c in fresh.chunks.values() if (c.id, c.name, c.content) not in texts}
    waiting = changed if name == ANOTHER_MODEL else set()
    assert fresh.embedded - after.embedded == waiting
    assert {id_: after.histories[id_] for id_ in fresh.histories} == fresh.histories
    for kept_as_it_was, values in ((uses, ()), (others, fresh.files)):
        rows = [query(path, kept_as_it_was, *values) for path in (before, memory_file(tmp_path))]
        assert rows[0] == rows[1] != []


def marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


@pytest.mark.parametrize("name", [kept("sqlite")[0], kept("sqlite")[-1]])
def test_every_command_takes_it(tmp_path: Path, name: str) -> None:
    shell = Shell(build(tmp_path), tmp_path / "home")
    path = unpack(name, memory_file(tmp_path))
    note_as_own(tmp_path / "home", path)
    ids = {str(id_) for (id_,) in query(path, "SELECT id FROM chunks")}

    lines = [json.loads(line) for line in shell.ok("mem", "export").splitlines()]
    assert {line["id"] for line in lines if line.get("type") == "chunk"} == ids
    shell.ok("mem", "forget", "--yes", "auth.py")
    assert {id_ for id_ in ids if not id_.startswith("auth.py")} == {
        str(id_) for (id_,) in query(path, "SELECT id FROM chunks")
    }
    shell.ok("mem", "index")
    assert ids <= {str(id_) for (id_,) in query(path, "SELECT id FROM chunks")}
    assert "startServer" in shell.ok("mem", "search", "startServer")
    migrated(path)
