"""How what goes on until somebody stops it comes to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
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

    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN  # as for `aur mem watch &` in a script
    ]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield stop
    except KeyboardInterrupt:
        tell(Note("Stopped"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
