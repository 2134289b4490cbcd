"""What clients are told of the tools: an approved picture, so that no change comes unseen.

`python -m tests.mcp.test_schemas` takes it anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client

from aurora.mcp.server import create_server, instructions
from aurora.serving.pool import MemoryPool, name_folders
from aurora.text import count_tokens
from tests.mcp.conftest import Project, ask

pytestmark = pytest.mark.one_store("about what tools say of themselves")


PICTURE = Path(__file__).with_name("schemas.json")


async def picture() -> str:
    """Everything that does not depend on a memory."""
    async with Client(create_server(MemoryPool({"shop": Path()}, {}))) as client:
        tools = (await client.list_tools()).tools
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
        told = {
            "instructions": client.instructions,
            "tools": [_plain(tool) for tool in tools],
            "resource_templates": [_plain(one) for one in templates],
            "prompts": [_plain(one) for one in prompts],
        }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)  # type: ignore[attr-defined]


def test_what_clients_are_told_is_as_approved() -> None:
    assert anyio.run(picture) == PICTURE.read_text(encoding="utf-8")


@pytest.mark.anyio
async def test_every_tool_says_what_it_does_and_to_what(project: Project) -> None:
    async with project.here() as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert set(tool.input_schema.get("required", ())) <= set(tool.input_schema["properties"])


@pytest.mark.anyio
async def test_annotations_tell_what_is_safe(project: Project) -> None:
    async with project.here() as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    reading = {name for name, told in tools.items() if told and told.read_only_hint}
    removing = {name for name, told in tools.items() if told and told.destructive_hint}
    assert reading == {
        "aurora_recall", "aurora_search", "aurora_why", "search_code", "aurora_status"
    }  # fmt: skip
    assert removing == {"aurora_forget"}


@pytest.mark.anyio
async def test_the_list_of_tools_is_small(project: Project) -> None:
    """1,300 tokens of what clients show a model."""
    async with project.here() as client:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            for tool in (await client.list_tools()).tools
        ]
    assert count_tokens(json.dumps(tools, separators=(",", ":"))) <= 1_300


def test_the_first_250_characters_of_the_instructions_say_what_to_do() -> None:
    """Some clients show no more."""
    beginning = instructions(read_only=False)
    assert beginning == instructions(read_only=False)  # others show all of it with every tool
    assert "search_code" in beginning
    assert "aurora_search" in beginning
    assert "path:line" in beginning
    assert "do not search again for the same." in beginning


@pytest.mark.anyio
async def test_parameters_of_older_clients_are_taken_but_not_listed(project: Project) -> None:
    old = {
        "use_hybrid": False, "expand_query": False, "rerank": "none", "since": "7d",
        "types": ["function"], "document_type": None, "metadata_filters": None, "threshold": 0.0,
        "full_text": True, "memory": "",
    }  # fmt: skip
    async with project.here() as client:
        listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert not set(old) & set(listed["aurora_search"]["properties"])
        assert (await ask(client, "aurora_search", query="login", **old))[
            "search_type"
        ] == "semantic"
        code = await ask(client, "search_code", query="login", search_mode="keyword", language="go")
        assert code["search_type"] == "keyword"


@pytest.mark.anyio
async def test_several_memories_can_be_named(tmp_path: Path) -> None:
    pool = MemoryPool(name_folders([tmp_path / "a", tmp_path / "b"]), {})
    async with Client(create_server(pool)) as client:
        tools = (await client.list_tools()).tools
    assert "memory" in {tool.name: tool for tool in tools}["search_code"].input_schema["properties"]


if __name__ == "__main__":
    PICTURE.write_text(anyio.run(picture), encoding="utf-8")
