"""`aur mcp --read-only` writes nothing: no row, no use, no file, no index."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.faults.disks import small_disk
from tests.mcp.conftest import FILES, Project, ask, ids, index, refusal

pytestmark = pytest.mark.anyio

BEST = "src/auth.py:authenticate_user"


def state_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file with the time of its last change and its content."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }


async def use(project: Project) -> None:
    """Search and read in a server for reading."""
    async with project.over_stdio("--read-only") as client:
        found = await ask(client, "aurora_search", query="authenticate_user")
        assert ids(found)[0] == BEST
        assert (await ask(client, "aurora_retrieve", id=BEST))["content"]
        assert (await ask(client, "aurora_status"))["memories"][0]["files"] == 3
        assert "There is no chunk" in await refusal(client, "aurora_retrieve", id="nothing")


async def test_nothing_is_written(project: Project) -> None:
    write_tree(project.root, {"src/new.py": "def not_yet_indexed(): pass\n"})
    for path in (project.root / ".aurora").rglob("*.idx"):
        path.unlink()  # they are made in memory
    with project.shell.store() as store:
        before = store.generation(), store.chunks.get_accesses([BEST])
    folder = project.root.parent
    files = state_of(folder)
    await use(project)
    assert state_of(folder) == files
    with project.shell.store() as store:
        assert (store.generation(), store.chunks.get_accesses([BEST])) == before


@in_a_file
async def test_a_folder_that_cannot_be_written_is_enough() -> None:
    with small_disk() as disk:
        shell = Shell(write_tree(disk.folder / "shop", FILES), disk.folder / "home")
        index(shell)
        disk.make_read_only()
        await use(Project(shell))


@in_a_file
async def test_a_memory_of_an_older_version_is_not_migrated(project: Project) -> None:
    path = project.root / ".aurora" / "memory.db"
    with closing(sqlite3.connect(path)) as file, file:
        [(version,)] = file.execute("PRAGMA user_version")
        file.execute(f"PRAGMA user_version = {version - 1}")
    before = path.read_bytes()
    async with project.over_stdio("--read-only") as client:
        told = await refusal(client, "aurora_search", query="sessions")
    assert "was written by an older Aurora" in told
    assert path.read_bytes() == before


@pytest.mark.one_store("about what a server says of itself")
@pytest.mark.parametrize("read_only", [True, False])
async def test_the_instructions_name_only_tools_that_are_offered(
    project: Project, read_only: bool
) -> None:
    async with project.here(read_only=read_only) as client:
        tools = (await client.list_tools()).tools
        named = set(re.findall(r"\baurora_\w+|\bsearch_code\b", client.instructions or ""))
        assert {"aurora_search", "search_code"} <= named <= {tool.name for tool in tools}
        if read_only:
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
