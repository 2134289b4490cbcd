"""Every tool, resource and prompt by a client that is not ours: the MCP Inspector from npm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cli.forking import relaying
from tests.mcp.conftest import Project, ids
from tests.mcp.inspector import InspectorError
from tests.mcp.test_every_tool import TOOLS

Inspect = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.one_store("about a client that is not ours")

TOKEN = "a-token-that-nobody-guesses-0123456789"  # noqa: S105


@contextmanager
def asking(project: Project, inspector: Inspect) -> Iterator[Inspect]:
    """Over HTTP, with a token and the newest protocol."""
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with project.listening() as url:
        yield lambda method, **asked: inspector(url, method, headers=headers, era="modern", **asked)


@pytest.mark.long
def test_the_inspector_works_with_the_memory(project: Project, inspector: Inspect) -> None:
    with asking(project, inspector) as ask:

        def call(tool: str, **arguments: object) -> dict[str, Any]:
            if tool in ("aurora_search", "search_code", "aurora_retrieve"):
                arguments["detail"] = "full"
            result = ask("tools/call", tool=tool, arguments=arguments)
            assert not result.get("isError"), result
            assert result["content"][0]["type"] == "text"
            answer: dict[str, Any] = result["structuredContent"]
            return answer

        tools = ask("tools/list", strict=True)["tools"]
        assert [tool["name"] for tool in tools] == TOOLS
        brief = ask("tools/call", tool="search_code", arguments={"query": "authenticate_user"})
        assert brief["structuredContent"] == {"answer": brief["content"][0]["text"]}
        assert "1. src/auth.py:4-6 function authenticate_user" in brief["content"][0]["text"]

        assert call("aurora_status")["memories"][0]["name"] == "shop"
        found = call("aurora_search", query="why are sessions in the database", limit=3)
        assert ids(found)[0] == "docs/decisions.md:Decisions > Sessions"
        code = call("search_code", query="authenticate_user", search_mode="keyword")
        assert ids(code)[0] == "src/auth.py:authenticate_user"
        assert "stored_hash" in call("aurora_retrieve", id=ids(code)[0])["content"]
        kept = call(
            "aurora_ingest", content="# Plan\n\nUse a vault.", metadata={"status": "open", "n": 3}
        )
        again = call("aurora_search", query="vault", metadata_filters={"status": "open", "n": 3})
        assert ids(again) == [kept["id"]]
        lesson = call("aurora_learn", text="Warm the cache first", score=0.9)
        assert call("aurora_forget", what=lesson["id"])["forgotten"] == 1
        assert call("aurora_index", path="src", git=False)["state"] == "done"

        (template,) = ask("resources/templates/list")["resourceTemplates"]
        assert template["uriTemplate"] == "aurora://chunk/{+id}{?memory}"
        (content,) = ask("resources/read", uri=kept["uri"])["contents"]
        assert content["text"] == "# Plan\n\nUse a vault."
        assert len(ask("prompts/list")["prompts"]) == 2
        prompt = {"prompt": "recall_before_you_start", "arguments": {"task": "pay back"}}
        (message,) = ask("prompts/get", **prompt)["messages"]
        assert "pay back" in message["content"]["text"]

        refused = ask("tools/call", tool="aurora_retrieve", arguments={"id": "nothing"})
        assert refused["isError"]
        assert "There is no chunk 'nothing'" in refused["content"][0]["text"]


def test_the_inspector_starts_the_server_itself(project: Project, inspector: Inspect) -> None:
    """Over stdio, with the handshake of 2025."""
    environ = {"AURORA_HOME": str(project.shell.home)}
    command = [relaying(agents=True) / "aur", "mcp", "--memory", project.root]
    wanted = {"query": "rotate", "detail": "full"}
    found = inspector(command, "tools/call", environ=environ, tool="search_code", arguments=wanted)
    assert ids(found["structuredContent"])[0] == "src/auth.py:TokenStore.rotate"
    uri = found["structuredContent"]["documents"][0]["uri"]
    (content,) = inspector(command, "resources/read", environ=environ, uri=uri)["contents"]
    assert content["text"].startswith("    def rotate(")  # the lines of the file


def test_the_inspector_is_kept_out_without_the_token(project: Project, inspector: Inspect) -> None:
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    with project.listening() as url, pytest.raises(InspectorError):
        inspector(url, "tools/list", headers={"Authorization": "Bearer wrong"})
