"""`aur hook AGENT EVENT`: reads an agent's JSON from stdin and prints what to tell it, or nothing.

An agent waits for its hooks, and some take a failing hook as a veto. So whatever happens, this ends
with status 0 and within two seconds, and prints a whole answer or nothing. It imports little: with
a server of the project at work, that is all that runs.
"""

from __future__ import annotations

import importlib
import json
import os
import stat
import sys
import threading

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

MOST_BYTES = 8_388_608  # of what an agent sends: more is a file that it read
_LONGEST_WORD = 40  # characters of the names of an agent and an event, which the log repeats
PROTOCOL = 1  # of the socket; a server of another version does not answer
RUN_FOLDER, SOCKET = "run", "hooks.sock"  # in the folder of a memory
_CONNECTING, _ANSWERING = 0.1, 0.8  # seconds that a server has
_CREDENTIALS = "3i"  # process, user, group
_SECONDS = 2.0  # by the clock, for everything, unless the environment says more or less
_SECONDS_UNSEEN = 30.0  # the same, where nobody waits


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one call and end the process, with status 0."""
    threading.Thread(target=_end_late, args=(_SECONDS,), daemon=True).start()
    output = ""
    try:
        output = _answer(arguments)
    except BaseException as exc:
        _log(arguments, exc)
    _end(output)


def _answer(arguments: Sequence[str]) -> str:
    agent, event = (word[:_LONGEST_WORD] for word in arguments)
    payload = json.loads(_read_stdin())
    folder = working_folder(payload)
    output = _ask_server(agent, event, payload, folder)
    return _answer_here(agent, event, payload, folder) if output is None else output


def _read_stdin() -> bytes:
    content = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError("too much")
    return content


def working_folder(payload: object) -> str:
    """Where the agent works: the folder that it names, or that of this process."""
    named: list[object] = []
    if isinstance(payload, dict):
        roots = payload.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots else None
        named = [payload.get("cwd"), first, payload.get("directory")]
    for folder in named:
        if isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder:
            return folder
    return os.getcwd()


def own_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """What decides which memory is asked, and how: a server with others does not answer."""
    return {
        name: value
        for name, value in environ.items()
        if name.startswith("AURORA_") or name in ("HOME", "USERPROFILE")
    }


def _ask_server(agent: str, event: str, payload: object, folder: str) -> str | None:
    """The answer of a server of this project; None without one, and in any doubt."""
    path = _find_socket(folder)
    if not path:
        return None
    call = {
        "protocol": PROTOCOL,
        "agent": agent,
        "event": event,
        "payload": payload,
        "folder": folder,
        "variables": own_variables(os.environ),
    }
    try:
        answer = json.loads(_exchange(path, json.dumps(call).encode()))
    except (OSError, ValueError):
        return None
    is_known = isinstance(answer, dict) and answer.get("protocol") == PROTOCOL
    return str(answer["output"]) if is_known and "output" in answer else None


def _find_socket(folder: str) -> str:
    """The socket beside the nearest memory, or else in the user's folder; empty without one."""
    home = os.environ.get("AURORA_HOME") or os.path.expanduser("~/.aurora")
    above = folder
    while not os.path.isdir(os.path.join(above, ".aurora")) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    for memory in (os.path.join(above, ".aurora"), home):
        if os.path.isdir(memory):
            path = os.path.join(memory, RUN_FOLDER, SOCKET)
            return path if _is_own_socket(path) else ""
    return ""


def _is_own_socket(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == own_user()


def _exchange(path: str, message: bytes) -> bytes:
    """Send a call and read the answer. Raises `OSError`, also when it takes too long."""
    import socket

    answer = b""
    with unix_socket() as server:
        server.settimeout(_CONNECTING)
        server.connect(path)
        if peer_of(server) not in (None, own_user()):
            raise PermissionError(path)
        server.settimeout(_ANSWERING)
        server.sendall(message)
        server.shutdown(socket.SHUT_WR)
        while piece := server.recv(1 << 16):
            answer += piece
    return answer


# What a system has is looked up by name: `aurora.platforms` takes 10 ms to import.


def unix_socket() -> socket.socket:
    """A new Unix socket. `OSError` on a system without them."""
    import socket  # takes 10 ms, and most projects have no server

    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        raise OSError("there are no Unix sockets")
    return socket.socket(family)


def own_user() -> int | None:
    """The user as whom this process acts, where files have one."""
    user = getattr(os, "geteuid", None)
    return user() if user else None


def peer_of(connection: socket.socket) -> int | None:
    """The user at the other end; None where the system does not tell."""
    import socket
    import struct

    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    size = struct.calcsize(_CREDENTIALS)
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, size)
    return int(struct.unpack(_CREDENTIALS, credentials)[1])


def _answer_here(agent: str, event: str, payload: object, folder: str) -> str:
    """Answer in this process, which loads the engine; new records are read by a child."""
    occasions = importlib.import_module("aurora.hooks.occasions")
    if occasions.occasion_of(agent, event) is occasions.Occasion.FOLLOW:
        if importlib.import_module("aurora.platforms").leave_to_child():
            return ""
        threading.Thread(target=_end_late, args=(_SECONDS_UNSEEN,), daemon=True).start()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads for one product
    answering = importlib.import_module("aurora.hooks.answering")
    request = answering.HookRequest(agent, event, payload, folder, os.environ)
    return str(answering.answer_hook(request))


def _end_late(seconds: float) -> None:
    """End the process when its time is over, whatever it waits for."""
    given = os.environ.get("AURORA_HOOK_SECONDS", "")
    threading.Event().wait(float(given) if given.isdecimal() else seconds)
    late = threading.Thread(target=_log, args=(sys.argv[2:], TimeoutError()), daemon=True)
    late.start()
    late.join(1.0)  # the log may be what hangs
    os._exit(0)


def _log(arguments: Sequence[str], exc: BaseException) -> None:
    """Write the class of an error to the log, if that can be done."""
    try:
        log = importlib.import_module("aurora.usage_log")
        log.write_failure(os.environ, [*arguments, "", ""][:2], type(exc).__name__)
    except BaseException:  # noqa: S110 - there is nobody to tell
        pass


def _end(output: str) -> NoReturn:
    """Print the answer in one piece, so that no half of it is ever read."""
    try:
        if output and sys.stdout is not None:
            os.write(sys.stdout.fileno(), output.encode("ascii") + b"\n")
    except (OSError, ValueError):  # a closed pipe
        pass
    os._exit(0)
