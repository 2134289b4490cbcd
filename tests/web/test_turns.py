"""Requests that a browser gave up while others were worked on are not worked on."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable

from starlette.applications import Starlette

from aurora.serving.connections import make_server
from aurora.serving.listening import listen_at
from aurora.web.routes import Api

PATIENCE = 20


class Kitchen:
    """Works on one request at a time, until it is told to go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Event()


def slow(kitchen: Kitchen, *, q: str) -> dict[str, str]:
    kitchen.begun.append(q)
    kitchen.go_on.wait(PATIENCE)
    return {"q": q}


def ask(address: tuple[str, int], word: str) -> socket.socket:
    browser = socket.create_connection(address, timeout=PATIENCE)
    browser.sendall(f"GET /api/slow?q={word} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return browser


def read(browser: socket.socket) -> str:
    answer = b""
    while not answer.endswith(b"}"):
        answer += browser.recv(1_000)
    return answer.decode()


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so() and time.monotonic() < until:
        time.sleep(0.01)
    assert is_so()


def test_what_is_given_up_is_not_worked_on() -> None:
    kitchen, listening = Kitchen(), listen_at("127.0.0.1", 0)
    route = Api("GET", "/api/slow", slow).route(kitchen, asyncio.Semaphore(1))
    server = make_server(Starlette(routes=[route]))
    beside = threading.Thread(target=server.run, args=([listening],))
    beside.start()
    try:
        address = listening.getsockname()
        with ask(address, "s") as first:
            wait_until(lambda: kitchen.begun == ["s"])
            with ask(address, "sea") as last:
                with ask(address, "se"):
                    wait_until(lambda: len(server.server_state.connections) == 3)
                wait_until(lambda: len(server.server_state.connections) == 2)
                kitchen.go_on.set()

                assert read(last).endswith('{"q":"sea"}')
                assert read(first).endswith('{"q":"s"}')
        wait_until(lambda: not server.server_state.connections)
        assert kitchen.begun == ["s", "sea"]
    finally:
        kitchen.go_on.set()
        server.should_exit = True
        beside.join(PATIENCE)
