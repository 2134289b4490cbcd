"""The table of routes: views are typed functions, and this file makes requests and OpenAPI of them.

A view takes the door and keyword arguments; those without a default must be given. A GET has them
in the query, a POST in an object of JSON. What a view returns is sent as JSON.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aurora.errors import AuroraError, ChunkNotFoundError, NoMemoryError, QueryError, StoreBusyError
from aurora.types import Json
from aurora.web.guard import refuse

logger = logging.getLogger(__name__)

_GONE = 499  # a status that nobody reads: the browser is gone
MOST_BYTES = 8 * 1024 * 1024  # of a request: the largest document, as JSON
_SCHEMAS: dict[type, dict[str, Json]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}
_LIST: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
_MISSING = inspect.Parameter.empty

View = Callable[..., Any]  # of the door and what the request gives; returns JSON or a response


@dataclass(frozen=True)
class Api:
    """One method of one path, and the function that answers it."""

    method: str
    path: str
    view: View
    is_typed: bool = False  # asked with each key: one at a time is sooner through than several

    @cached_property
    def parameters(self) -> Mapping[str, tuple[type, object]]:
        """The type and the default of each argument, by its name in requests."""
        types = get_type_hints(self.view)
        listed = list(inspect.signature(self.view).parameters.values())[1:]
        return {each.name.rstrip("_"): (types[each.name], each.default) for each in listed}

    def arguments(self, given: Mapping[str, object]) -> dict[str, Any]:
        """What the view is called with. `QueryError` names what is missing or has a wrong type."""
        names = {each.rstrip("_"): each for each in inspect.signature(self.view).parameters}
        read = {}
        for name, (type_, default) in self.parameters.items():
            if name in given:
                read[names[name]] = _read(name, given[name], type_)
            elif default is _MISSING:
                raise QueryError(f"{name} is missing", hint=f"{self.path} needs it")
        return read

    def route(self, door: object, turns: asyncio.Semaphore) -> Route:
        """The route of the application. Requests take `turns`: while a person types, those that the
        browser has given up are dropped before they are worked on."""

        async def answer(request: Request) -> Response:
            try:
                body = await _read_body(request)
                given = _read_object(body) if self.method == "POST" else request.query_params
                arguments = self.arguments({**given, **request.path_params})
                async with turns:
                    if await request.is_disconnected():
                        return Response(status_code=_GONE)
                    answered = await run_in_threadpool(self.view, door, **arguments)
            except ClientDisconnect:
                return Response(status_code=_GONE)
            except AuroraError as exc:
                return refuse(_status_of(exc), exc.message, exc.hint)
            except Exception:
                logger.exception("%s failed", self.path)
                hint = "the log of Aurora has the details"
                return refuse(500, "Aurora could not answer this", hint)
            return answered if isinstance(answered, Response) else JSONResponse(answered)

        return Route(self.path, answer, methods=[self.method])

    def describe(self) -> dict[str, Json]:
        """The operation as OpenAPI has it."""
        words = inspect.getdoc(self.view) or ""
        summary, _, description = words.partition("\n\n")
        schemas = {name: _schema(each) for name, (each, _) in self.parameters.items()}
        needed = [name for name, (_, default) in self.parameters.items() if default is _MISSING]
        is_binary = get_type_hints(self.view)["return"] is Response
        type_ = "application/octet-stream" if is_binary else "application/json"
        described: dict[str, Json] = {
            "summary": " ".join(summary.split()),
            "operationId": self.view.__name__,
            "responses": {
                "200": {"description": "The answer", "content": {type_: {}}},
                "default": {"description": "An error", "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Error"}}}},
            },
        }  # fmt: skip
        if description:
            described["description"] = " ".join(description.split())
        if self.method == "POST":
            body: dict[str, Json] = {"type": "object", "properties": {**schemas}}
            body["required"] = [*needed]
            described["requestBody"] = {"content": {"application/json": {"schema": body}}}
        else:
            described["parameters"] = [
                {
                    "name": name,
                    "in": "path" if f"{{{name}" in self.path else "query",
                    "required": name in needed,
                    "schema": schema,
                }
                for name, schema in schemas.items()
            ]
        return described


def describe_all(
    table: Sequence[Api], version: str, *, streams: Mapping[str, str]
) -> dict[str, Json]:
    """The description of the whole API, as OpenAPI 3.1. `streams` are events without end."""
    paths: dict[str, dict[str, Json]] = {
        path: {"get": {"summary": words, "responses": {"200": {"description": "Events",
            "content": {"text/event-stream": {}}}}}}
        for path, words in streams.items()
    }  # fmt: skip
    for api in table:
        path = api.path.replace(":path}", "}")
        paths.setdefault(path, {})[api.method.lower()] = api.describe()
    error: dict[str, Json] = {"error": {"type": "string"}, "hint": {"type": "string"}}
    schema: dict[str, Json] = {"type": "object", "properties": error}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Aurora", "version": version},
        "paths": {**paths},
        "components": {"schemas": {"Error": schema}},
    }


async def _read_body(request: Request) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise QueryError(f"The request is larger than {MOST_BYTES:,} bytes")
    return bytes(content)


def _read_object(content: bytes) -> dict[str, object]:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as exc:
        raise QueryError("The request is no JSON") from exc
    if not isinstance(values, dict):
        raise QueryError("The request is no object of JSON")
    return values


def _read(name: str, value: object, type_: type) -> object:
    """A value as the view wants it. In a query all values are texts."""
    if type_ in (int, float) and isinstance(value, str | int | float):
        with suppress(ValueError, OverflowError):
            number = type_(value)
            if math.isfinite(number):
                return number
    elif type_ is bool and value in (True, False, "1", "0", "true", "false", ""):
        return value in (True, "1", "true")
    elif type_ is str and isinstance(value, str):
        return value
    elif isinstance(value, list) and type_ not in _SCHEMAS:
        return tuple(map(str, value))
    wanted = _schema(type_)["type"]
    raise QueryError(f"{name} must be of type {wanted}, not {str(value)[:100]!r}")


def _schema(type_: type) -> dict[str, Json]:
    return _SCHEMAS.get(type_, _LIST)


def _status_of(error: AuroraError) -> int:
    if isinstance(error, (ChunkNotFoundError, NoMemoryError)):
        return 404
    return 503 if isinstance(error, StoreBusyError) else 400
