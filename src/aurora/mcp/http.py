"""The server over streamable HTTP: a token guards it, and no client may call too often.

A page in a browser can send requests to this machine, so who the request was meant for (Host) and
where it comes from (Origin) are checked. No OAuth: a team's token is one word, compared as a whole.

How many calls a client may make: a bucket for each that fills steadily and holds a burst.
"""

from __future__ import annotations

import ctypes
import hmac
import ipaddress
import math
import os
import re
import secrets
import socket
import stat
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
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
from aurora.files import make_folder, open_no_follow, replacing
from aurora.mcp.clients import is_loopback
from aurora.mcp.connections import Bounds, Connection, Server, connections_allowed, let_in

WRONG_TOKENS = 20.0  # requests without the token, per second and address
_BURST = 2.0  # seconds' worth that may come at once
_MOST = 10_000  # clients remembered; the one that came longest ago goes first


class Rate:
    """Calls per second and client."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls left, since

    def take(self, client: str) -> float:
        """Count a call. Returns 0 if it may be made, otherwise the seconds to wait for it."""
        left, wanted = self._left(client), min(1.0, self._full)
        if left < wanted:
            return (wanted - left) / self._per_second
        self._buckets[client] = (left - 1.0, self._clock())
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return 0.0

    @property
    def _full(self) -> float:
        return _BURST * self._per_second

    def _left(self, client: str) -> float:
        now = self._clock()
        left, since = self._buckets.get(client, (self._full, now))
        return min(self._full, left + (now - since) * self._per_second)


class Limit:
    """Answers 429 to a client that calls too often, before anything is read of the call."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self._app, self._rate = app, rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and (seconds := self._rate.take(client_of(scope))):
            app = too_many("calls: wait a moment. The server's --rate is the limit", seconds)
        await app(scope, receive, send)


def too_many(what: str, seconds: float, **headers: str) -> JSONResponse:
    return JSONResponse(
        {"error": f"Too many {what}"},
        status_code=429,
        headers={"Retry-After": str(math.ceil(seconds)), **headers},
    )


def client_of(scope: Scope) -> str:
    """The peer's address; behind a proxy that --trusted-proxy names, the one that it tells."""
    client = scope.get("client")
    return str(client[0]) if client else ""


PATH = "/mcp"
LARGEST = 8 * 1024 * 1024  # bytes of one request: the largest document, as JSON
_ANYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - what they mean, not what is bound
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_KEPT = 75  # seconds that an idle connection stays: longer than clients keep one to use again
_BACKLOG = 2_048  # clients that wait to be accepted
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # of glibc's malloc.h
_LARGE = 256 * 1024  # bytes that are asked of the system, and go back to it
_TOKEN = re.compile(r"[!-~]{16,}")
_LONGEST = 4_096  # bytes that are read of a token's file


@dataclass(frozen=True, slots=True)
class Door:
    """Where to listen, who may come in, and under which names this machine is asked for."""

    host: str
    port: int
    token: str = ""
    names: tuple[str, ...] = ()
    rate: float = 0  # calls per second and client; 0 is no limit
    proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For is believed
    no_token: bool = False  # the user said so: an empty token alone opens nothing

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
        if not self.token and not self.no_token:
            raise ConfigError(
                "The server has no token",
                hint="set AURORA_MCP_TOKEN, name a --token-file, or say --no-token",
            )
        for proxy in self.proxies:
            _check_network(proxy)
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
    limited = Limit(app, Rate(door.rate)) if door.rate else app
    return _Guard(limited, door.token)


class _Guard:
    """Lets in requests with the token; says nothing to others, not even what is here.

    Wrong tokens have a limit of their own, so that they use up nothing of the owner's, who may call
    from the same address. Beyond it each further try costs the peer a new connection. The token is
    still compared then: a peer must not be able to lock the owner out.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, token.encode()
        self._failures = Rate(WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            if self._knows(Headers(scope=scope).get("authorization", "")):
                let_in(scope)
            else:
                app = self._refusal(client_of(scope))
        await app(scope, receive, send)

    def _knows(self, said: str) -> bool:
        if not self._wanted:  # --no-token
            return True
        scheme, _, token = said.partition(" ")
        same = hmac.compare_digest(token.encode("latin-1"), self._wanted)
        return same and scheme.lower() == "bearer"

    def _refusal(self, client: str) -> JSONResponse:
        if seconds := self._failures.take(client):
            return too_many("requests without the token", seconds, Connection="close")
        return JSONResponse(
            {"error": "This memory asks for a token: Authorization: Bearer …"},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )


def own_token(file: Path) -> str:
    """The token of this user's servers: made once, whole or not at all, and theirs alone to read.

    Of several first starts at once, one writes the file and the others read it.
    """
    try:
        make_folder(file.parent)
        if not os.path.lexists(file):
            with suppress(FileExistsError), replacing(file, durable=True, only_new=True) as out:
                out.write(f"{secrets.token_urlsafe(32)}\n".encode())
        token = _read_own(file)
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"The token in {file} cannot be kept: {exc}",
            hint="delete it, set AURORA_MCP_TOKEN, or name a --token-file",
        ) from exc
    if not _TOKEN.fullmatch(token):  # as a full disk or a kill may have left it
        raise ConfigError(
            f"The token file {file} is {'too short' if token else 'empty'}",
            hint="delete it: the next start makes a new one",
        )
    return token


def _read_own(file: Path) -> str:
    """Only from a file that nobody else can have written or read; never through a link."""
    with open_no_follow(file) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no file")
        if sys.platform != "win32" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            raise ValueError("other users may read or write it")
        return opened.read(_LONGEST).decode().strip()


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
    Server(configure(make_app(server, door), door), Bounds(connections_allowed())).run([listening])


def configure(app: ASGIApp, door: Door) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        log_config=None,  # to where all other loggers write
        log_level="error",  # a peer without a token must not be able to fill a log
        access_log=False,
        server_header=False,
        proxy_headers=bool(door.proxies),
        forwarded_allow_ips=list(door.proxies),
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=3,
        ws="none",
    )


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


def _check_network(proxy: str) -> None:
    try:
        ipaddress.ip_network(proxy)
    except ValueError as exc:
        raise ConfigError(
            f"{proxy!r} is no address of a proxy: {exc}",
            hint="name an address or a network, such as --trusted-proxy 10.0.0.0/24",
        ) from exc
