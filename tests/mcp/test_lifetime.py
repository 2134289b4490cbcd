"""No server outlives who needs it: it ends after an idle hour, and with its starter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client

from aurora.mcp.http import HttpSettings
from aurora.mcp.lifetime import Lifetime
from aurora.mcp.server import create_server
from tests.cli.conftest import AUR
from tests.mcp.conftest import Project, over_http

pytestmark = pytest.mark.one_store("about processes")

ENDED = "Ended: nobody has asked for 0.02 minutes (mcp.idle_minutes)\n"
QUICK = {"AURORA_MCP_IDLE_MINUTES": "0.02"}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_hour_without_a_request_is_a_reason() -> None:
    clock = Clock()
    lifetime = Lifetime(idle_minutes=60, clock=clock)
    clock.now = 3599
    assert lifetime.reason_to_end() == ""
    clock.now = 3600
    assert lifetime.reason_to_end() == "Ended: nobody has asked for 60 minutes (mcp.idle_minutes)"


def test_a_request_by_another_way_counts() -> None:
    clock = Clock()
    lifetime = Lifetime(idle_minutes=60, clock=clock)
    clock.now = 3000
    lifetime.note_request()
    clock.now = 6599
    assert lifetime.reason_to_end() == ""
    clock.now = 6600
    assert lifetime.reason_to_end() != ""


def test_zero_is_never() -> None:
    clock = Clock()
    lifetime = Lifetime(idle_minutes=0, clock=clock)
    clock.now = 1e9
    assert lifetime.reason_to_end() == ""


def test_work_beside_requests_is_waited_for_and_the_hour_begins_after_it() -> None:
    clock = Clock()
    lifetime = Lifetime(idle_minutes=60, clock=clock)
    lifetime.is_busy = lambda: clock.now < 5000
    for clock.now in (4000, 5000, 7500):
        assert lifetime.reason_to_end() == ""
    clock.now = 7600
    assert lifetime.reason_to_end()


def test_another_parent_is_a_reason_where_the_system_tells() -> None:
    parents = iter([7, 7, 1])
    lifetime = Lifetime(has_parent=True, parent=lambda: next(parents))
    assert lifetime.reason_to_end() == ""
    assert lifetime.reason_to_end() == "Ended with the program that started it"


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ({"host": "127.0.0.1"}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0", "names": ("memory.example.org",)}, True),  # noqa: S104
        ({"host": "127.0.0.1", "proxies": ("10.0.0.7",)}, True),
        ({"host": "127.0.0.1", "names": ("memory.example.org",)}, True),
    ],
)
def test_a_team_may_rely_on_its_server(options: dict[str, Any], others: bool) -> None:
    """One that others reach never ends by itself: its clients could not start it again."""
    assert HttpSettings(port=8765, token="x" * 16, **options).is_for_others is others


@pytest.mark.anyio
async def test_requests_are_counted_and_pings_are_not(project: Project) -> None:
    clock = Clock()
    lifetime = Lifetime(idle_minutes=60, clock=clock)
    async with Client(create_server(project.desk(), lifetime=lifetime), mode="legacy") as client:
        clock.now = 3000
        await client.list_tools()
        clock.now = 6000
        with pytest.warns(match="ping is removed"):  # older clients send it
            await client.send_ping()
        assert lifetime.reason_to_end() == ""
        clock.now = 6600
        assert lifetime.reason_to_end() != ""


@contextmanager
def started(project: Project, *command: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A server that has answered over the standard streams of its starter, which stay open."""
    process = subprocess.Popen(
        command, cwd=project.root, env={**project.shell.environment, **environ}, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert "serverInfo" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def last_words(process: subprocess.Popen[str]) -> str:
    """What is said until nobody has the stream any more: the server is gone, too."""
    assert process.stderr is not None
    return process.stderr.read()


def test_a_server_over_stdio_ends_when_nobody_asks(project: Project) -> None:
    with started(project, str(AUR), "mcp", **QUICK) as process:
        assert last_words(process) == ENDED
        assert process.wait() == 0


@pytest.mark.anyio
async def test_a_server_over_http_ends_when_nobody_asks(project: Project) -> None:
    project.shell.environ.update(QUICK)
    with project.shell.start("mcp", "--http", "--port", "0", "--no-token") as server:
        assert server.stderr is not None
        url = server.stderr.readline().rpartition(" at ")[2].strip()
        async with over_http(url) as client:
            assert (await client.list_tools()).tools
        assert await anyio.to_thread.run_sync(last_words, server) == ENDED
    assert server.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="Windows does not tell that a parent is gone")
def test_a_server_ends_with_its_starter_even_if_its_stdin_stays_open(project: Project) -> None:
    """The starter is killed, and this test keeps the other end of the pipe."""
    starter = f"import subprocess; subprocess.run([{str(AUR)!r}, 'mcp'])"
    with started(project, sys.executable, "-c", starter) as process:
        process.kill()
        assert last_words(process) == "Ended with the program that started it\n"
