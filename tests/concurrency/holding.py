"""A process that holds a lock of a memory until it is told to let go, and may be stopped meanwhile.

python -m tests.concurrency.holding HOME PROJECT writing|indexing
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aurora import Memory, Places
from tests.cli.conftest import Shell

ROOT = Path(__file__).parents[2]


class Holder:
    """Stopped with SIGSTOP while it holds: as a process that is debugged, or swapped out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)  # returns when it stands still

    def go_on(self) -> None:
        """It lets go by itself, and ends well."""
        self._process.send_signal(signal.SIGCONT)
        self._process.communicate("go\n")
        assert self._process.returncode == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def held(shell: Shell, lock: str) -> Iterator[Holder]:
    """Entered when it holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(shell.home), str(shell.cwd), lock],
        cwd=ROOT, env=shell.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        encoding="utf-8",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield Holder(process)
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def main(home: str, project: str, lock: str) -> None:
    with Memory(Places(Path(home), Path(project))) as memory:
        store = memory.admin.store
        with store.alone() if lock == "indexing" else store.transaction():
            print("held", flush=True)  # noqa: T201 - read by who started us
            sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
