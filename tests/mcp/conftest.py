"""A project with a memory, and servers over it: in this process, over stdio, and over HTTP."""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool, name_folders
from tests.backends import keep_on_server
from tests.builders import note_as_own, write_tree
from tests.cli.conftest import Copied, Shell
from tests.cli.forking import relaying
from tests.mcp.inspector import FOLDER, inspect

if TYPE_CHECKING:
    from tests.postgres.databases import Databases

FILES: dict[str, str | bytes] = {
    "src/auth.py": '''"""Who may come in."""


def authenticate_user(name: str, password: str) -> bool:
    """Check a password against the stored hash."""
    return hash_password(password) == stored_hash(name)


def revoke_session(token: str) -> None:
    """End a login before its time."""
    SESSIONS.pop(token, None)


class TokenStore:
    """Keeps session tokens until they expire."""

    def rotate(self, token: str) -> str:
        """Give out a new token for an old one."""
        return self.add(self.owner(token))
''',
    "src/billing.py": '''def charge_customer(customer: str, amount: int) -> None:
    """Take money from a customer's card, with retries."""
    for attempt in range(3):
        if gateway.charge(customer, amount):
            return
''',
    "docs/decisions.md": """# Decisions

## Sessions

We keep sessions in the database, because the cache loses them on a restart.

## Payments

Retries of a payment carry the same key, so that nobody pays twice.
""",
}


@dataclass
class Project:
    """A folder with a memory, and the ways to serve it."""

    shell: Shell

    @property
    def root(self) -> Path:
        return self.shell.cwd

    def desk(self, *, read_only: bool = False) -> MemoryPool:
        folders = name_folders([self.root])
        return MemoryPool(folders, self.shell.environment, read_only=read_only)

    def here(self, *, read_only: bool = False) -> Client:
        """A client of a server in this process."""
        return Client(create_server(self.desk(read_only=read_only)))

    def over_stdio(self, *words: str, mode: str = "auto") -> Client:
        """A client that starts `aur mcp` as agents' programs do."""
        started = StdioServerParameters(
            command=str(relaying(agents=True) / "aur"),
            args=["mcp", *words],
            cwd=self.root,
            env=self.shell.environment,
        )
        return Client(stdio_client(started), mode=mode)

    @contextmanager
    def listening(self, *words: str) -> Iterator[str]:
        """The address of an `aur mcp --http` that runs beside what follows."""
        guarded = "AURORA_MCP_TOKEN" in self.shell.environ or "--token-file" in words
        free = () if guarded or "--own-token" in words else ("--no-token",)
        given = [word for word in words if word != "--own-token"]
        server = self.shell.start("mcp", "--http", "--port", "0", *free, *given)
        assert server.stderr is not None
        told = server.stderr.readline()
        assert " at http://" in told, told + server.stderr.read()
        try:
            yield told.rpartition(" at ")[2].strip()
        finally:
            server.send_signal(signal.SIGTERM)  # SIGINT is nothing to what a script runs with `&`
            out, err = server.communicate()
        assert (server.returncode, out, err.splitlines()[-1:]) == (0, "", ["Stopped"])


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, indexed once; tests work on copies."""
    base = tmp_path_factory.mktemp("indexed")
    root = write_tree(base / "shop", FILES)
    index(Shell(root, base / "home"))
    return root


@pytest.fixture(scope="session")
def indexed_on_server(
    tmp_path_factory: pytest.TempPathFactory, postgres_databases: Databases
) -> Copied:
    """The same on a server, which copies its part."""
    base = tmp_path_factory.mktemp("indexed-on-server")
    root = write_tree(base / "shop", FILES)

    def fill(url: str) -> None:
        keep_on_server(root, base / "home", url)
        index(Shell(root, base / "home"))

    return Copied(base, postgres_databases, postgres_databases.prepare("shop", fill))


def index(shell: Shell) -> None:
    assert shell.run("init").returncode == 0
    done = shell.run("mem", "index", ".", "--no-git")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    shell = Shell(tmp_path / "shop", tmp_path / "home")
    if backend == "postgres":
        copied: Copied = request.getfixturevalue("indexed_on_server")
        with copied.onto(shell, tmp_path):
            yield Project(shell)
    else:
        shutil.copytree(request.getfixturevalue("indexed"), shell.cwd)
        note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
        yield Project(shell)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def inspector() -> Callable[..., dict[str, Any]]:
    """`inspect`, a client that is not ours."""
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is missing: `make test-full` installs the MCP Inspector there")
    return inspect


@asynccontextmanager
async def over_http(url: str, *, mode: str = "auto", token: str = "") -> AsyncIterator[Client]:
    """A client of a server that listens; its connections end with it."""
    import httpx2

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as connections,
        Client(streamable_http_client(url, http_client=connections), mode=mode) as client,
    ):
        yield client


async def ask(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool answers, with all its fields; an error fails the test."""
    if tool in ("aurora_search", "search_code", "aurora_retrieve"):
        arguments.setdefault("detail", "full")
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """What a tool says when it refuses."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error, result.structured_content
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def ids(answer: dict[str, Any]) -> list[str]:
    return [found["id"] for found in answer["documents"]]
