"""Processes that are not our children: whether they live, and that none outlives us."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

PATIENCE = 60.0  # seconds until a server that neither starts nor ends is an error
# `cat` returns when our end of the pipe is closed, and the system closes it however we ended.
WATCH = """
cat; kill -s "$3" -- "$1"
times=0; while kill -s 0 -- "$1" && [ $times -lt 100 ]; do sleep 0.1; times=$((times + 1)); done
rm -rf "$2"
"""


class Guard:
    """Ends a server and removes its folder when this process ends, by SIGKILL too.

    A number below zero is a group of processes, as for `kill`.
    """

    def __init__(self, pid: int, folder: Path | str, *, how: str = "QUIT") -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", WATCH, "guard", str(pid), folder, how],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def dismiss(self) -> None:
        """Before the server is ended: its number may be somebody else's a moment later."""
        self._process.kill()
        self._process.communicate()


def lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)  # there may be nobody to bury it
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} s for PostgreSQL: {what}")
        time.sleep(0.01)
