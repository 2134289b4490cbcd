"""Decisions and lessons as agents write, replace and read them."""

from __future__ import annotations

import pytest
from mcp.types import CallToolResult

from tests.mcp.conftest import Project, ask, ids, text_of

pytestmark = pytest.mark.anyio


async def test_the_same_title_replaces_a_decision_and_its_history_has_both(
    project: Project,
) -> None:
    async with project.here() as client:
        old = await ask(
            client, "aurora_ingest", content="# Session store\n\nSessions are in Redis."
        )
        new = await ask(
            client, "aurora_ingest", content="# Session store\n\nSessions are in PostgreSQL."
        )
        found = ids(await ask(client, "aurora_search", query="session store redis postgresql"))
        told = await client.call_tool("aurora_retrieve", {"id": new["id"], "history": True})

    assert new["replaces"] == [old["id"]]
    assert new["id"] in found
    assert old["id"] not in found
    assert isinstance(told, CallToolResult)
    versions = text_of(told)
    assert versions.index("in PostgreSQL") < versions.index("in Redis")
    assert f"replaced by {new['id']}" in versions


async def test_a_contradicting_lesson_is_named_and_can_be_replaced(project: Project) -> None:
    async with project.here() as client:
        old = await ask(client, "aurora_learn", text="Always retry uploads to the bucket")
        new = await ask(client, "aurora_learn", text="Never retry uploads to the bucket")
        assert [(one["id"], one["relation"]) for one in new["similar"]] == [
            (old["id"], "may contradict")
        ]
        third = await ask(
            client, "aurora_learn", text="Retry uploads to the bucket once", replaces=old["id"]
        )
        found = ids(await ask(client, "aurora_search", query="retry uploads to the bucket"))

    assert third["replaces"] == [old["id"]]
    assert old["id"] not in found
    assert {new["id"], third["id"]} <= set(found)


async def test_who_wrote_a_lesson_and_that_it_failed_stands_beside_it(project: Project) -> None:
    async with project.here() as client:
        lesson = await ask(
            client, "aurora_learn", text="Clear the gateway cache in src/auth.py", score=0.1,
            files=["src/auth.py"], model="a-model",
        )  # fmt: skip
        (project.root / "src" / "auth.py").write_text("def other():\n    return other\n" * 30)
        told = await client.call_tool("aurora_search", {"query": "clear the gateway cache"})
        read = await ask(client, "aurora_retrieve", id=lesson["id"])

    assert isinstance(told, CallToolResult)
    [head] = [line for line in text_of(told).splitlines() if lesson["id"] in line]
    assert "by mcp (a-model)" in head
    assert "did not work" in head
    assert "stale: src/auth.py changed since" in head
    assert "did not work" in read["remarks"]


async def test_a_session_starts_with_what_it_should_know(project: Project) -> None:
    async with project.here() as client:
        empty = await client.call_tool("aurora_recall", {})
        await ask(client, "aurora_ingest", content="# Vault\n\nTokens move to a vault.")
        await ask(client, "aurora_learn", text="Run the migrations before the tests")
        told = await client.call_tool("aurora_recall", {})

    assert isinstance(empty, CallToolResult)
    assert "Nothing to recall." in text_of(empty)
    assert isinstance(told, CallToolResult)
    assert "Tokens move to a vault." in text_of(told)
    assert "Run the migrations before the tests" in text_of(told)
    assert told.structured_content == {"answer": text_of(told)}
