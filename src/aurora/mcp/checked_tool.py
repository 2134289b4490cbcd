"""How a function becomes a tool: typed arguments, a small schema, and errors in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from aurora.errors import AuroraError
from aurora.mcp.wording import error_text, reword

F = TypeVar("F", bound=Callable[..., Any])

_SHOWN = 50  # characters of an argument's name, and arguments in one error

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
COUNTS = ToolAnnotations(  # each further call changes more
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
REMOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


def tool(title: str, annotations: ToolAnnotations, *, writes: bool = False) -> Callable[[F], F]:
    """Mark a method as a tool: its name is the tool's name, its docstring the description.

    A server that is read-only leaves out the tools that write.
    """

    def mark(method: F) -> F:
        method.tool = (title, annotations, writes)  # type: ignore[attr-defined]
        return method

    return mark


def make_tools(owner: object, *, read_only: bool) -> list[Tool]:
    """The tools of an object: its marked methods, in the order in which they are written."""
    marked = [name for name, method in vars(type(owner)).items() if hasattr(method, "tool")]
    methods = [getattr(owner, name) for name in marked]
    methods = [method for method in methods if not (read_only and method.tool[2])]
    names = frozenset(method.__name__ for method in methods)
    return [_make_tool(method, names, read_only=read_only) for method in methods]


def _make_tool(
    method: Callable[..., Any], names: frozenset[str], *, read_only: bool
) -> CheckedTool:
    title, annotations, _ = method.tool  # type: ignore[attr-defined]
    annotations = READS if read_only else annotations
    made = CheckedTool.from_function(method, title=title, annotations=annotations)
    checked = cast("CheckedTool", made)
    checked.offered = names
    # An argument that a model invented is an error. Pydantic would ignore it.
    arguments = checked.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    checked.parameters = _without_titles(arguments.model_json_schema(by_alias=True))
    checked.fn_metadata.output_schema = _without_titles(checked.fn_metadata.output_schema or {})
    checked.description = " ".join(checked.description.split())
    return checked


class CheckedTool(Tool):
    """A tool that reports an `AuroraError`, and names wrong arguments without their values.

    Its errors and notes name other tools that are `offered`, not commands.
    """

    offered: frozenset[str] = frozenset()

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            result = await super().run(arguments, context, convert_result)
        except ToolError as exc:
            cause = exc.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(self._wrong_arguments(cause)) from cause
            if isinstance(cause, AuroraError):  # the SDK tells an agent less about it
                text = error_text(cause, self.offered)
                raise ToolError(f"Error executing tool {self.name}: {text}") from cause
            raise
        return reword(result, self.offered) if isinstance(result, CallToolResult) else result

    def _wrong_arguments(self, exc: ValidationError) -> str:
        known = ", ".join(self.parameters.get("properties", {})) or "none"
        messages: dict[str, str] = {}  # the first message of each argument
        for error in exc.errors(include_url=False, include_input=False, include_context=False):
            name = str(error["loc"][0]) if error["loc"] else "arguments"
            message = error["msg"]
            if error["type"] == "extra_forbidden":
                message = f"there is no such argument; there are {known}"
            messages.setdefault(name[:_SHOWN], message)
        lines = [f"{name}: {message}" for name, message in messages.items()]
        return "\n".join(["Wrong arguments", *lines[:_SHOWN]])


def answer(value: BaseModel, text: str) -> CallToolResult:
    """A value as structured content, without its empty fields, and as text."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json", exclude_none=True),
    )


def _without_titles(value: Any, *, names: bool = False) -> Any:
    """A schema without titles: they repeat the names, and cost an agent tokens.

    In a table of `names`, a key `title` is the name of a field.
    """
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item
        if key in ("default", "example") and not names
        else _without_titles(item, names=not names and key in ("properties", "$defs"))
        for key, item in value.items()
        if names or key != "title"
    }
