"""Nodes of a Ray cluster on this machine, each with its own raylet and a group of processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.postgres.processes import Guard

ROOT = Path(__file__).parents[2]
# The head of a cluster takes half a minute to miss a node, unless told to look more often. One that
# was killed refuses at once; one that is only slow, as on a busy machine, may take its time.
_OFTEN = (
    '{"health_check_period_ms": 300, "health_check_timeout_ms": 60000, '
    '"health_check_failure_threshold": 3, "health_check_initial_delay_ms": 0}'
)
_PORTS = ("--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0")


class Node:
    """One processor, to be killed with all that runs there. `within` starts it in a network."""

    def __init__(
        self, *words: str, folder: str = "", within: Sequence[str] = (), **environ: str
    ) -> None:
        own = {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
        sizes = ("--num-cpus=1", "--object-store-memory=100000000")
        self._process = subprocess.Popen(
            [*within, sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *sizes,
             *_PORTS, "--disable-usage-stats", *words],
            cwd=ROOT, env={**os.environ, **own, **environ}, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._guard = Guard(-self._process.pid, folder, how="KILL")  # of a group
        assert self._process.stdout is not None
        said = ""
        while "will now block" not in said:
            line = self._process.stdout.readline()
            assert line, f"the node ended:\n{said}"
            said += line

    def kill(self) -> None:
        """All of its processes at once, as when a machine loses its power."""
        if self._process.returncode is None:  # until we know of its end, the group is ours
            self._guard.dismiss()
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()


@contextmanager
def head_node() -> Iterator[str]:
    """The first node of a cluster; gives the address by which others join."""
    folder = tempfile.mkdtemp(prefix="ray")  # its sockets have no room for a longer path
    port = _free_port()
    node = None
    try:
        node = Node(*head_words(port, folder), folder=folder)
        yield f"127.0.0.1:{port}"
    finally:
        if node is not None:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def head_words(port: int, folder: str) -> tuple[str, ...]:
    """What makes a node the head of a cluster."""
    return (
        "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}",
        f"--system-config={_OFTEN}",
    )  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
