"""The server over streamable HTTP, with a token and a rate limit.

A web page in a browser can send requests to this machine, so `Host` and `Origin` are checked. There
is no OAuth: a team's token is one word.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import re
import secrets
import socket
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aurora.endpoints import is_loopback
from aurora.errors import ConfigError
from aurora.files import make_folder, open_no_follow, replacing
from aurora.mcp.lifetime import Lifetime
from aurora.mcp.server import create_server
from aurora.mcp.workers import Workers
from aurora.platforms import effective_user, processors
from aurora.serving.connections import let_in, make_server, run_server
from aurora.serving.pool import MemoryPool

PATH = "/mcp"
LARGEST = 8 * 1024 * 1024  # bytes of one request: the largest document, as JSON
_ANYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - compared, not bound
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_TOKEN = re.compile(r"[!-~]{16,}")
_LONGEST_TOKEN = 4_096  # bytes read of a token's file

WRONG_TOKENS = 20.0  # requests without the token, per second and address
_BURST = 2.0  # seconds' worth of calls that may come at once
_MOST = 10_000  # clients remembered; the least recent one is forgotten first


class Rate:
    """A token bucket for each client: calls per second, with a burst."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls left, since

    def take(self, client: str) -> float:
        """Count a call. Returns 0 if it is allowed, otherwise the seconds to wait."""
        now, full = self._clock(), _BURST * self._per_second
        left, since = self._buckets.get(client, (full, now))
        left, wanted = min(full, left + (now - since) * self._per_second), min(1.0, full)
        if left < wanted:
            return (wanted - left) / self._per_second
        self._buckets[client] = (left - 1.0, now)
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return 0.0


def _too_many(what: str, seconds: float, **headers: str) -> JSONResponse:
    headers["Retry-After"] = str(math.ceil(seconds))
    return JSONResponse({"error": f"Too many {what}"}, status_code=429, headers=headers)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """The address to listen at, the token, and the host names that clients may use."""

    host: str
    port: int
    token: str = field(default="", repr=False)  # never in a log
    names: tuple[str, ...] = ()
    rate: float = 0  # calls per second and client; 0 is no limit
    proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For is trusted
    no_token: bool = False  # an empty token needs this, too

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise ConfigError(
                "The token is shorter than 16 characters, or not plain ASCII without spaces",
                hint="make a new one: "
                'python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
            )
        if not self.token and not is_loopback(self.host):
            raise ConfigError(
                f"Without a token, every user of the network could read the memory at {self.host}",
                hint="set AURORA_MCP_TOKEN, name a --token-file, or leave out --host",
            )
        if not self.token and not self.no_token:
            raise ConfigError(
                "The server has no token",
                hint="set AURORA_MCP_TOKEN, name a --token-file, or use --no-token",
            )
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as exc:
                raise ConfigError(
                    f"{proxy!r} is not the address of a proxy: {exc}",
                    hint="name an address or a network, such as --trusted-proxy 10.0.0.0/24",
                ) from exc
        if self.host in _ANYWHERE and not self.names:
            raise ConfigError(
                f"For {self.host or 'every address'}, the host names that clients use are missing",
                hint="add --allow-host NAME for each, such as --allow-host memory.example.org",
            )

    @property
    def is_for_others(self) -> bool:
        """Whether clients on other machines reach it, as its options say."""
        return bool(not is_loopback(self.host) or self.names or self.proxies)

    @property
    def security(self) -> TransportSecuritySettings:
        own = () if self.host in _ANYWHERE else (_bracketed(self.host),)
        names = dict.fromkeys((*_LOOPBACK, *own, *self.names))
        hosts = [form for name in names for form in (name, f"{name}:*")]
        origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
        return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def make_app(server: MCPServer, settings: HttpSettings) -> ASGIApp:
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,  # no state of a client is kept
        max_request_body_size=LARGEST,
        transport_security=settings.security,
    )
    return _Guard(app, settings.token, Rate(settings.rate) if settings.rate else None)


class _Guard:
    """Accepts requests with the token, up to a rate per client, and refuses others.

    Wrong tokens have their own limit, so that they do not use up the limit of an owner at the
    same address. Beyond it, each try costs a new connection. The token is still compared then, so
    that the owner cannot be locked out.
    """

    def __init__(self, app: ASGIApp, token: str, calls: Rate | None) -> None:
        self._app, self._token, self._calls = app, token.encode(), calls
        self._failures = Rate(WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            # The client's address; uvicorn has replaced that of a --trusted-proxy.
            client = str((scope.get("client") or [""])[0])
            if not self._is_allowed(Headers(scope=scope).get("authorization", "")):
                app = self._refusal(client)
            else:
                let_in(scope)
                if self._calls and (seconds := self._calls.take(client)):
                    reason = "calls: wait a moment. The server's --rate is the limit"
                    app = _too_many(reason, seconds)
        await app(scope, receive, send)

    def _is_allowed(self, authorization: str) -> bool:
        if not self._token:  # --no-token
            return True
        scheme, _, token = authorization.partition(" ")
        same = hmac.compare_digest(token.encode("latin-1"), self._token)
        return same and scheme.lower() == "bearer"

    def _refusal(self, client: str) -> JSONResponse:
        if seconds := self._failures.take(client):
            return _too_many("requests without the token", seconds, Connection="close")
        return JSONResponse(
            {"error": "This memory asks for a token: Authorization: Bearer …"},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )


def own_token(file: Path) -> str:
    """The token of this user's servers, from a private file that the first start creates.

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
    if not _TOKEN.fullmatch(token):  # after a full disk or a kill
        raise ConfigError(
            f"The token file {file} is {'too short' if token else 'empty'}",
            hint="delete it: the next start makes a new one",
        )
    return token


def _read_own(file: Path) -> str:
    """Read a file that no other user can read or write, and not through a link."""
    with open_no_follow(file) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a file")
        user = effective_user()
        if user is not None and (status.st_uid != user or status.st_mode & 0o077):
            raise ValueError("other users may read or write it")
        return opened.read(_LONGEST_TOKEN).decode().strip()


def address_of(settings: HttpSettings, listening: socket.socket) -> str:
    return f"http://{_bracketed(settings.host)}:{listening.getsockname()[1]}{PATH}"


def serve(
    pool: MemoryPool, settings: HttpSettings, listening: socket.socket, lifetime: Lifetime
) -> None:
    """Serve until SIGINT or SIGTERM, or until there is a reason to end; running calls get a few
    seconds to end. Then the workers end."""
    with closing(Workers(pool, most=_most_workers(pool))) as workers:
        server = create_server(pool, one_client=False, lifetime=lifetime, workers=workers)
        app, reason = make_app(server, settings), lifetime.reason_to_end
        run_server(make_server(app, proxies=settings.proxies, reason_to_end=reason), listening)


def _most_workers(pool: MemoryPool) -> int:
    """None for a database on a server: it ranks by itself, and only the process that wrote waits
    for its replicas."""
    settings = [pool.memory(name).settings for name in pool.names]
    if any(each.store.url for each in settings):
        return 0
    return min(settings[0].mcp.workers, processors())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
