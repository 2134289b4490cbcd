"""How what goes on until somebody stops it comes to its end."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from aurora.cli.session import tell
from aurora.types import Note


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM end what is inside without an error, also in the middle of a run.

    A run may be cut off anywhere: what it writes is whole, and the next one goes on from there.
    """
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        stop.set()  # should the exception be lost, as in a destructor
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in _heeded()}
    try:
        yield stop
    except KeyboardInterrupt:
        tell(Note("Stopped"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_until_signal(main: Coroutine[None, None, None]) -> None:
    """Run to its end. At the first SIGINT or SIGTERM the program ends, whatever its threads do.

    A thread that reads stdin cannot be cancelled, nor can a call that a thread works on: waiting
    for them would ignore the signal. What they write is whole, and the next run goes on from there.
    """
    import asyncio  # which takes longer than all that other commands do here

    runner = asyncio.Runner()
    if sys.platform != "win32":  # its loop takes no signals; SIGTERM ends a program there
        for number in _heeded():
            runner.get_loop().add_signal_handler(number, _interrupt)
    try:
        runner.run(main)
    except KeyboardInterrupt:
        tell(Note("Stopped"))
        atexit._run_exitfuncs()  # temporary folders go, and the log is written
        os._exit(0)
    runner.close()


def _interrupt() -> NoReturn:
    """From the loop itself: inside a task it could be held up by what the task waits for."""
    raise KeyboardInterrupt


def _heeded() -> list[signal.Signals]:
    return [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN  # as for `aur mem watch &` in a script
    ]
