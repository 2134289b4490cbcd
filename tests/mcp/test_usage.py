"""Each call of a tool is a line of numbers in the user's log."""

from __future__ import annotations

import pytest

from aurora.text import count_tokens
from aurora.usage_log import memory_key, read_usage
from tests.mcp.conftest import FILES, Project, refusal, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.one_store("about a file of the user")]


async def test_a_call_is_noted_with_the_tokens_of_its_answer_and_of_the_files(
    project: Project,
) -> None:
    async with project.here() as client:
        answer = await client.call_tool("search_code", {"query": "authenticate_user"})
        await refusal(client, "aurora_retrieve", id="nothing")
    found, refused = read_usage(project.shell.home)
    text = text_of(answer)
    assert (found.door, found.event, found.error) == ("mcp", "search_code", "")
    assert found.tokens == count_tokens(text)
    named = [name for name in FILES if name in text]
    assert found.whole == sum((project.root / name).stat().st_size // 4 for name in named) > 0
    assert found.memory == memory_key(project.root / ".aurora")
    assert (refused.event, refused.error, refused.tokens) == (
        "aurora_retrieve", "ChunkNotFoundError", 0,
    )  # fmt: skip


async def test_a_server_that_only_reads_notes_nothing(project: Project) -> None:
    async with project.here(read_only=True) as client:
        await client.call_tool("search_code", {"query": "authenticate_user"})
    assert [*read_usage(project.shell.home)] == []
