"""What was said in sessions, as agents find it."""

from __future__ import annotations

import pytest

from aurora import Memory
from tests.builders import SESSION_ID, make_exchange
from tests.mcp.conftest import Project, ask
from tests.mcp.test_brief import brief, stored

pytestmark = [pytest.mark.anyio, pytest.mark.one_store("about the form of answers")]

SAID = make_exchange(
    "Shall herons wade?",
    "Yes, they wade.",
    session=SESSION_ID,
    title="Birds",
    agent="codex",
)
HERE = "codex 2026-11-15; session 5e551011"


@pytest.fixture
def told(project: Project) -> Project:
    with Memory.open(project.root, environ=project.shell.environment) as memory:
        personal = memory.personal
        assert personal is not None
        personal.admin.create()
        personal.admin.store.chunks.put_chunks(SAID)
    return project


async def test_a_session_is_found_with_its_agent_date_and_title(told: Project) -> None:
    async with told.here() as client:
        found = stored(await brief(client, "aurora_search", query="herons wade session:5e55"))
        head = found.splitlines()[0]
        assert head.startswith(f"1. session:codex:{SESSION_ID}:Shall herons wade? exchange Birds ")
        assert head.endswith(f" in memory personal ({HERE})")
        whole = stored(await brief(client, "aurora_retrieve", id=SAID[0].id, repeat=True))
    assert whole.splitlines() == [
        f"session:codex:{SESSION_ID}:Shall herons wade? knowledge Birds",
        f"({HERE})",
        "Asked: Shall herons wade?",
        "",
        "Answered: Yes, they wade.",
    ]


async def test_a_full_answer_has_the_session_once(told: Project) -> None:
    async with told.here() as client:
        [found] = (await ask(client, "aurora_search", query="herons source:session"))["documents"]
    assert found["session"] == {
        "agent": "codex", "id": SESSION_ID, "title": "Birds", "form": "exchange",
        "project": "/code/shop", "branch": "main", "model": "gpt-6",
    }  # fmt: skip
    assert found["source"] == "session"
    assert "metadata" not in found


async def test_a_filter_for_sessions_finds_no_code(told: Project) -> None:
    async with told.here() as client:
        answer = await ask(client, "aurora_search", query="session token source:session")
    assert all(document["source"] == "session" for document in answer["documents"])
