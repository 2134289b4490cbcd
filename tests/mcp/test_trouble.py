"""What is wrong around a server: an agent is told in words, loses nothing, and may go on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from aurora.indexing.turns import write_turn
from aurora.sources.reading import MAX_BYTES
from aurora.stores.sqlite.store import SQLiteStore
from tests.backends import in_a_file, with_index_files, without_memory
from tests.builders import write_tree
from tests.full_disk import files_no_longer_than
from tests.mcp.conftest import Project, ask, ids, refusal
from tests.postgres.places import find_free_port
from tests.rewriting import rewrite
from tests.sources.repository import git

pytestmark = pytest.mark.anyio

BEST = "src/auth.py:authenticate_user"


def folder_of(project: Project) -> Path:
    return project.root / ".aurora"


@without_memory
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("search:\n  bm25: [1, 2\n", "line 3, column 1"),
        ("search:\n  bm25:\n    k1: -1.5\n", "search.bm25.k1: Must be ≥ 0.0 (got -1.5)"),
    ],
    ids=["broken", "out-of-range"],
)
async def test_settings_that_are_wrong_are_named_until_they_are_mended(
    project: Project, settings: str, told: str
) -> None:
    async with project.here() as client:
        assert ids(await ask(client, "aurora_search", query="authenticate_user"))
        write_tree(project.shell.home, {"config.yml": settings})
        text = await refusal(client, "aurora_search", query="authenticate_user")
        assert "config.yml" in text
        assert told in text

        (project.shell.home / "config.yml").unlink()
        assert ids(await ask(client, "aurora_search", query="authenticate_user"))[0] == BEST


@in_a_file
@pytest.mark.parametrize("damage", ["newer", "truncated", "none"])
async def test_a_database_that_cannot_be_read_is_told_and_left_alone(
    project: Project, damage: str
) -> None:
    path = folder_of(project) / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if damage == "newer":
            connection.execute("PRAGMA user_version = 99")
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:6000])
    elif damage == "none":
        path.write_text("Dear diary,\n" * 1000)
    before = path.read_bytes()

    async with project.here() as client:
        for tool in ("aurora_search", "search_code"):
            text = await refusal(client, tool, query="authenticate_user")
            assert ("newer Aurora" if damage == "newer" else "not a usable database") in text
            assert "hint: " in text
        await refusal(client, "aurora_ingest", content="something new")
    assert path.read_bytes() == before


@with_index_files
async def test_a_broken_index_is_made_again(project: Project) -> None:
    async with project.here() as client:
        before = await ask(client, "aurora_search", query="password")
    for index in (folder_of(project) / "indexes").glob("*.idx"):
        index.write_bytes(index.read_bytes()[:500])

    async with project.here() as client:
        after = await ask(client, "aurora_search", query="password")

    assert after["documents"] == before["documents"] != []


async def test_files_that_are_no_text_are_counted_by_reason(project: Project) -> None:
    write_tree(
        project.root,
        {"a.bin": b"\0", "b.py": b"caf\xe9 = 1\n", "c.txt": "x\n" * MAX_BYTES, "d.py": "def (:\n"},
    )
    async with project.here() as client:
        report = await ask(client, "aurora_index", git=False)

    assert report["skipped"] == {"binary": 1, "not UTF-8": 1, "larger than 2048 KiB": 1}
    assert "d.py has syntax errors: 1 line could not be parsed" in report["warnings"]


async def test_without_git_all_is_read_with_a_warning(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(project.root, "init", "--quiet")
    write_tree(project.root, {"new.py": "def brand_new(): ...\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    async with project.here() as client:
        report = await ask(client, "aurora_index")
        assert (report["state"], report["parsed"]) == ("done", 1)
        assert any("There is no git program" in warning for warning in report["warnings"])
        assert ids(await ask(client, "search_code", query="brand_new"))[0] == "new.py:brand_new"


@in_a_file
async def test_who_indexes_while_another_does_waits_and_says_so(project: Project) -> None:
    write_tree(project.root, {"new.py": "def brand_new(): ...\n"})
    with closing(SQLiteStore(folder_of(project) / "memory.db")) as store:
        async with project.here() as client:
            with write_turn(store):
                run = await ask(client, "aurora_index", wait_seconds=0)
                while "being indexed by another process" not in run["progress"]:
                    await anyio.sleep(0.01)
                    run = await ask(client, "aurora_index", wait_seconds=0)
                assert run["state"] == "running"
                assert ids(await ask(client, "search_code", query="authenticate_user"))[0] == BEST

            assert (await ask(client, "aurora_index", wait_seconds=600))["state"] == "done"
            assert ids(await ask(client, "search_code", query="brand_new"))[0] == "new.py:brand_new"


@without_memory
async def test_a_database_server_that_is_away_is_told_without_its_password(
    project: Project,
) -> None:
    url = f"postgresql://ada:secret@127.0.0.1:{find_free_port()}/team"
    project.shell.environ["AURORA_STORE_URL"] = url
    async with project.here() as client:
        for tool, arguments in (
            ("aurora_search", {"query": "x"}),
            ("aurora_ingest", {"content": "x"}),
        ):
            text = await refusal(client, tool, **arguments)
            assert "Cannot reach postgresql://ada@127.0.0.1" in text
            assert "hint: " in text
            assert "secret" not in text


@in_a_file
async def test_vectors_of_a_model_that_is_not_here_are_told_and_words_go_on(
    project: Project,
) -> None:
    memory = folder_of(project) / "memory.db"
    rewrite(memory, "facts", "value = 'gone/model' WHERE name = 'embedder.name'")
    async with project.here() as client:
        found = await ask(client, "aurora_search", query="authenticate_user")

    assert ids(found)[0] == BEST
    assert "semantic" not in found["signals"]
    assert any("gone/model" in note for note in found["notes"])


@in_a_file
async def test_on_a_full_disk_nothing_is_kept_and_that_is_said(project: Project) -> None:
    text = "A decision that needs room. " * 300
    async with project.here() as client:
        before = await ask(client, "aurora_status")
        with files_no_longer_than(0):
            told = await refusal(client, "aurora_ingest", content=text)
            assert "memory.db" in told
            assert "hint: " in told
            assert ids(await ask(client, "search_code", query="authenticate_user"))[0] == BEST
        after = await ask(client, "aurora_status")
        assert after["memories"][0]["chunks"] == before["memories"][0]["chunks"]

        kept = await ask(client, "aurora_ingest", content=text)
        assert kept["outcome"] == "added"


@in_a_file
async def test_every_answer_of_a_damaged_memory_says_so(project: Project) -> None:
    path = folder_of(project) / "memory.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE chunks SET content = 'x' WHERE path = 'src/auth.py' AND id <> ?", [BEST]
        )
    told = f"{path} is damaged: damage in "

    async with project.here() as client:
        for _ in range(2):
            found = await ask(client, "aurora_search", query="authenticate_user")
            assert BEST in ids(found)
            read = await ask(client, "aurora_retrieve", id=BEST)
            [status] = (await ask(client, "aurora_status"))["memories"]
            for answer in (found, read, status):
                [note] = [note for note in answer["notes"] if note.startswith(told)]
                assert note.endswith("The user's command `mem repair` keeps all that can be read")
        assert "the user's command `mem repair`" in await refusal(
            client, "aurora_learn", text="a lesson"
        )

        project.shell.ok("mem", "repair")
        found = await ask(client, "aurora_search", query="authenticate_user")
        assert not [note for note in found.get("notes", ()) if "damaged" in note]
        await ask(client, "aurora_learn", text="a lesson")
