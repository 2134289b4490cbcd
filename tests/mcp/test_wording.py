"""Errors and notes name tools, not commands of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import aurora
from aurora.mcp.wording import for_agents
from tests.mcp.conftest import Project, ask, refusal

SOURCES = Path(aurora.__file__).parent
TOOLS = ["aurora_search", "aurora_retrieve", "aurora_index", "aurora_ingest"]
READING = ["aurora_search", "aurora_retrieve"]
USERS = "the user's command"
COMMAND = re.compile(r"\baur [a-z]")


@pytest.mark.parametrize(
    ("text", "tools", "worded"),
    [
        ("make one with `aur mem index .`", TOOLS, "make one with aurora_index"),
        ("make one with `aur mem index .`", READING, f"make one with {USERS} `mem index .`"),
        ("index it first: cd /x && aur index", TOOLS, "index it first: aurora_index"),
        ("ids as `aur mem search` shows them", TOOLS, "ids as aurora_search shows them"),
        ("hidden until you run `aur adopt`", TOOLS, f"hidden until you run {USERS} `adopt`"),
        ("It is lost. `aur mem repair` keeps it", TOOLS,
         "It is lost. The user's command `mem repair` keeps it"),
        ("to restore it, check: aur doctor", TOOLS, f"to restore it, check: {USERS} `doctor`"),
        ("by `aur mem index --force`", TOOLS, f"by {USERS} `mem index --force`"),
        ("the aurora in Europe, aur", TOOLS, "the aurora in Europe, aur"),
    ],
)  # fmt: skip
def test_a_command_is_worded_as_a_tool(text: str, tools: list[str], worded: str) -> None:
    assert for_agents(text, tools) == worded


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Those of the sources with a command in them."""
    return [text for text in texts_that_agents_may_get() if COMMAND.search(text)]


def texts_that_agents_may_get() -> Iterator[str]:
    """Every text in the sources that is not a docstring, with X for values."""
    for path in SOURCES.rglob("*.py"):
        if path.relative_to(SOURCES).parts[0] in ("cli", "display") or path.name == "clients.py":
            continue  # for people
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inside = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = (
                    part.value if isinstance(part, ast.Constant) else "X" for part in node.values
                )
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and node not in docstrings | inside:
                yield str(node.value)


@pytest.mark.parametrize("tools", [TOOLS, READING], ids=["all", "reading"])
def test_no_error_and_no_note_reaches_an_agent_with_a_command(
    texts: list[str], tools: list[str]
) -> None:
    assert len(texts) > 50
    assert [text for text in texts if COMMAND.search(for_agents(text, tools))] == []


@pytest.mark.anyio
async def test_stored_text_stays_as_it_is(project: Project) -> None:
    stored = "run `aur mem index .` and see"
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content=stored)
        assert (await ask(client, "aurora_retrieve", id=kept["id"]))["content"] == stored


@pytest.mark.anyio
async def test_answers_of_tools_name_tools(project: Project) -> None:
    async with project.here() as client:
        told = await refusal(client, "aurora_retrieve", id="nothing")
        assert "an id is FILE:NAME as aurora_search shows them" in told
    project.shell.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    async with project.here() as client:
        [note] = (await ask(client, "aurora_search", query="sessions"))["notes"]
        assert "check: the user's command `doctor`" in note
