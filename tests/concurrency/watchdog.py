"""Notices that nothing ends any more, and says where every thread stands."""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

PATIENCE = 60.0  # seconds without a single deed that ended: nothing here takes half of it
# Seconds of a processor in that time: others may keep it from us, but who waits uses less.
AT_WORK = 1.0


class Watchdog:
    """`beat` whenever something ended. Processes print their stacks to stderr when asked."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def beat(self) -> None:
        with self._lock:
            self._last = time.monotonic()

    @property
    def is_stalled(self) -> bool:
        with self._lock:
            return time.monotonic() - self._last > self._patience

    def wait(self, is_over: Callable[[], bool], processes: Sequence[int]) -> None:
        """Until it is over; AssertionError with all stacks when nothing ends any more."""
        used = _processor_seconds(processes)
        while not is_over():
            if self.is_stalled and (now := _processor_seconds(processes)) - used > AT_WORK:
                used = now
                self.beat()
            elif self.is_stalled:
                for pid in processes:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGUSR1)
                raise AssertionError(f"Nothing ended for {self._patience:g} s\n{stacks()}")
            time.sleep(0.05)


def _processor_seconds(processes: Sequence[int]) -> float:
    """What these have used; one that is gone uses no more."""
    used = 0.0
    for pid in processes:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            used += times.user + times.system
    return used


def stacks() -> str:
    """Of all threads of this process."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        return file.read()


def print_stacks_when_asked() -> None:
    """SIGUSR1 has this process print the stacks of all its threads to stderr, whatever holds it."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
