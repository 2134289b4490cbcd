"""A server on 127.0.0.1 that speaks the protocol of embeddings, with a real model, and its moods.

Its vectors are means of WordLlama's token vectors, from the files of the installed package.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from tokenizers import Tokenizer

MODEL = "wordllama-256"
DIMENSION = 256


@cache
def _model() -> tuple[Tokenizer, np.ndarray[Any, Any]]:
    spec = find_spec("wordllama")  # the package itself is not imported
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    raw = (folder / "weights" / "l2_supercat_256.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    weights = np.frombuffer(raw, "<f2", offset=start).reshape(-1, DIMENSION)
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return Tokenizer.from_file(str(tokenizer)), weights


def model_vector(text: str) -> list[float]:
    """The mean of a text's token vectors. It is not of length 1."""
    tokenizer, weights = _model()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return [float(value) for value in weights[ids].astype(np.float64).mean(axis=0)]


def unit_vector(text: str) -> np.ndarray[Any, Any]:
    vector = np.asarray(model_vector(text))
    return vector / np.linalg.norm(vector)


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
        given = seen.body["input"]
        self.texts: list[str] = [given] if isinstance(given, str) else given

    def good(self) -> dict[str, Any]:
        """What a server in order answers."""
        data = [
            {"object": "embedding", "index": place, "embedding": model_vector(text)}
            for place, text in enumerate(self.texts)
        ]
        return {"object": "list", "data": data, "model": MODEL, "usage": {"total_tokens": 1}}

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
    if exchange.seen.body.get("encoding_format") == "base64":  # the official client asks so
        answers_base64(exchange)
    else:
        exchange.send(exchange.good())


def answers_base64(exchange: Exchange) -> None:
    answer = exchange.good()
    for item in answer["data"]:
        raw = np.asarray(item["embedding"], "<f4").tobytes()
        item["embedding"] = base64.b64encode(raw).decode()
    exchange.send(answer)


def answers_backwards(exchange: Exchange) -> None:
    answer = exchange.good()
    answer["data"].reverse()
    exchange.send(answer)


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
        told = f"{exchange.seen.headers.get('Authorization')} {exchange.texts}"
        return exchange.send({"error": {"message": told, "code": code}}, status, **headers)

    return mood


def refuses_longer_than(characters: int, status: int = 400) -> Mood:
    def mood(exchange: Exchange) -> None:
        if max(map(len, exchange.texts)) > characters:
            exchange.send({"error": {"message": f"too long: {exchange.texts}"}}, status)
        else:
            is_fine(exchange)

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
class EmbeddingServer:
    """`with EmbeddingServer() as server:` it answers at `server.url` as `server.mood` says."""

    mood: Mood = is_fine
    seen: list[Seen] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # ends what hangs

    def hangs(self, _: Exchange) -> None:
        """A mood: no answer at all until the server ends."""
        self.released.wait(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def batches(self) -> list[Sequence[str]]:
        """The texts of each request."""
        return [request.body["input"] for request in self.seen]

    def __enter__(self) -> EmbeddingServer:
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
                if self.path == "/v1/embeddings":
                    outer.mood(Exchange(self, seen, number))
                else:
                    Exchange(self, seen, number).send({"error": "not_found"}, 404)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                pass

        return Handler
