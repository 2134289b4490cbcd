"""A peer without the token: no answer tells it anything, and it keeps nobody out.

One real server with few files serves all of these tests: whatever a peer does to it, the owner is
served meanwhile, and at the end it stops as it should.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.cli.forking import AUR

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of files and signals")

TOKEN = "a-token-that-no-peer-guesses-0123456789"  # noqa: S105
FILES = 256  # that the server may open
PATIENCE = 60.0  # seconds until a test gives up: an upper bound and no expectation
TELLING = re.compile(rb"uvicorn|starlette|python|h11|traceback|gate|aurora|mcp-token", re.I)
CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "search_code", "arguments": {"query": "open_the_gate"}},
}  # fmt: skip
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}
OWNER = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}
WRONG = {**HEADERS, "Authorization": "Bearer guessed-guessed-guessed"}
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Server:
    """A server that listens on this machine."""

    url: str
    process: subprocess.Popen[str]

    def connect(self) -> socket.socket:
        port = int(self.url.rpartition(":")[2].partition("/")[0])
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    def answer_to(self, said: bytes) -> bytes:
        """All that a peer gets that says no more and closes its half of the connection."""
        with self.connect() as peer:
            with suppress(OSError):  # closed before all was said
                peer.sendall(said)
                peer.shutdown(socket.SHUT_WR)
            return read_all(peer)

    def serves_its_owner(self) -> bool:
        answer = httpx2.post(self.url, json=CALL, headers=OWNER, timeout=PATIENCE)
        return answer.status_code == 200 and "function open_the_gate" in answer.text


def read_all(peer: socket.socket) -> bytes:
    """What comes until the other side closes; a time-out is an error."""
    parts = []
    with suppress(ConnectionError):
        while part := peer.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@contextmanager
def serving(shell: Shell, files: int, *words: str) -> Iterator[Server]:
    script = 'ulimit -n "$0" && exec "$@"'
    process = subprocess.Popen(
        ["sh", "-c", script, str(files), AUR, "mcp", "--http", "--port", "0", *words],
        cwd=shell.cwd, env={**shell.environment, "AURORA_MCP_TOKEN": TOKEN},
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert process.stderr is not None
    told = process.stderr.readline()
    assert " at http://" in told, told + process.stderr.read()
    server = Server(told.rpartition(" at ")[2].strip(), process)
    try:
        yield server
        with server.connect():  # a stranger does not put the end off
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        assert (process.returncode, process.stderr.read()) == (0, "Stopped\n")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    base = tmp_path_factory.mktemp("peer")
    code = 'def open_the_gate():\n    """Let the owner in."""\n'
    shell = Shell(write_tree(base / "castle", {"src/gate.py": code}), base / "home")
    shell.ok("init")
    shell.ok("mem", "index", ".", "--no-git")
    return shell


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Server]:
    with serving(shell, FILES) as server:
        assert server.serves_its_owner()
        yield server


@contextmanager
def many_files() -> Iterator[int]:
    """How many connections this process may open."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        yield 10_000 if most == resource.RLIM_INFINITY else most - 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


def test_silent_connections_keep_nobody_out(server: Server) -> None:
    """More than the server has files, than the system's usual 1,024, and than it ever keeps."""
    with many_files() as most, ExitStack() as opened:
        for wanted, come in ((FILES, FILES), (1_104, 1_104 - FILES), (5_000, 5_000 - 1_104)):
            if wanted <= most:
                for _ in range(come):
                    opened.enter_context(server.connect())
                assert server.serves_its_owner(), wanted


def test_a_server_without_a_free_file_goes_on(shell: Shell) -> None:
    """So few files that what it has open itself leaves less than half of them."""
    with serving(shell, 40) as server:
        assert server.serves_its_owner()
        with ExitStack() as opened:
            for _ in range(200):
                opened.enter_context(server.connect())
            assert server.serves_its_owner()
        assert server.serves_its_owner()


