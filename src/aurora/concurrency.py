"""Work in a thread that nobody has to wait for, not even the end of the program.

Work that many ask for at once, and that is the same for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundTask(Generic[T]):
    """One piece of work, begun at once. Who is tired of waiting goes on, and it ends when it ends.

    An executor's threads would not do: the interpreter waits for them when it exits.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._outcome: Future[T] = Future()
        threading.Thread(target=self._run, args=(work,), name="aurora", daemon=True).start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._outcome.set_result(work())
        except BaseException as exc:  # whoever waits for the outcome gets this one
            self._outcome.set_exception(exc)

    def result(self, seconds: float | None = None) -> T:
        """What came of it, or the exception in it; `TimeoutError` when that takes longer."""
        return self._outcome.result(seconds)

    @property
    def is_done(self) -> bool:
        return self._outcome.done()


class CoalescedCall:
    """Does it once for all who asked before it began. If it fails, who waited does it again."""

    def __init__(self) -> None:
        self._working, self._counting = threading.Lock(), threading.Lock()
        self._asked = self._done = 0

    def do(self, work: Callable[[], None]) -> None:
        with self._counting:
            self._asked += 1
            mine = self._asked
        with self._working:
            if self._done >= mine:
                return
            begun_with = self._asked
            work()
            self._done = begun_with
