"""The inspector, with a server of ten lines: what it is told arrives, and what it says is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.inspector import InspectorError

SERVER = '''
import os
from mcp.server import MCPServer

server = MCPServer("tiny", log_level="ERROR")

@server.tool()
def echo(
    text: str, number: int, ratio: float, yes: bool, filters: dict[str, object]
) -> dict[str, object]:
    """Say it again."""
    return {"given": [text, number, ratio, yes, filters], "home": os.environ["AURORA_HOME"]}

@server.resource("tiny://chunk/{name}")
def chunk(name: str) -> str:
    return f"chunk {name}"

@server.prompt()
def ask(topic: str) -> str:
    return f"Tell of {topic}"

server.run()
'''

Inspect = Callable[..., dict[str, Any]]


@pytest.fixture
def tiny(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return [sys.executable, str(tmp_path / "server.py")]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_arguments_arrive_with_their_types(inspector: Inspect, tiny: list[str], era: str) -> None:
    given = ["a=b 12 ü", 3, 0.5, True, {"kind": ["x", None]}]
    arguments = dict(zip(("text", "number", "ratio", "yes", "filters"), given, strict=True))
    home = {"AURORA_HOME": "/a b"}
    result = inspector(tiny, "tools/call", tool="echo", arguments=arguments, environ=home, era=era)
    assert result["structuredContent"] == {"given": given, "home": "/a b"}


def test_resources_and_prompts_are_read(inspector: Inspect, tiny: list[str]) -> None:
    (template,) = inspector(tiny, "resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "tiny://chunk/{name}"
    (content,) = inspector(tiny, "resources/read", uri="tiny://chunk/a%2Fb.py")["contents"]
    assert content["text"] == "chunk a/b.py"
    (message,) = inspector(tiny, "prompts/get", prompt="ask", arguments={"topic": "x y"})[
        "messages"
    ]
    assert message["content"]["text"] == "Tell of x y"


def test_a_tool_that_fails_answers_and_what_is_not_there_is_refused(
    inspector: Inspect, tiny: list[str]
) -> None:
    assert inspector(tiny, "tools/call", tool="echo", arguments={})["isError"]
    with pytest.raises(InspectorError, match="not found") as refusal:
        inspector(tiny, "tools/call", tool="no-such-tool")
    assert refusal.value.code == "tool_not_found"
    with pytest.raises(InspectorError, match="Unknown resource"):
        inspector(tiny, "resources/read", uri="tiny://nothing")
