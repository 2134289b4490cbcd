"""What a client with the token may take its time for, and what room there is for others.

The server is the real one, in a thread, before an application of a few lines: it lets in requests
to `/in`, and the rest of the path says what it answers.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send

from aurora.serving.connections import Bounds, let_in, make_server
from aurora.serving.listening import listen_at

PATIENCE = 60.0  # seconds until a test gives up
SHORT = 0.3  # seconds, the bounds of these tests
LONG = SHORT + 1.5  # beyond every bound and the next look at who is late


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    if scope["path"].startswith("/in"):
        let_in(scope)
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    if scope["path"].endswith("/late"):
        await asyncio.sleep(LONG)
    body = b"x" * (50_000_000 if scope["path"].endswith("/large") else 2)
    head = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


Address = tuple[str, int]


@contextmanager
def serving(bounds: Bounds) -> Iterator[Address]:
    listening = listen_at("127.0.0.1", 0)
    server = make_server(app, bounds=bounds)
    server.config.lifespan = "off"
    beside = threading.Thread(target=server.run, args=([listening],))
    beside.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        beside.join(PATIENCE)


@pytest.fixture
def address() -> Iterator[Address]:
    with serving(Bounds(4, stranger=PATIENCE, head=SHORT, body=SHORT, unread=SHORT)) as address:
        yield address


def connect(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=PATIENCE)


def request(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: a", *headers, "", ""]).encode()


def is_answered(peer: socket.socket, path: str) -> bool:
    with suppress(ConnectionError):
        peer.sendall(request(path))
        got = b""
        while not got.endswith(b"\r\n\r\nxx"):
            if not (part := peer.recv(65_536)):
                return False
            got += part
        return got.startswith(b"HTTP/1.1 200 ")
    return False


def is_closed(peer: socket.socket) -> bool:
    """True once the server has closed it; a time-out is an error."""
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "said",
    [
        request("/in")[:-2],
        b"P",
        request("/in", "Content-Length: 10"),
        request("/in", "Content-Length: 10") + b"x",
        request("/in", "Transfer-Encoding: chunked") + b"1\r\nx\r\n",
    ],
)
@pytest.mark.parametrize("before", [0, 2])
def test_a_request_that_does_not_arrive_is_cut(address: Address, said: bytes, before: int) -> None:
    """Also on a connection that was let in, whatever it has asked before."""
    with connect(address) as peer:
        if not before and b"\r\n\r\n" not in said:
            before = 1  # a stranger has its own time
        for _ in range(before):
            assert is_answered(peer, "/in")
        peer.sendall(said)

        assert is_closed(peer)


def wait_longer_than_every_bound(address: Address) -> None:
    with connect(address) as clock:
        assert is_answered(clock, "/in/late")


@pytest.mark.parametrize("headers", [(), ("Connection: close",)])
def test_an_answer_that_is_not_read_is_cut(address: Address, headers: tuple[str, ...]) -> None:
    """What lies in buffers can still be read; the rest is never sent."""
    with connect(address) as peer:
        peer.sendall(request("/in/large", *headers))
        assert peer.recv(12) == b"HTTP/1.1 200"
        wait_longer_than_every_bound(address)

        got = 0
        with suppress(ConnectionError):
            while part := peer.recv(1_000_000):
                got += len(part)
        assert got < 50_000_000


def test_an_answer_that_is_read_is_whole(address: Address) -> None:
    with connect(address) as peer:
        peer.sendall(request("/in/large"))
        got = 0
        while got < 50_000_000:
            part = peer.recv(1_000_000)
            assert part
            got += len(part)


def test_a_call_may_take_longer_than_every_bound(address: Address) -> None:
    """So may the pause between two requests."""
    with connect(address) as peer:
        assert is_answered(peer, "/in/late")
        wait_longer_than_every_bound(address)
        assert is_answered(peer, "/in")


def test_a_stranger_is_cut_and_who_was_let_in_is_not() -> None:
    with (
        serving(Bounds(4, stranger=SHORT)) as address,
        connect(address) as stranger,
        connect(address) as refused,
        connect(address) as known,
    ):
        assert is_answered(known, "/in")
        assert is_answered(refused, "/other")

        assert is_closed(stranger)
        assert is_closed(refused)
        assert is_answered(known, "/in")


def test_the_oldest_stranger_makes_room(address: Address) -> None:
    with connect(address) as first, connect(address) as oldest, connect(address) as younger:
        assert is_answered(first, "/in")
        assert is_answered(younger, "/other")
        with connect(address) as fourth, connect(address) as fifth:
            assert is_answered(fifth, "/in")
            assert is_closed(oldest)
            assert all(is_answered(peer, "/other") for peer in (first, younger, fourth))


def test_connections_that_were_let_in_are_not_closed_for_others(address: Address) -> None:
    known = [connect(address) for _ in range(4)]
    try:
        assert all(is_answered(peer, "/in") for peer in known)
        with connect(address) as late:
            assert is_closed(late)
        assert all(is_answered(peer, "/in") for peer in known)
    finally:
        for peer in known:
            peer.close()


LIMITS = """
import resource, sys
from aurora.serving.connections import connections_allowed

most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (most // 2, most))
print(connections_allowed(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of files")
@pytest.mark.parametrize(
    ("files", "connections"), [(64, 32), (256, 128), (512, 256), (1_024, 768), (4_096, 1_000)]
)
def test_files_are_left_for_the_memory(files: int, connections: int) -> None:
    if files > resource.getrlimit(resource.RLIMIT_NOFILE)[1]:
        pytest.skip("this process may not open as many")
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, str(files)], check=True, capture_output=True, text=True
    )

    assert done.stdout.split() == [str(connections), str(files), str(files)]
