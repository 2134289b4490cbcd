"""Limits on the connections of the HTTP server: their number, and how long each may take.

uvicorn limits neither the time in which a request arrives nor the number of silent connections. A
connection is a *stranger* until it sends a request with the token. A stranger gets a few seconds in
all, and the oldest stranger is closed when there is no room for a new connection.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import h11
import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from aurora.platforms import raise_file_limit, share_heap

_MOST = 1_000  # connections: more than a team has, and few enough to check every second
_KEEP_ALIVE = 75  # seconds of an idle connection: longer than clients reuse one
_LARGE = 256 * 1024  # bytes: larger blocks are returned to the system when freed
_SPARE = 256  # open files for the memory itself: databases, logs, pipes of git
_PAUSE = 0.05  # seconds after a failed accept, such as without a free file
_TOGETHER = 16  # connections accepted before the loop does other work
_SWEEP = 10  # ticks of uvicorn, 0.1 s each, between two checks for late connections
_KEY = "aurora.connection"  # in the state of a request's scope


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most connections, and the seconds that a client has for each part of a request."""

    connections: int = _MOST
    stranger: float = 10.0  # from the connection to the first accepted request
    head: float = 10.0  # of a later request, from its first byte
    body: float = 120.0  # 8 MiB, the largest, at 70 KB a second
    unread: float = 60.0  # without the client reading the answer


def connections_allowed() -> int:
    """Raise the limit of open files, and return how many connections it allows."""
    files = raise_file_limit()
    return _MOST if files is None else min(_MOST, max(files - _SPARE, files // 2))


def let_in(scope: Scope) -> None:
    """Mark the connection of a request as accepted: it passed the check of the token."""
    connection = scope.get("state", {}).get(_KEY)
    if isinstance(connection, Connection):
        connection.let_in()


class Connection(H11Protocol):
    """A connection that is cut when the client does not send or read in time."""

    def __init__(self, server: Server) -> None:
        state = {**server.lifespan.state, _KEY: self}
        super().__init__(server.config, server.server_state, state)
        self._strangers, self._bounds = server.strangers, server.bounds
        self._stage: object = None  # h11's state of the arriving request
        self._due = self._unread_due = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._allow(self._bounds.stranger)
        self._strangers[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.pop(self, None)
        super().connection_lost(exc)

    def let_in(self) -> None:
        if self in self._strangers:
            del self._strangers[self]
            self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        stage = self.conn.their_state
        if stage is not self._stage:  # more bytes of the same head or body gain no time
            self._expect(head=self._bounds.head)
            self._stage = stage

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_due = self.loop.time() + self._bounds.unread

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_due = math.inf

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
            return
        # While a request is answered, or inside its body, h11 would raise, and a client could fill
        # the log with tracebacks.
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.transport.abort()

    def shutdown(self) -> None:
        if self in self._strangers:
            self.transport.abort()
        else:
            super().shutdown()

    def cut_if_due(self, now: float) -> None:
        if now >= min(self._due, self._unread_due):
            self.transport.abort()
        elif self._due == math.inf and self.transport.is_closing():
            self._allow(self._bounds.unread)

    def _expect(self, head: float = math.inf) -> None:
        """Start the time for what the client has to send next. An answer has no limit, and between
        two requests uvicorn's keep-alive time runs."""
        self._stage = None
        parts = {h11.IDLE: head, h11.SEND_BODY: self._bounds.body}
        self._allow(parts.get(self.conn.their_state, math.inf))

    def _allow(self, seconds: float) -> None:
        if self not in self._strangers:  # a stranger's time runs from the connection on
            self._due = self.loop.time() + seconds


class Server(uvicorn.Server):
    """uvicorn with its own accept loop, within bounds.

    asyncio would accept all waiting connections before it reads any, and pause for a second when
    no file is free.
    """

    def __init__(
        self, config: uvicorn.Config, bounds: Bounds, reason_to_end: Callable[[], str] = str
    ) -> None:
        """It ends when `reason_to_end` gives one."""
        super().__init__(config)
        self.bounds, self._reason_to_end = bounds, reason_to_end
        self.strangers: dict[Connection, None] = {}  # the oldest first
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])  # without its own accept loop
        self._accepting += [asyncio.create_task(self._accept(each)) for each in sockets or ()]

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP == 0:
            now = asyncio.get_running_loop().time()
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.cut_if_due(now)
            if self._reason_to_end():
                return True
        return await super().on_tick(counter)

    async def _accept(self, listening: socket.socket) -> None:
        """Accept until uvicorn closes the socket. Cancelling a finished accept would fail."""
        listening.setblocking(False)
        while not self.should_exit:
            try:
                await self._accept_some(listening)
            except OSError:  # no file is free, or the client is gone
                self._make_room()
                await asyncio.sleep(_PAUSE)
        while self._make_room():  # uvicorn does not know the newest ones
            pass

    async def _accept_some(self, listening: socket.socket) -> None:
        """Wait for a connection, and accept those that wait behind it."""
        loop = asyncio.get_running_loop()
        peers = [(await loop.sock_accept(listening))[0]]
        with suppress(OSError):  # none waits, or no file is free
            while len(peers) < _TOGETHER:
                peers.append(listening.accept()[0])
        surplus = len(self.server_state.connections) + len(peers) - self.bounds.connections
        for _ in range(surplus):
            if not self._make_room():
                peers.pop(0).close()
        served = (loop.connect_accepted_socket(lambda: Connection(self), peer) for peer in peers)
        await asyncio.gather(*served, return_exceptions=True)

    def _make_room(self) -> bool:
        """Close the oldest stranger. Returns False if there is none."""
        oldest = next(iter(self.strangers), None)
        if oldest is None:
            return False
        del self.strangers[oldest]
        oldest.transport.abort()
        return True


def make_server(
    app: ASGIApp,
    *,
    proxies: Sequence[str] = (),
    bounds: Bounds | None = None,
    reason_to_end: Callable[[], str] = str,
) -> Server:
    """A server that ends with SIGINT, SIGTERM or a reason; running calls get a few seconds to end.

    `proxies` are addresses whose X-Forwarded-For is trusted.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=None,  # as all other loggers
        log_level="error",  # a client without a token must not fill a log
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=3,
        ws="none",
    )
    return Server(config, bounds or Bounds(connections_allowed()), reason_to_end)


def run_server(server: Server, listening: socket.socket) -> None:
    """Serve until the server ends."""
    share_heap(_LARGE)
    server.run([listening])
