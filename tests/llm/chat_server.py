"""A server on 127.0.0.1 that speaks the protocol of chat completions, and the moods of its kind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint_server import EndpointServer, Exchange, Mood

MODEL = "parrot"
TERMS = "session, cookie, token"


def message(content: object) -> dict[str, Any]:
    """A whole answer that says this."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": {}}


class ChatExchange(Exchange):
    """One message to a model."""

    @property
    def asked(self) -> str:
        return str(self.seen.body["messages"][0]["content"])

    def good(self) -> dict[str, Any]:
        return message(TERMS)


@dataclass
class ChatServer(EndpointServer):
    """Who went in time may not even have asked yet: `has_come` waits for one that will drip."""

    path = "/v1/chat/completions"
    exchange = ChatExchange

    _coming: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def has_come(self) -> bool:
        return self._coming.acquire(timeout=30)

    @property
    def prompts(self) -> list[str]:
        return [seen.body["messages"][0]["content"] for seen in self.seen]

    def hangs_after_headers(self, exchange: Exchange) -> None:
        exchange.start(100)
        self.released.wait(60)

    def drips(self, exchange: Exchange) -> None:
        """A byte of a header now and then: no read ever takes long, and no answer ever comes."""
        self._coming.release()
        try:
            exchange.handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drop: ")
            while not self.released.wait(0.02):
                exchange.handler.wfile.write(b".")
        except OSError:
            pass  # nobody listens any more
        exchange.handler.close_connection = True


def tells(content: object) -> Mood:
    return lambda exchange: exchange.send(message(content))


@contextmanager
def deaf_port() -> Iterator[str]:
    """The address of somebody who listens and never accepts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
