"""The server over streamable HTTP: a token guards it, and nobody may call too often.

A page in a browser can send requests to this machine, so who the request was meant for (Host) and
where it comes from (Origin) are checked. No OAuth: a team's token is one word, compared as a whole.
"""

from __future__ import annotations

import ctypes
import hmac
import re
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aurora.errors import ConfigError
from aurora.mcp.clients.address import is_loopback
from aurora.mcp.rate import WRONG_TOKEN, Limit, Rate, client_of
from aurora.private import make_folder, opener

PATH = "/mcp"
LARGEST = 8 * 1024 * 1024  # bytes of one request: the largest document, as JSON
_ANYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - what they mean, not what is bound
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_KEPT = 75  # seconds that an idle connection stays: longer than clients keep one to use again
_BACKLOG = 512  # clients that wait to be let in
_TOGETHER = 1_000  # connections; who comes beyond is told to come again
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # of glibc's malloc.h
_LARGE = 256 * 1024  # bytes that are asked of the system, and go back to it
_TOKEN = re.compile(r"[!-~]{16,}")


@dataclass(frozen=True, slots=True)
class Door:
    """Where to listen, who may come in, and under which names this machine is asked for."""

    host: str
    port: int
    token: str = ""
    names: tuple[str, ...] = ()
    rate: float = 0  # calls per second and client; 0 is no limit

    def __repr__(self) -> str:
        return f"Door({self.host}:{self.port}, token {'set' if self.token else 'none'})"

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise ConfigError(
                "The token is too short, or has a space or a letter that no header can carry",
                hint="make one of 16 signs or more: "
                'python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
            )
        if not self.token and not is_loopback(self.host):
            raise ConfigError(
                f"Without a token the memory is not served at {self.host}: anybody could read it",
                hint="set AURORA_MCP_TOKEN, name a --token-file, or leave out --host",
            )
        if self.host in _ANYWHERE and not self.names:
            raise ConfigError(
                f"{self.host or 'Every address'} does not say by which name clients ask for it",
                hint="add --allow-host NAME for each, such as --allow-host memory.example.org",
            )

    @property
    def security(self) -> TransportSecuritySettings:
        own = () if self.host in _ANYWHERE else (_bracketed(self.host),)
        names = dict.fromkeys((*_LOOPBACK, *own, *self.names))
        return TransportSecuritySettings(
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[
                form
                for name in names
                for scheme in ("http", "https")
                for form in (f"{scheme}://{name}", f"{scheme}://{name}:*")
            ],
        )


def make_app(server: MCPServer, door: Door) -> ASGIApp:
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,  # nothing is kept of a client, so any number may come and go
        max_request_body_size=LARGEST,
        transport_security=door.security,
    )
    rate = Rate(door.rate) if door.rate else None
    guarded: ASGIApp = _Guard(app, door.token, rate) if door.token else app
    return Limit(guarded, rate) if rate else guarded


class _Guard:
    """Lets in who knows the token; says nothing to others, not even what is here."""

    def __init__(self, app: ASGIApp, token: str, rate: Rate | None) -> None:
        self._app, self._wanted, self._rate = app, token.encode(), rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scheme, _, said = Headers(scope=scope).get("authorization", "").partition(" ")
            known = hmac.compare_digest(said.encode("latin-1"), self._wanted)
            if scheme.lower() != "bearer" or not known:
                if self._rate is not None:
                    self._rate.charge(client_of(scope), WRONG_TOKEN)
                refusal = JSONResponse(
                    {"error": "This memory asks for a token: Authorization: Bearer …"},
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def own_token(file: Path) -> str:
    """The token of this user's servers: made once, and theirs alone to read."""
    try:
        make_folder(file.parent)
        with suppress(FileExistsError), open(file, "x", encoding="utf-8", opener=opener) as out:
            out.write(secrets.token_urlsafe(32) + "\n")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"The token in {file} cannot be kept: {exc}",
            hint="set AURORA_MCP_TOKEN, or name a --token-file",
        ) from exc


def listen_at(door: Door) -> socket.socket:
    """The open socket: before anything is loaded, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    # With its protocol named, asyncio sends small answers at once instead of 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((door.host, door.port))
        listening.listen(_BACKLOG)  # who comes before the server is ready waits
    except (OSError, OverflowError) as exc:
        listening.close()
        raise ConfigError(
            f"Cannot listen at {door.host}:{door.port}: {getattr(exc, 'strerror', None) or exc}",
            hint="choose another --port or --host, or end who listens there",
        ) from exc
    return listening


def address_of(door: Door, listening: socket.socket) -> str:
    return f"http://{_bracketed(door.host)}:{listening.getsockname()[1]}{PATH}"


def serve(server: MCPServer, door: Door, listening: socket.socket) -> None:
    """Until SIGINT or SIGTERM; calls that are being answered get a few seconds to end."""
    _spare_memory()
    config = uvicorn.Config(
        make_app(server, door),
        log_level="warning",
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=3,
        limit_concurrency=_TOGETHER,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])


def _spare_memory() -> None:
    """Each thread would have a heap of its own in glibc, and arrays of any size would come from it:
    twice the memory, and more with the minutes, as holes are never given back. Other libraries of C
    have no such call."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            adjust = ctypes.CDLL(None).mallopt
            adjust(_M_ARENA_MAX, 1)
            adjust(_M_MMAP_THRESHOLD, _LARGE)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
