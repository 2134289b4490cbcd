"""A server answers as soon as the SDK is imported; no memory is opened before a call needs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests.builders import write_tree
from tests.cli.conftest import AUR
from tests.mcp.conftest import Project

pytestmark = pytest.mark.one_store("about the start of a server")

FIRST = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list", "params": {}},
]  # fmt: skip


def seconds_to_list_tools(project: Project) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(
        [AUR, "mcp"],
        cwd=project.root,
        env=project.shell.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in FIRST:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        lines = [server.stdout.readline() for _ in range(2)]
        taken = time.perf_counter() - begun
        server.stdin.close()
        server.wait(timeout=60)
    assert "The project's memory" in lines[0]
    assert "aurora_search" in lines[1]
    return taken


def seconds_to_import_sdk() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)
    return time.perf_counter() - begun


def test_a_damaged_memory_does_not_keep_a_server_from_starting(project: Project) -> None:
    write_tree(project.root, {".aurora/memory.db": b"not a database"})
    assert seconds_to_list_tools(project)


def test_tools_are_listed_soon_after_the_sdk_is_imported(project: Project) -> None:
    """About 1.1 times the import; the best of some, because other programs run, too."""
    listing = min(seconds_to_list_tools(project) for _ in range(3))
    assert listing < 2 * min(seconds_to_import_sdk() for _ in range(3))
