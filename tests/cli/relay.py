"""`aur` for a program that starts it by its name: it is forked, and this waits for its end.

To run this file with `python -I -S` takes a twentieth of what a start of `aur` takes, so it imports
next to nothing. The forked one has the streams of this process, which hands it signals and ends as
it does; but kill this process, and the other one lives on.
"""

from __future__ import annotations

import _socket
import array
import marshal
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST = 1 << 20  # what is asked at once: words and environment
USUAL = "C.UTF-8"  # what Python takes where there is no LANG
_READ_BY_PYTHON = ("PYTHON", "LC_", "LANG")  # variables that only a start takes notice of


def can_fork(environment: Mapping[str, str], language: str) -> bool:
    """False if it takes a start of Python to run `aur` in such an environment."""
    its = {n: value for n, value in environment.items() if n.startswith(_READ_BY_PYTHON) and value}
    folders = its.pop("PYTHONPATH", "").split(os.pathsep)
    return (
        its.pop("LANG", USUAL) == language
        and not its
        and all(map(_is_package, filter(None, folders)))
    )


def _is_package(folder: str) -> bool:
    """As pip would install one: of that, the process to fork from has imported nothing."""
    return any(name.endswith(".dist-info") for name in os.listdir(folder))  # noqa: PTH208


def ask(
    parent: str, words: Sequence[str], *, cwd: str, environment: Mapping[str, str],
    streams: Sequence[int],
) -> int:  # fmt: skip
    """Have the process that listens at `parent` fork. Returns where it tells the number of the new
    one, and in the end its exit status."""
    told, telling = os.pipe()
    asked = marshal.dumps([list(words), cwd, dict(environment)])
    rights = array.array("i", [*streams, telling])
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, LONGEST)
        connection.connect(parent)
        connection.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    finally:
        connection.close()
        os.close(telling)
    return told


def read_number(told: int) -> int:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(told, 1)
        if not part:
            raise RuntimeError("the process to fork from has ended")
        line += part
    return int(line)


def main(parent: str, language: str, *words: str) -> None:
    if not can_fork(os.environ, language):
        os.execv(words[0], words)  # noqa: S606
    told = ask(parent, words, cwd=os.getcwd(), environment=os.environ, streams=(0, 1, 2))  # noqa: PTH109
    process = read_number(told)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(process, number))
    status = read_number(told)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
