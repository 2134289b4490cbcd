"""What clients are told of the tools: an approved picture, so that no change comes unseen.

`python -m tests.mcp.test_schemas` takes it anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from aurora.mcp.pool import MemoryPool
from aurora.mcp.server import create_server
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
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None
        assert tool.output_schema is not None
        assert tool.input_schema["additionalProperties"] is False
        for name, parameter in tool.input_schema["properties"].items():
            assert "description" in parameter, f"{tool.name}.{name}"


@pytest.mark.anyio
async def test_annotations_tell_what_is_safe(project: Project) -> None:
    async with project.here() as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    reading = {name for name, told in tools.items() if told and told.read_only_hint}
    removing = {name for name, told in tools.items() if told and told.destructive_hint}
    assert reading == {"aurora_search", "search_code", "aurora_status"}
    assert removing == {"aurora_forget"}


@pytest.mark.anyio
async def test_answers_keep_to_their_schemas(project: Project) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("aurora_search", {"query": "sessions", "full_text": True}),
        ("aurora_search", {"query": "zzxxqq"}),
        ("search_code", {"query": "token"}),
        ("aurora_retrieve", {"id": "src/auth.py:TokenStore"}),
        ("aurora_ingest", {"content": "# A\n\ntext", "metadata": {"tags": ["a", 1, None]}}),
        ("aurora_learn", {"text": "a lesson"}),
        ("aurora_forget", {"what": "docs"}),
        ("aurora_index", {}),
        ("aurora_status", {}),
    ]
    async with project.here() as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name, arguments in calls:
            Draft202012Validator(schemas[name] or {}).validate(await ask(client, name, **arguments))


if __name__ == "__main__":
    PICTURE.write_text(anyio.run(picture), encoding="utf-8")
