"""A client of a server over streamable HTTP that leaves the processor to the server.

It speaks the protocol as agents do today: a handshake, then one POST for each call on a connection
that is kept, answered by JSON or by a stream of events. It reads every answer, and raises for one
that is no answer to its call. The client of the SDK takes twenty times as long for a call, which an
agent on another machine would not take from the server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

VERSION = "2025-11-25"
_LARGEST = 1 << 22  # bytes of a line of an answer


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """As much of a `CallToolResult` as a load looks at."""

    is_error: bool
    structured_content: dict[str, Any] | None
    content: list[Text] = field(default_factory=list)


class LeanClient:
    """One agent, with one connection."""

    def __init__(self, url: str) -> None:
        self._address, self._calls = urlsplit(url), 0

    async def __aenter__(self) -> Self:
        host, port = self._address.hostname, self._address.port
        self._reader, self._writer = await asyncio.open_connection(host, port, limit=_LARGEST)
        me = {"name": "load", "version": "1"}
        hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": me}
        accepted = await self._request("initialize", hello)
        if accepted["protocolVersion"] != VERSION:
            raise ValueError(f"The server speaks {accepted['protocolVersion']}")
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self._writer.close()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        result = await self._request("tools/call", {"name": name, "arguments": arguments})
        texts = [Text(part["text"]) for part in result["content"]]
        return Answer(result.get("isError", False), result.get("structuredContent"), texts)

    async def _request(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self._calls += 1
        message = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": parameters}
        for line in (await self._post(message)).splitlines():  # of JSON there is one
            if line.startswith((b"{", b"data:")):
                answer = json.loads(line.removeprefix(b"data:"))
                if answer.get("id") == self._calls:
                    return dict(answer["result"])
        raise ValueError(f"{method} was not answered")

    async def _post(self, message: Mapping[str, Any]) -> bytes:
        body, url = json.dumps(message).encode(), self._address
        head = (
            f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {VERSION}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
        if headers.get("transfer-encoding") == "chunked":
            answer = b"".join([part async for part in self._chunks()])
        else:
            answer = await self._reader.readexactly(int(headers.get("content-length", 0)))
        if status.split()[1] not in ("200", "202"):
            raise ValueError(f"{status}: {answer[:300]!r}")
        return answer

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readline(), 16):
            yield (await self._reader.readexactly(size + 2))[:size]
        await self._reader.readline()
