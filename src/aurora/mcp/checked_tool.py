"""How a function becomes a tool: typed arguments, a small schema, and errors in plain words."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, cast

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import ValidationError

from aurora.engine.opening import one_setup
from aurora.errors import AuroraError, ChunkNotFoundError
from aurora.marks import Marks
from aurora.mcp import parameters as take
from aurora.mcp.wording import error_text

NoteCall = Callable[[str, str, str, float, str], None]
"""Tool, memory, text, seconds and class of an error of one call: for the log of numbers."""

F = TypeVar("F", bound=Callable[..., Any])


class Elsewhere(Protocol):
    """Other processes that may answer calls."""

    def calling(self) -> AbstractContextManager[None]:
        """Around each call, also one that is answered here."""

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult | None:
        """The answer of another process, which also logs the call; None to answer it here."""


_LISTED = ("type", "enum", "items", "default", "description")
_SHOWN = 50  # characters of an argument's name, and arguments in one error

# What the protocol assumes otherwise is left out: that a tool writes.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(destructive_hint=False, open_world_hint=False)
REMOVES = ToolAnnotations(destructive_hint=True, open_world_hint=False)


def tool(
    annotations: ToolAnnotations, *, writes: bool = False, apart: bool = False
) -> Callable[[F], F]:
    """Mark a method as a tool: its name is the tool's name, its docstring the description.

    A server that is read-only leaves out the tools that write. A tool `apart` may be answered by
    another process.
    """

    def mark(method: F) -> F:
        method.tool = (annotations, writes, apart)  # type: ignore[attr-defined]
        return method

    return mark


def make_tools(
    owner: object,
    *,
    read_only: bool,
    left_out: Set[str] = frozenset(),
    note_call: NoteCall | None = None,
    elsewhere: Elsewhere | None = None,
) -> list[Tool]:
    """The tools of an object: its marked methods, in the order in which they are written.

    The parameters that are left out are taken, but not listed. `note_call` is told of each call.
    `elsewhere` is asked first to answer calls of the tools that are apart.
    """
    methods = offered_methods(owner, read_only=read_only)
    names = frozenset(method.__name__ for method in methods)
    tools = [_make_tool(method, names, left_out, read_only=read_only) for method in methods]
    for each in tools:
        each.note_call = note_call
        each.elsewhere = elsewhere if each.fn.tool[2] else None  # type: ignore[attr-defined]
    return list(tools)


def offered_methods(owner: object, *, read_only: bool) -> list[Callable[..., Any]]:
    marked = [name for name, method in vars(type(owner)).items() if hasattr(method, "tool")]
    methods = [getattr(owner, name) for name in marked]
    return [method for method in methods if not (read_only and method.tool[1])]


def _make_tool(
    method: Callable[..., Any], names: frozenset[str], left_out: Set[str], *, read_only: bool
) -> CheckedTool:
    annotations = method.tool[0]  # type: ignore[attr-defined]
    annotations = READS if read_only else annotations
    if not inspect.iscoroutinefunction(method):
        method = one_setup()(method)
    checked = cast("CheckedTool", CheckedTool.from_function(method, annotations=annotations))
    checked.offered = names
    # An argument that a model invented is an error. Pydantic would ignore it.
    arguments = checked.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    checked.parameters = _listed(arguments.model_json_schema(by_alias=True), left_out)
    checked.description = " ".join(checked.description.split())
    return checked


class CheckedTool(Tool):
    """A tool that reports an `AuroraError`, and names wrong arguments without their values.

    Its errors name other tools that are `offered`, not commands.
    """

    offered: frozenset[str] = frozenset()
    note_call: NoteCall | None = None
    elsewhere: Any = None  # Any: an `Elsewhere`, whose class pydantic would check

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        if self.elsewhere is None:
            return await self._run_here(arguments, context, convert_result)
        with self.elsewhere.calling():
            ask = self.elsewhere.answer
            answer = await anyio.to_thread.run_sync(ask, self.name, arguments)
            return answer or await self._run_here(arguments, context, convert_result)

    async def _run_here(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool
    ) -> Any:
        begun, text, error = time.perf_counter(), "", ""
        try:
            result = await self._run(arguments, context, convert_result)
            text = _text_of(result)
        except BaseException as exc:
            error = type(exc.__cause__ or exc).__name__
            raise
        finally:
            if self.note_call is not None:
                memory = str(arguments.get("memory") or "")
                self.note_call(self.name, memory, text, time.perf_counter() - begun, error)
        return result

    async def _run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool
    ) -> Any:
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as exc:
            cause = exc.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(self._wrong_arguments(cause)) from cause
            if isinstance(cause, AuroraError):  # the SDK tells an agent less about it
                text = error_text(cause, self.offered)
                if isinstance(cause, ChunkNotFoundError):  # it may name what is stored
                    text = Marks.make().quote(text)
                raise ToolError(f"Error executing tool {self.name}: {text}") from cause
            raise

    def _wrong_arguments(self, exc: ValidationError) -> str:
        known = ", ".join(self.fn_metadata.arg_model.model_fields) or "none"
        messages: dict[str, str] = {}  # the first message of each argument
        for error in exc.errors(include_url=False, include_input=False, include_context=False):
            name = str(error["loc"][0]) if error["loc"] else "arguments"
            message = error["msg"]
            if error["type"] == "extra_forbidden":
                message = f"there is no such argument; there are {known}"
            messages.setdefault(name[:_SHOWN], message)
        lines = [f"{name}: {message}" for name, message in messages.items()]
        return "\n".join(["Wrong arguments", *lines[:_SHOWN]])


def _text_of(result: object) -> str:
    """What a model reads of an answer: a result of the protocol, or what the SDK makes of it."""
    parts = getattr(result, "content", result)
    listed = parts if isinstance(parts, list) else []
    return "\n".join(str(getattr(part, "text", "")) for part in listed)


def _listed(schema: dict[str, Any], left_out: Set[str]) -> dict[str, Any]:
    """The parameters as an agent needs them: without old names, null, bounds and titles.

    A server takes more than it lists, and says what is wrong with an argument. Every word of a
    list of tools costs an agent tokens at each start.
    """
    listed = {
        name: _plain(parameter)
        for name, parameter in schema["properties"].items()
        if not parameter.get(take.UNLISTED) and name not in left_out
    }
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": listed, **required}


def _plain(parameter: dict[str, Any]) -> dict[str, Any]:
    kinds = [kind for kind in parameter.get("anyOf", ()) if kind.get("type") != "null"]
    merged = {**parameter, **(kinds[0] if kinds else {})}
    if "enum" in merged:
        del merged["type"]
        if merged["enum"][0] == merged.get("default"):  # as a reader takes it to be
            del merged["default"]
    return {key: merged[key] for key in _LISTED if merged.get(key) not in (None, "", False)}
