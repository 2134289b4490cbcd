"""`aur` in a process of its own, forked from one that has imported what commands import."""

from __future__ import annotations

import atexit
import os
import select
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import BinaryIO

from aurora.platforms import program_file
from tests.cli import relay

AUR = Path(sys.executable).with_name(program_file("aur"))
# Of the environment that tests run in. Windows needs the last ones to start anything.
KEPT = ("PATH", "LANG", "COVERAGE_PROCESS_CONFIG", "SYSTEMROOT", "PATHEXT", "TEMP")
_LANGUAGE = os.environ.get("LANG") or relay.USUAL
_ROOT = Path(__file__).parents[2]
_lock = Lock()


def can_fork(environment: Mapping[str, str]) -> bool:
    """False if it takes a start of Python to run `aur` in such an environment."""
    return hasattr(os, "fork") and relay.can_fork(environment, _LANGUAGE)


class Forked:
    """What `subprocess.Popen` would be of `aur` and these words, with pipes to read from."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: int | BinaryIO = subprocess.DEVNULL,
    ) -> None:
        self.args = [str(AUR), *words]
        self.returncode: int | None = None
        (out, to_out), (err, to_err), nothing = (
            os.pipe(),
            os.pipe(),
            os.open(os.devnull, os.O_RDONLY),
        )
        given = stdin if isinstance(stdin, int) else stdin.fileno()
        streams = (nothing if given == subprocess.DEVNULL else given, to_out, to_err)
        parent = fork_parent(agents=words[:1] == ("mcp",))
        self._told = relay.ask(
            str(parent), self.args, cwd=str(cwd), environment=environment, streams=streams
        )
        for end in (to_out, to_err, nothing):
            os.close(end)
        self.stdout, self.stderr = open(out, encoding="utf-8"), open(err, encoding="utf-8")  # noqa: PTH123, SIM115
        self.pid = relay.read_number(self._told)

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stdout.close()
        self.stderr.close()
        self.wait()

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._look(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(9)

    def communicate(self) -> tuple[str, str]:
        """What it writes until its end."""
        said: list[str] = []
        reading = Thread(target=lambda: said.append(self.stderr.read()))  # a full pipe would block
        reading.start()
        out = self.stdout.read()
        reading.join()
        self.__exit__(None, None, None)
        return out, said[0]

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = relay.read_number(self._told)
            os.close(self._told)
        return self.returncode


def run_forked(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: int | BinaryIO = subprocess.DEVNULL,
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would do with `aur` and these words."""
    process = Forked(words, cwd=cwd, environment=environment, stdin=stdin)
    out, err = process.communicate()
    return subprocess.CompletedProcess([AUR, *words], process.wait(), out, err)


@cache
def relaying(*, agents: bool = False) -> Path:
    """A folder for PATH, with an `aur` that is forked; for `aur mcp` from one that knows agents."""
    parent = fork_parent(agents=agents)
    command = [sys.executable, "-I", "-S", relay.__file__, str(parent), _LANGUAGE, str(AUR)]
    file = parent.with_name("aur")
    file.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    file.chmod(0o755)
    return file.parent


def fork_parent(*, agents: bool = False) -> Path:
    """Where the process listens that others are forked from; it ends with this one."""
    with _lock:  # or two threads would start one each
        return _start(agents=agents)


@cache
def _start(*, agents: bool) -> Path:
    place = Path(tempfile.mkdtemp()) / "parent"  # pytest's folders have names too long for it
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(place))
    listener.listen(100)
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    words = [str(listener.fileno()), "agents" if agents else "people"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.fork_parent", *words],
        cwd=_ROOT, env=environ | {"LANG": _LANGUAGE}, pass_fds=[listener.fileno()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,  # as those of the forks
    )  # fmt: skip
    listener.close()
    atexit.register(process.communicate)
    return place
