"""Work in a process of its own, which may end in any way: answer, raise, crash or hang."""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ParamSpec, TypeVar

PATIENCE = 60.0  # seconds until it counts as hanging: a hundred times what any of it takes
_ROOT = Path(__file__).parents[2]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CrashError(Exception):
    """How a process ended that should have answered: a traceback, a signal, a hang."""

    how: str


class Children:
    """Forks a process for each piece of work, from one that has imported Aurora and nothing else.

    Not from that of pytest: it may have threads, and a fork would find their locks held for ever.
    """

    def __init__(self) -> None:
        self._number = 0  # of what was last asked
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.children"],
            cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self._parent.communicate()

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work returns; `CrashError` if it does anything but return."""
        assert self._parent.stdin
        assert self._parent.stdout
        self._number += 1
        pickle.dump((self._number, work, args, kwargs), self._parent.stdin)
        self._parent.stdin.flush()
        number = 0
        while number != self._number:  # a test that was interrupted has not taken its answer
            number, done, answer = pickle.load(self._parent.stdout)  # noqa: S301 - our own
        if not done:
            raise CrashError(answer)
        return answer  # type: ignore[no-any-return]


def _serve(asked: BinaryIO, told: BinaryIO) -> None:
    _import_aurora()
    while True:
        try:
            number, work, args, kwargs = pickle.load(asked)  # noqa: S301 - our own
        except EOFError:
            return
        done, answer = _forked(lambda: work(*args, **kwargs))  # noqa: B023 - called at once
        pickle.dump((number, done, answer), told)
        told.flush()


def _import_aurora() -> None:
    import aurora

    for module in pkgutil.walk_packages(aurora.__path__, "aurora."):
        if not module.name.startswith(("aurora.__main__", "aurora.mcp")):
            importlib.import_module(module.name)
    importlib.import_module("numpy")


def _forked(work: Callable[[], object]) -> tuple[bool, object]:
    """Whether a fork has answered, and what; or how it ended without."""
    mine, its = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(work, its)
    os.close(its)
    answer = _read(mine, time.monotonic() + PATIENCE)
    os.close(mine)
    if answer is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if answer is None:
        return False, f"no answer within {PATIENCE:.0f} s"
    if (code := os.waitstatus_to_exitcode(status)) != 0:
        return False, f"ended by {signal.Signals(-code).name if code < 0 else code}"
    return pickle.loads(answer)  # type: ignore[no-any-return]  # noqa: S301 - our own


def _answer(work: Callable[[], object], to: int) -> None:
    try:
        told = pickle.dumps((True, work()))
    except BaseException:
        told = pickle.dumps((False, traceback.format_exc()))
    with os.fdopen(to, "wb") as pipe:
        pipe.write(told)
    os._exit(0)


def _read(pipe: int, deadline: float) -> bytes | None:
    """All that comes until the pipe's end; nothing if that does not come in time."""
    parts: list[bytes] = []
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


if __name__ == "__main__":
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed goes not between the answers
    _serve(sys.stdin.buffer, own)