SLOW = {
    "silent": b"",
    "half of a line": b"POST /m",
    "half of a head": HEAD,
    "a body that does not come": HEAD + b"Content-Length: 100\r\n\r\n",
    "half of a body": HEAD + b"Content-Length: 100\r\n\r\n{",
    "a chunk that does not come": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    "a body that waits to be wanted": HEAD + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    "refused, and silent": HEAD + b"Content-Length: 0\r\n\r\n",
    "refused twice, and silent": (HEAD + b"Content-Length: 0\r\n\r\n") * 2,
}
DRIPPING = {
    "a head": (HEAD, b"X-Slow: 1\r\n"),
    "a line": (b"POST /mcp", b"x"),
    "a body": (HEAD + b"Content-Length: 100000\r\n\r\n", b"x"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "requests": (b"", HEAD + b"Content-Length: 0\r\n\r\n"),
    "empty lines": (b"", b"\r\n"),
}


def drip(peer: socket.socket, drop: bytes, over: threading.Event) -> None:
    try:
        while not over.wait(0.5):
            peer.sendall(drop)
    except OSError:
        over.set()  # cut


def test_a_slow_peer_is_cut(server: Server) -> None:
    """All at once: each of them is closed by the server, whatever it still sends."""
    over = {name: threading.Event() for name in DRIPPING}
    with ExitStack() as opened:
        waiting = {name: opened.enter_context(server.connect()) for name in SLOW}
        for name, said in SLOW.items():
            waiting[name].sendall(said)
        for name, (first, drop) in DRIPPING.items():
            peer = opened.enter_context(server.connect())
            peer.sendall(first)
            threading.Thread(target=drip, args=(peer, drop, over[name]), daemon=True).start()

        answers = {name: read_all(peer) for name, peer in waiting.items()}
        cut = {name: event.wait(PATIENCE) for name, event in over.items()}

    assert all(cut.values()), cut
    for name, answer in answers.items():
        assert answer == b"" or answer.startswith(b"HTTP/1.1 401 "), name
        assert not TELLING.search(answer), name
    assert server.serves_its_owner()


JUNK = {
    "nothing": b"\r\n\r\n",
    "HTTP/0.9": b"GET /mcp\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": b"GET /mcp HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(range(160)),
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "SOCKS": b"\x05\x01\x00",
    "binary": bytes(range(256)) * 200,
    "a line without an end": b"GET /" + b"a" * 1_000_000,
    "a header without an end": HEAD + b"X-Long: " + b"a" * 1_000_000,
    "headers without an end": HEAD + b"X-Many: a\r\n" * 100_000,
    "a header without a name": HEAD + b": value\r\n\r\n",
    "a folded header": HEAD + b" folded\r\n\r\n",
    "a null byte": HEAD + b"X-Null: \0\r\n\r\n",
    "no host": b"POST /mcp HTTP/1.1\r\n\r\n",
    "two hosts": HEAD + b"Host: 127.0.0.1\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "an endless length": HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    "an unknown encoding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    "no chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "an endless chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 100_000,
    "a method of its own": b"A" * 10_000 + b" /mcp HTTP/1.1\r\nHost: a\r\n\r\n",
    "a proxy's request": b"CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a web socket": HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/2 in clear": HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
    "junk behind a request": HEAD + b"Content-Length: 0\r\n\r\n" + b"\0\1\2 junk\r\n\r\n",
    "a request in a body": HEAD + b"Content-Length: 3\r\n\r\nabc" + HEAD + b"\r\n",
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_is_refused_and_learns_nothing(server: Server, name: str) -> None:
    answer = server.answer_to(JUNK[name])

    statuses = set(re.findall(rb"^HTTP/1\.1 (\d+)", answer, re.M))
    assert statuses <= {b"400", b"401", b"429"}
    assert answer == b"" or statuses
    assert not TELLING.search(answer)
    assert TOKEN.encode() not in answer


@pytest.mark.parametrize("later", [b"zz\r\n", b"1\r\nabc", b"f" * 100_000, b"0\r\nx\r\n\r\n\0"])
def test_junk_in_a_body_that_is_not_read_closes_the_connection(
    server: Server, later: bytes
) -> None:
    with server.connect() as peer:
        peer.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        assert peer.recv(12) in (b"HTTP/1.1 401", b"HTTP/1.1 429")
        with suppress(ConnectionError):
            peer.sendall(later)

        assert not TELLING.search(read_all(peer))


NO_TOKEN: tuple[dict[str, str], ...] = (
    {},
    {"Host": "evil.example"},
    {"Origin": "http://evil.example"},
    {"Authorization": "Bearer"},
    {"Authorization": ""},
    {"Authorization": "Basic OmE="},
    {"Authorization": f"Bearer {TOKEN[:-1]}"},
    {"Authorization": f"Bearer {TOKEN.upper()}"},
    {"Cookie": f"Authorization=Bearer {TOKEN}"},
    {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "127.0.0.1"},
)
TOLD = {"date", "content-length", "content-type", "www-authenticate", "retry-after", "connection"}


@pytest.mark.parametrize("path", ["/mcp", "/", "/mcp/", "/docs", "/.well-known/oauth", "//mcp"])
def test_no_request_without_the_token_is_let_in(server: Server, path: str) -> None:
    at = server.url.removesuffix("/mcp") + path
    with httpx2.Client(timeout=PATIENCE) as peer:
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            for headers in NO_TOKEN:
                answer = peer.request(method, at, headers={**HEADERS, **headers})

                assert answer.status_code in (401, 429), (method, headers)
                assert set(answer.headers) <= TOLD
                assert not TELLING.search(answer.content)


def test_wrong_tokens_use_up_their_own_limit_and_not_the_owners(server: Server) -> None:
    """From the same address, and no name that a peer gives itself gets it another limit."""
    fields = b"Content-Length: 0\r\nAuthorization: Bearer guessed-guessed-guessed\r\n"
    with ExitStack() as opened:
        peers = [opened.enter_context(server.connect()) for _ in range(100)]
        for number, peer in enumerate(peers):  # all at once, because time gives new tries
            peer.sendall(HEAD + fields + b"X-Forwarded-For: 192.0.2.%d\r\n\r\n" % number)
        answers = [read_all(peer) for peer in peers]

    seen = [answer.split()[1] for answer in answers]
    assert set(seen) == {b"401", b"429"}
    for answer in answers:
        wait = re.search(rb"^retry-after: ([1-9]\d*)\r$", answer, re.MULTILINE | re.IGNORECASE)
        assert (wait is not None) == (answer.split()[1] == b"429")
    assert all(server.serves_its_owner() for _ in range(20))


def test_the_owner_is_served_while_peers_flood(server: Server) -> None:
    """Peers that connect anew all the time, guess and send junk, as quickly as they can."""
    over = threading.Event()

    def flood(said: bytes) -> None:
        while not over.is_set():
            try:
                with server.connect() as peer:
                    peer.sendall(said)
                    peer.recv(10)
            except OSError as exc:
                assert exc.errno != errno.ECONNREFUSED  # noqa: PT017 - the server is there

    said = (HEAD + b"\r\n", JUNK["binary"], (HEAD + b"Content-Length: 0\r\n\r\n") * 500)
    peers = [threading.Thread(target=flood, args=(each,)) for each in said]
    for peer in peers:
        peer.start()
    try:
        assert all(server.serves_its_owner() for _ in range(20))
    finally:
        over.set()
        for peer in peers:
            peer.join()


def test_an_empty_token_lets_nobody_in(shell: Shell, tmp_path: Path) -> None:
    """Wherever it comes from, the server does not start."""
    home = tmp_path / "home"
    write_tree(home, {"mcp-token": ""})
    (home / "mcp-token").chmod(0o600)
    for environ in ({}, {"AURORA_MCP_TOKEN": ""}, {"AURORA_MCP_TOKEN": " \n"}):
        told = Shell(shell.cwd, home, dict(environ)).fails("mcp", "--http", "--port", "0")

        assert "is empty" in told
        assert "hint:" in told
