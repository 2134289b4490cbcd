"""A hub on this machine: a real HTTP server that answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What is sent for one path. `length` is what the header says, when that is a lie."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    silent: bool = False  # send half of it, and then nothing


@dataclass
class LocalHub:
    """Paths with their answers, and the requests that came."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    address: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def serve(self, repository: str, files: Mapping[str, bytes], revision: str = "main") -> None:
        for name, body in files.items():
            self.answers[f"/{repository}/resolve/{revision}/{name}"] = Answer(body)


@contextmanager
def running_hub() -> Iterator[LocalHub]:
    hub = LocalHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.asked.append((self.path, dict(self.headers)))
            answer = hub.answers.get(self.path, Answer(b"Not Found", 404))
            self.send_response(answer.status)
            length = len(answer.body) if answer.length is None else answer.length
            if length >= 0:
                self.send_header("Content-Length", str(length))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.silent:
                self.wfile.write(answer.body[: len(answer.body) // 2])
                self.wfile.flush()
                hub.over.wait(60)
                return
            with suppress(ConnectionError):  # whoever asked has seen enough
                self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        yield hub
    finally:
        hub.over.set()
        server.shutdown()
        server.server_close()
