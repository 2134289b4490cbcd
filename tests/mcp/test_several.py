"""A server for several folders: one ranking that names the memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool, name_folders
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.mcp.conftest import FILES, ask, ids, index, refusal
from tests.sources.repository import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.one_store("two folders, each with its file")]
DEPOT = 'def authenticate_courier(badge: str) -> bool:\n    """Check the badge of a courier."""\n'


async def test_all_memories_give_one_ranking_that_names_them(tmp_path: Path) -> None:
    shop, depot = tmp_path / "shop", tmp_path / "depot"
    trees: list[tuple[Path, dict[str, str | bytes]]] = [(shop, FILES), (depot, {"gate.py": DEPOT})]
    for root, files in trees:
        index(Shell(write_tree(root, files), tmp_path / "home"))
    pool = MemoryPool(name_folders([shop, depot]), Shell(shop, tmp_path / "home").environment)
    async with Client(create_server(pool)) as client:
        for tool, query in (("aurora_search", "authenticate"), ("search_code", "authenticate")):
            both = await ask(client, tool, query=query, memory="all")
            assert both["memory"] == "all"
            first = {found["id"]: found.get("memory") for found in both["documents"][:2]}
            assert first == {
                "src/auth.py:authenticate_user": None,  # of the first folder
                f"{depot}/gate.py:authenticate_courier": "depot",
            }
            scores = [found["similarity_score"] for found in both["documents"]]
            assert scores == sorted(scores, reverse=True)
            assert len(ids(both)) == len(set(ids(both)))
        alone = await ask(client, "aurora_search", query="authenticate", memory="depot")
        assert ids(alone)[0] == "gate.py:authenticate_courier"
        got = await ask(client, "aurora_retrieve", id=f"{depot}/gate.py:authenticate_courier")
        assert "badge of a courier" in str(got)


async def test_every_tool_takes_a_repository_of_the_workspace(tmp_path: Path) -> None:
    shop, depot = tmp_path / "shop", tmp_path / "depot"
    shell = Shell(write_tree(shop, FILES), tmp_path / "home")
    index(shell)
    index(Shell(write_tree(depot, {"gate.py": DEPOT}), tmp_path / "home"))
    assert shell.run("workspace", "add", str(depot)).returncode == 0
    async with Client(create_server(MemoryPool({"shop": shop}, shell.environment))) as client:
        found = await ask(client, "search_code", query="authenticate", memory="depot")
        assert ids(found)[0] == "gate.py:authenticate_courier"
        learned = await ask(client, "aurora_learn", text="Couriers need a badge", memory="depot")
        got = await ask(client, "aurora_retrieve", id=learned["id"], memory="depot")
        assert got["content"] == "Couriers need a badge"
        error = await refusal(client, "aurora_search", query="x", memory="attic")
        assert "This server has no memory 'attic'" in error
        assert "it has shop, depot" in error


async def test_an_agent_learns_for_the_team(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    pool = MemoryPool(name_folders([root]), Shell(root, tmp_path / "home").environment)
    async with Client(create_server(pool)) as client:
        learned = await ask(client, "aurora_learn", text="Quokkas need a retry", team=True)
        (file,) = (root / "docs" / "lessons").iterdir()
        assert learned["id"] == f"docs/lessons/{file.name}:lesson"
        assert "commit it" in str(learned["notes"])
        found = await ask(client, "aurora_search", query="quokkas retry", types=["reasoning"])
        assert ids(found) == [learned["id"]]
