"""Background work in daemon threads, and calls that concurrent callers share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class BackgroundTask(Generic[T]):
    """Runs one function in a daemon thread, started at once.

    Not an executor: the interpreter waits for its threads at exit.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._is_done = threading.Event()
        self._outcome: Callable[[], T]  # returns the result or raises
        threading.Thread(target=self._run, args=(work,), name="aurora", daemon=True).start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            value = work()
            self._outcome = lambda: value
        except BaseException as exc:  # raised again by `result`
            self._outcome = partial(_throw, exc)
        self._is_done.set()

    def result(self, seconds: float | None = None) -> T:
        """Return the result or raise the exception of the work; `TimeoutError` after `seconds`."""
        if not self._is_done.wait(seconds):
            raise TimeoutError
        return self._outcome()

    @property
    def is_done(self) -> bool:
        return self._is_done.is_set()


def _throw(exc: BaseException) -> NoReturn:
    raise exc


class CoalescedCall:
    """Coalesces concurrent calls: one run serves all callers that came before it began. If the run
    fails, the waiting callers run again."""

    def __init__(self) -> None:
        self._running, self._counting = threading.Lock(), threading.Lock()
        self._calls = self._served = 0

    def do(self, work: Callable[[], None]) -> None:
        with self._counting:
            self._calls += 1
            number = self._calls
        with self._running:
            if self._served >= number:
                return
            calls = self._calls
            work()
            self._served = calls
