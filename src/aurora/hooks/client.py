"""`aur hook AGENT EVENT`: reads an agent's JSON from stdin and prints what to tell it, or nothing.

An agent waits for its hooks, and some take a failing hook as a veto. So whatever happens, this ends
with status 0 and within two seconds, and prints a whole answer or nothing. It imports little: with
a server of the project at work, that is all that runs.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_MOST_BYTES = 8_388_608  # of what an agent sends: more is a file that it read
_LONGEST_WORD = 40  # characters of the names of an agent and an event, which the log repeats
_SECONDS = 2.0  # by the clock, for everything


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one call and end the process, with status 0."""
    threading.Thread(target=_end_late, daemon=True).start()
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
    return _answer_here(agent, event, payload, folder)


def _read_stdin() -> bytes:
    content = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
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
        if isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder:  # noqa: PTH117
            return folder
    return os.getcwd()  # noqa: PTH109 - pathlib takes 5 ms to import


def _answer_here(agent: str, event: str, payload: object, folder: str) -> str:
    """Answer in this process, which loads the engine."""
    answering = importlib.import_module("aurora.hooks.answering")
    request = answering.HookRequest(agent, event, payload, folder, os.environ)
    return str(answering.answer_hook(request))


def _end_late() -> None:
    """End the process when its time is over, whatever it waits for."""
    threading.Event().wait(_SECONDS)
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
