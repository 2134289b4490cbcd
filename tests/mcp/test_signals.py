"""The first SIGTERM or Ctrl-C ends a server, whatever it waits for."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import AUR
from tests.mcp.conftest import Project

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals"),
    pytest.mark.one_store("about the end of a process"),
]

PATIENCE = 60.0  # seconds until a test gives up
HELLO = {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
ENDINGS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


@contextmanager
def over_stdio(project: Project) -> Iterator[subprocess.Popen[str]]:
    """A server that has said hello; it waits for more on stdin."""
    process = subprocess.Popen(
        [AUR, "mcp"], cwd=project.root, env=project.shell.environment, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert ask(process, "initialize", HELLO)["serverInfo"]["name"] == "aurora"
        yield process
    finally:
        process.kill()
        process.communicate()


def send(process: subprocess.Popen[str], method: str, params: dict[str, Any], **more: int) -> None:
    assert process.stdin is not None
    message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def ask(process: subprocess.Popen[str], method: str, params: dict[str, Any]) -> dict[str, Any]:
    send(process, method, params, id=1)
    assert process.stdout is not None
    result: dict[str, Any] = json.loads(process.stdout.readline())["result"]
    return result


def ends(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    """Exit status and last words after one signal, with stdin still open."""
    process.send_signal(number)
    status = process.wait(PATIENCE)
    assert process.stderr is not None
    return status, process.stderr.read()


@ENDINGS
def test_one_signal_ends_a_server_that_waits_for_stdin(project: Project, number: int) -> None:
    with over_stdio(project) as process:
        assert ends(process, number) == (0, "Stopped\n")


@ENDINGS
def test_one_signal_ends_a_server_in_the_middle_of_a_call(project: Project, number: int) -> None:
    """A thread waits for the database, which this test keeps locked."""
    with over_stdio(project) as process, locked(project.root / ".aurora" / "memory.db"):
        lesson = {"name": "aurora_learn", "arguments": {"text": "Payments need a key."}}
        send(process, "tools/call", lesson, id=2)
        ask(process, "ping", {})  # the call has begun before

        assert ends(process, number) == (0, "Stopped\n")

    assert (
        project.shell.ok("mem", "search", "Payments", "--type", "reasoning", "--json") is not None
    )


@contextmanager
def locked(database: Path) -> Iterator[None]:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def test_the_end_of_stdin_ends_the_server(project: Project) -> None:
    with over_stdio(project) as process:
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 0
