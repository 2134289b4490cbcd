"""MCP: the first line names a tool, the rest is JSON for it. Whatever it is, the answer is one that
can be sent, or a refusal in words; never an error that says nothing."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from types import SimpleNamespace
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, TextContent

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.errors import QueryError
from aurora.mcp.answers import read_cursor
from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool, name_folders
from tests.builders import write_tree
from tests.fuzz.inputs import head_and_rest, json_of, require_told, scratch, text_of

TOOLS = (
    "aurora_search", "search_code", "aurora_retrieve", "aurora_ingest", "aurora_learn",
    "aurora_forget", "aurora_index", "aurora_status", "aurora_why",
)  # fmt: skip
_FILES: dict[str, str | bytes] = {
    "src/auth.py": 'def check_login(name):\n    """Who may come in."""\n    return name\n',
    "docs/plan.md": "# Plan\n\n## Sessions\n\nWe keep sessions in the database.\n",
}


def check(data: bytes) -> None:
    _check_cursor(text_of(data))
    head, rest = head_and_rest(data)
    arguments = json_of(rest)
    if not isinstance(arguments, dict):
        return
    tool = head if head in TOOLS else TOOLS[len(head) % len(TOOLS)]
    try:
        answer = _call(tool, arguments)
    except UnexpectedToolError as exc:
        raise (exc.__cause__ or exc) from None  # the error that was not told
    except ToolError as exc:
        require_told(exc)
        str(exc).encode()
        return
    assert isinstance(answer, CallToolResult)
    assert not answer.is_error
    assert isinstance(answer.content[0], TextContent)
    answer.content[0].text.encode()
    json.dumps(answer.structured_content, allow_nan=False, ensure_ascii=False).encode()


def parameters(tool: str) -> dict[str, bool]:
    """What a tool takes, and whether it must have it."""
    tools = {one.name: one.input_schema for one in _loop().run(_server().list_tools())}
    required = tools[tool].get("required", ())
    return {name: name in required for name in tools[tool].get("properties", {})}


def _check_cursor(word: str) -> None:
    try:
        cursor = read_cursor(word, "asked", deepest=100)
    except QueryError as exc:
        require_told(exc)
    else:
        assert 0 <= cursor.offset <= 100


@cache
def _loop() -> asyncio.Runner:
    return asyncio.Runner()


class _Unheard(Context[Any, Any]):
    """A call that no client waits for: errors come as they are raised, not as they are told."""

    @property
    def request_context(self) -> Any:
        """Of a client that does not tell its name."""
        return SimpleNamespace(session=SimpleNamespace(client_params=None))

    async def report_progress(self, *_: object) -> None:
        pass


def _call(tool: str, arguments: dict[str, Any]) -> object:
    return _loop().run(_call_server(tool, arguments))


async def _call_server(tool: str, arguments: dict[str, Any]) -> object:
    server = _server()
    return await server.call_tool(tool, arguments, _Unheard(mcp_server=server))


@cache
def _server() -> MCPServer:
    """One over a small project, for all inputs of a process."""
    root = write_tree(scratch("shop"), _FILES)
    environment = {
        "HOME": str(scratch("")),
        "AURORA_HOME": str(scratch("aurora-home")),
        "AURORA_EMBEDDING_PROVIDER": "none",
    }
    (root / ".aurora").mkdir()  # so that it is a project, wherever that lies
    places = Places.find(root, environment)
    with Memory(places, SettingsFiles(places, environment)) as memory:
        memory.index(root, git=False)
    return create_server(MemoryPool(name_folders([root]), environment))
