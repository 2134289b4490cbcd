"""The default install calls nobody: every command is run where a socket is an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

# An audit hook cannot be taken away again, and hears what any library does by way of Python.

pytestmark = pytest.mark.one_store("a server is reached by a socket")

FORBID = """
import os, sys

def forbid(event, args):
    if event.startswith("socket."):
        with open(os.environ["SOCKETS_LOG"], "a") as log:
            log.write(f"{event} {sys.argv}\\n")
        raise PermissionError(f"no network here: {event}")

sys.addaudithook(forbid)
"""
COMMANDS = (
    ("init",),
    ("mem", "index", "."),
    ("mem", "search", "check credentials", "--show-scores"),
    ("mem", "search", "check credentials", "--mode", "semantic", "--json"),
    ("mem", "search", "check credentials", "--rerank", "local"),
    ("mem", "add", "notes.md"),
    ("mem", "learn", "verify credentials first"),
    ("mem", "get", "auth_manager.py:authenticate_user"),
    ("mem", "stats"),
    ("mem", "reembed"),
    ("mem", "export", "out.jsonl"),
    ("mem", "import", "out.jsonl"),
    ("mem", "rebuild-bm25"),
    ("models", "list"),
    ("config", "get"),
    ("doctor",),
    ("--help",),
)


@pytest.fixture
def offline(shell: Shell, tmp_path: Path) -> Shell:
    folder = tmp_path / "forbid"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(FORBID)
    shell.environ = {"PYTHONPATH": str(folder), "SOCKETS_LOG": str(folder / "log")}
    return shell


def test_no_command_opens_a_socket(offline: Shell) -> None:
    for words in COMMANDS:
        done = offline.run(*words)
        assert done.returncode == 0, (words, done.stderr)
        assert "Traceback" not in done.stderr
    assert not Path(offline.environ["SOCKETS_LOG"]).exists()


def test_the_trap_is_set(offline: Shell) -> None:
    """One who calls an endpoint is caught: the test above could fail."""
    offline.ok("mem", "index", ".")
    remote = ("-c", "embedding.provider=openai", "-c", "embedding.endpoint=http://127.0.0.1:9/v1")
    done = offline.run(*remote, "mem", "reembed")
    assert done.returncode == 2
    assert "socket." in Path(offline.environ["SOCKETS_LOG"]).read_text()
    assert os.environ.get("SOCKETS_LOG") is None
