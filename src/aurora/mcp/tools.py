"""How a function becomes a tool: typed, without room for arguments that do not exist, and with
errors that the agent can read and act upon.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from aurora.errors import AuroraError, NoMemoryError

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = 50  # characters of an argument's name, and arguments named

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
COUNTS = ToolAnnotations(  # the same call again changes more
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
REMOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


class CheckedTool(Tool):
    """Says in plain words which argument is wrong, and repeats no value: it may be megabytes."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as exc:
            if isinstance(exc.__cause__, ValidationError):
                raise ToolError(self._wrong(exc.__cause__)) from exc.__cause__
            raise

    def _wrong(self, exc: ValidationError) -> str:
        known = ", ".join(self.parameters.get("properties", {})) or "none"
        wrong: dict[str, str] = {}  # one line an argument: a choice of types is an error each
        for error in exc.errors(include_url=False, include_input=False, include_context=False):
            name = str(error["loc"][0]) if error["loc"] else "arguments"
            is_unknown = error["type"] == "extra_forbidden"
            words = f"there is no such argument; there are {known}" if is_unknown else error["msg"]
            wrong.setdefault(name[:_SHOWN], words)
        lines = [f"{name}: {words}" for name, words in wrong.items()]
        return "\n".join(["Wrong arguments", *lines[:_SHOWN]])


def make_tool(function: Callable[..., Any], title: str, annotations: ToolAnnotations) -> Tool:
    """A tool of the function's name, with its docstring as what an agent reads to choose it."""
    tool = CheckedTool.from_function(function, title=title, annotations=annotations)
    # An argument that a model made up must not be dropped in silence.
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = _without_titles(arguments.model_json_schema(by_alias=True))
    tool.fn_metadata.output_schema = _without_titles(tool.fn_metadata.output_schema or {})
    tool.description = " ".join(tool.description.split())
    return tool


def telling(function: Callable[P, T]) -> Callable[P, T]:
    """Errors that are meant for people reach the agent; of any other, only that there was one."""

    @functools.wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except AuroraError as exc:
            raise ToolError(in_words(exc)) from exc

    return told


def in_words(exc: AuroraError) -> str:
    if isinstance(exc, NoMemoryError):
        return f"{exc.message}\n\nhint: make one with the tool aurora_index"
    return str(exc)


def answer(value: BaseModel, text: str) -> CallToolResult:
    """The structured value, without what is not known, and the same in words."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json", exclude_none=True),
    )


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Titles repeat the names, and an agent pays for every word of a schema."""
    return {
        key: _plain(key, value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_without_titles(one) if isinstance(one, dict) else one for one in value]
    if not isinstance(value, dict):
        return value
    if key in ("properties", "$defs"):  # here keys are names, and one may be `title`
        return {name: _without_titles(one) for name, one in value.items()}
    return value if key in ("default", "example") else _without_titles(value)
