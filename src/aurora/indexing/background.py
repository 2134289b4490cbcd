"""Work that goes on beside other work, and is not heard of until it is waited for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from aurora.types import Event, Listener

T = TypeVar("T")


class _Stopped(Exception):  # noqa: N818 - no error: nobody wants the answer any more
    pass


class Background(Generic[T]):
    """One piece of work in a thread of its own. Use it in a `with` block.

    The work gets a listener. Its news are passed on once somebody waits for the outcome; when the
    block is left by an exception, the next piece of news ends the work.
    """

    def __init__(self, work: Callable[[Listener], T], *, listen: Listener) -> None:
        self._work, self._listen = work, listen
        self._waited_for = self._unwanted = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aurora")

    def __enter__(self) -> Background[T]:
        self._outcome = self._thread.submit(self._work, self._hear)
        return self

    def _hear(self, event: Event) -> None:
        if self._unwanted:
            raise _Stopped
        if self._waited_for:
            self._listen(event)

    def result(self) -> T:
        """What came of the work; an exception in it is raised here."""
        self._waited_for = True
        return self._outcome.result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._unwanted = kind is not None
        self._thread.shutdown()
