"""`aur` in a process of its own, forked from one that has imported what commands import.

Imports are most of what a command takes on a small project, and tests run more than a thousand.
What they see is a process like any other, with a working directory, an environment, streams and an
exit status of its own. What is imported when is for `test_start`, which starts Python itself.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, Thread

AUR = Path(sys.executable).with_name("aur")
_READ_BY_PYTHON = ("PYTHON", "LC_", "LANG")  # variables that only a start takes notice of
_LONGEST = 1 << 20  # what is asked at once: words and environment
_lock = Lock()  # one question at a time; answers may come in any order


def can_fork(environment: Mapping[str, str]) -> bool:
    """False if it takes a start of Python to run `aur` in such an environment."""
    mine, its = _for_python(os.environ), _for_python(environment)
    return its == {name: value for name, value in mine.items() if name == "LANG"}


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in environment if name.startswith(_READ_BY_PYTHON)}


def run_forked(
    words: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would do with `aur` and these words, and nothing on stdin."""
    (out, to_out), (err, to_err), (status, to_status) = os.pipe(), os.pipe(), os.pipe()
    asked = json.dumps([[str(AUR), *words], str(cwd), dict(environment)]).encode()
    with _lock:
        socket.send_fds(_parent(), [asked], [to_out, to_err, to_status])
    for end in (to_out, to_err, to_status):
        os.close(end)
    said: dict[int, str] = {}
    reading = Thread(target=_read, args=(err, said))  # or a full pipe would have both wait
    reading.start()
    _read(out, said)
    reading.join()
    _read(status, said)
    return subprocess.CompletedProcess([AUR, *words], int(said[status]), said[out], said[err])


def _read(end: int, said: dict[int, str]) -> None:
    with open(end, encoding="utf-8") as stream:
        said[end] = stream.read()


@cache
def _parent() -> socket.socket:
    """The way to the process that others are forked from; it ends with this one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
    environ = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    command = [sys.executable, "-m", "tests.cli.forking", str(its.fileno())]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        command, cwd=root, env=environ, pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,  # as those of the forks
    )  # fmt: skip
    its.close()

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours


def serve(questions: socket.socket) -> None:
    """Fork for every question. Returns in a fork, to be `aur`, and otherwise when all is done."""
    _import_all()
    gc.freeze()  # or every fork would copy what a look for garbage touches
    to_tell: dict[int, int] = {}  # process → where its exit status is awaited
    signal.signal(signal.SIGCHLD, lambda *_: _tell(to_tell))
    while True:
        asked, streams, _, _ = socket.recv_fds(questions, _LONGEST, 3)
        if not asked:
            sys.exit()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # not before it is in the list
        if (process := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        else:
            out, err, to_tell[process] = streams
            os.close(out)
            os.close(err)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        if process == 0:
            questions.close()
            for awaited in to_tell.values():
                os.close(awaited)
            _become_command(asked, streams)
            return


def _tell(to_tell: dict[int, int]) -> None:
    """Tell the exit status of all that have ended."""
    for process in list(to_tell):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            awaited = to_tell.pop(process)
            with suppress(BrokenPipeError), os.fdopen(awaited, "wb", 0) as pipe:
                pipe.write(str(os.waitstatus_to_exitcode(status)).encode())


def _import_all() -> None:
    """All but the server of agents, which takes longer to import than everything else."""
    import aurora

    for module in pkgutil.walk_packages(aurora.__path__, "aurora."):
        if not module.name.startswith(("aurora.mcp", "aurora.__main__")):
            importlib.import_module(module.name)
    for name in ("numpy", "psycopg_pool", "ruamel.yaml"):  # imported by functions
        importlib.import_module(name)


def _become_command(asked: bytes, streams: list[int]) -> None:
    words, cwd, environment = json.loads(asked)
    out, err, awaited = streams
    os.dup2(out, 1)
    os.dup2(err, 2)
    for stream in (out, err, awaited):
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    from aurora.cli.start import main

    main()
