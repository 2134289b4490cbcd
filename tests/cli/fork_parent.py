"""The process that others are forked from: it has imported what commands import, and done
once what they do first.

Imports are most of what a command takes on a small project, and tests run more than a thousand.
What they see is a process like any other, with a working directory, an environment, streams and an
exit status of its own. What is imported when is for `test_start`, which starts Python itself.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cli.relay import LONGEST


def serve(listener: socket.socket, *, agents: bool) -> None:
    """Fork for every question until stdin ends. Returns only in a fork, which is to be `aur`."""
    _import_all(agents=agents)
    _warm_up()
    gc.freeze()  # or every fork would copy what a look for garbage touches
    to_tell: dict[int, int] = {}  # process → where its exit status is awaited
    with _hearing_of_ends() as ends:
        while True:
            ready, _, _ = select.select([sys.stdin, listener, ends], [], [])
            if sys.stdin in ready:
                shutil.rmtree(Path(listener.getsockname()).parent)
                sys.exit()
            if ends in ready:
                ends.recv(LONGEST)
                _tell(to_tell)
            if listener in ready and (command := _fork(listener, to_tell)) is not None:
                break
    listener.close()
    for telling in to_tell.values():
        os.close(telling)
    _become_command(*command)


@contextmanager
def _hearing_of_ends() -> Iterator[socket.socket]:
    """Something to read there whenever a child has ended. A handler alone would not wake `select`
    if the signal came just before it, or to another thread, such as one of numpy's."""
    ends, ending = socket.socketpair()
    with ends, ending:
        ending.setblocking(False)
        signal.set_wakeup_fd(ending.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # that there is one makes Python write
        try:
            yield ends
        finally:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _fork(listener: socket.socket, to_tell: dict[int, int]) -> tuple[bytes, list[int]] | None:
    """None, or in the fork what it is asked to do and its streams."""
    connection, _ = listener.accept()
    with connection:
        asked, (*streams, telling), _, _ = socket.recv_fds(connection, LONGEST, 4)
    if (process := os.fork()) == 0:
        os.close(telling)
        return asked, streams
    to_tell[process] = telling
    _write(telling, process)
    for stream in streams:
        os.close(stream)
    return None


def _tell(to_tell: dict[int, int]) -> None:
    """Tell the exit status of all that have ended."""
    for process, telling in list(to_tell.items()):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            _write(telling, os.waitstatus_to_exitcode(status))
            os.close(to_tell.pop(process))


def _write(telling: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(telling, b"%d\n" % number)


def _import_all(*, agents: bool) -> None:
    """The server of agents takes longer to import than everything else, and most need it not."""
    import aurora

    left_out = ("aurora.__main__",) if agents else ("aurora.__main__", "aurora.mcp")
    for module in pkgutil.walk_packages(aurora.__path__, "aurora."):
        if not module.name.startswith(left_out):
            with suppress(ModuleNotFoundError):  # an extra that is not installed
                importlib.import_module(module.name)
    for name in ("numpy", "psycopg_pool", "ruamel.yaml"):  # imported by functions
        importlib.import_module(name)


def _warm_up() -> None:
    """Index and search once: that compiles patterns and queries, and opens the bundled model."""
    from aurora import Memory, Places

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        (root / ".aurora").mkdir(parents=True)
        (root / "a.py").write_text("def parse_config():\n    '用户认证'\n", encoding="utf-8")
        (root / "a.md").write_text("# Title\n\nA “text”.\n", encoding="utf-8")
        with Memory(Places(Path(folder, "home"), root)) as memory:
            memory.index(root)
            memory.search("parse 用户")
    tempfile.tempdir = None  # each fork has a TMPDIR of its own


def _become_command(asked: bytes, streams: list[int]) -> None:
    words, cwd, environment = marshal.loads(asked)  # noqa: S302 - our own
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # That of the parent knows that it is a pipe, and would not turn back in a file.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = words


def _end(status: int) -> None:
    """As Python ends, but without taking apart what was imported: in a fork, all of that is first
    copied from its parent, which takes ten times as long as the fork."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), agents=sys.argv[2] == "agents")
    from aurora.__main__ import main

    try:
        main()
    except SystemExit as exc:
        if isinstance(exc.code, int):
            with suppress(OSError):  # Python tells why a stream cannot be written to
                _end(exc.code)
        raise
