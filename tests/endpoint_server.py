"""A server on 127.0.0.1 that speaks as OpenAI's endpoints do, and its moods.

What it answers when all is well is its exchange's to say.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, seen: Seen, number: int) -> None:
        self.handler, self.seen, self.number = handler, seen, number  # the first one has number 1

    @property
    def asked(self) -> object:
        """What the request is about; an error repeats it, as some servers do."""
        raise NotImplementedError

    def good(self) -> dict[str, Any]:
        """What a server in order answers."""
        raise NotImplementedError

    def answer(self) -> None:
        self.send(self.good())

    def send(self, answer: object, status: int = 200, **headers: str) -> None:
        self.send_raw(json.dumps(answer).encode(), status, **headers)

    def send_raw(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.start(len(body), status, **headers)
        self.handler.wfile.write(body)

    def start(self, length: int, status: int = 200, **headers: str) -> None:
        """`Retry_After` is written as `Retry-After`."""
        self.handler.send_response(status)
        self.handler.send_header("Content-Length", str(length))
        self.handler.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()


Mood = Callable[[Exchange], None]


def is_fine(exchange: Exchange) -> None:
    exchange.answer()


def changed(change: Callable[[dict[str, Any]], object]) -> Mood:
    """Answers with what the change leaves of a good answer."""

    def mood(exchange: Exchange) -> None:
        answer = exchange.good()
        change(answer)
        exchange.send(answer)

    return mood


def says(body: bytes, status: int = 200, **headers: str) -> Mood:
    return lambda exchange: exchange.send_raw(body, status, **headers)


def fails(times: int, status: int = 500, *, code: str = "server_error", **headers: str) -> Mood:
    """The first requests fail; an error repeats what was sent, as some servers do."""

    def mood(exchange: Exchange) -> None:
        if exchange.number > times:
            return is_fine(exchange)
        told = f"{exchange.seen.headers.get('Authorization')} {exchange.asked}"
        return exchange.send({"error": {"message": told, "code": code}}, status, **headers)

    return mood


def cuts_off(times: int) -> Mood:
    """Sends half of what it promised, and closes."""

    def mood(exchange: Exchange) -> None:
        if exchange.number > times:
            return is_fine(exchange)
        body = json.dumps(exchange.good()).encode()
        exchange.start(len(body))
        exchange.handler.wfile.write(body[: len(body) // 2])
        exchange.handler.close_connection = True
        return None

    return mood


def never_ends(exchange: Exchange) -> None:
    """Sends as long as somebody reads."""
    exchange.start(1 << 40)
    try:
        while True:
            exchange.handler.wfile.write(b" " * 65_536)
    except OSError:
        exchange.handler.close_connection = True


@dataclass
class EndpointServer:
    """`with …Server() as server:` it answers at `server.url` as `server.mood` says."""

    path: ClassVar[str]
    exchange: ClassVar[type[Exchange]]

    mood: Mood = is_fine
    seen: list[Seen] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # ends what hangs

    def hangs(self, _: Exchange) -> None:
        """A mood: no answer at all until the server ends."""
        self.released.wait(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True  # or closing waits for connections that are kept open
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept open

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                seen = Seen(self.path, dict(self.headers), json.loads(raw.decode("utf-8")))
                with outer._lock:
                    outer.seen.append(seen)
                    number = len(outer.seen)
                if self.path == outer.path:
                    outer.mood(outer.exchange(self, seen, number))
                else:
                    outer.exchange(self, seen, number).send({"error": "not_found"}, 404)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                pass

        return Handler
