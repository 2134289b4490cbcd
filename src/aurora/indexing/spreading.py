"""One seam for work that other processes, or other machines, may do: `map_batches`.

What is sent is a function that can be found by its name and plain data; what it gives comes back as
plain data. Files and the store stay with the process that asks.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from aurora.errors import SpreadingError

B = TypeVar("B")
R = TypeVar("R")

AHEAD = 2  # batches on their way for each worker: one at work, one that waits for it
_DEATHS = 3  # without a result in between: then it is the work that kills, or the machine is full


class Spreader(Protocol):
    """Has a function work at batches, here or elsewhere."""

    def map_batches(self, fn: Callable[[B], R], batches: Iterable[B]) -> Generator[R, None, None]:
        """What `fn` makes of each batch, in their order.

        Batches are taken as workers become free, in the thread that asks. What `fn` raises is
        raised here, in its turn. `SpreadingError`: who should have worked is away or dead; what
        was not given back until then was not done.
        """
        ...


class InProcess:
    """One after the other, here."""

    def map_batches(self, fn: Callable[[B], R], batches: Iterable[B]) -> Generator[R, None, None]:
        for batch in batches:
            yield fn(batch)


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Processes of this machine, started with the first batch. What one held when it died is done
    again by another."""

    workers: int

    def map_batches(self, fn: Callable[[B], R], batches: Iterable[B]) -> Generator[R, None, None]:
        pool, source, deaths = _Pool(self.workers, fn), iter(batches), 0
        try:
            while True:
                for batch in islice(source, AHEAD * self.workers - len(pool.under_way)):
                    pool.submit(batch)
                if not pool.under_way:
                    return
                try:
                    result = pool.next_result()
                except BrokenProcessPool as exc:
                    deaths += 1
                    if deaths == _DEATHS:
                        raise SpreadingError(
                            f"Processes that worked for this one died {deaths} times in a row",
                            hint="set `indexing.workers` lower: memory may be short",
                        ) from exc
                    pool.start_again()
                else:
                    deaths = 0
                    yield result
        finally:
            pool.stop()


class _Sent(NamedTuple, Generic[B, R]):
    batch: B
    future: Future[R]


class _Pool(Generic[B, R]):
    """Processes that all know one function, and the batches that they were given."""

    def __init__(self, workers: int, fn: Callable[[B], R]) -> None:
        self._workers, self._fn = workers, fn
        self.under_way: deque[_Sent[B, R]] = deque()
        self._start()

    def _start(self) -> None:
        # Never a fork: a thread of ours may hold a lock at that moment, for good in the child.
        context = multiprocessing.get_context("spawn")
        # New processes import `multiprocessing`: never a file of that name in a stranger's clone.
        os.putenv("PYTHONSAFEPATH", "1")
        self._executor = ProcessPoolExecutor(
            self._workers, context, initializer=_begin, initargs=(self._fn,)
        )

    def submit(self, batch: B) -> None:
        self.under_way.append(_Sent(batch, self._send(batch)))

    def _send(self, batch: B) -> Future[R]:
        with _main_hidden():  # it may start a process
            try:
                return self._executor.submit(_work, batch)
            except BrokenProcessPool as exc:  # told in its turn, like any other that was lost
                lost: Future[R] = Future()
                lost.set_exception(exc)
                return lost

    def next_result(self) -> R:
        """Of the oldest batch, which is then done; it stays when a process died."""
        try:
            result = self.under_way[0].future.result()
        except BrokenProcessPool:
            raise
        except BaseException:
            self.under_way.popleft()
            raise
        self.under_way.popleft()
        return result

    def start_again(self) -> None:
        """All die with the first; only what they had finished is there."""
        self._executor.shutdown()
        self._start()
        for sent in list(self.under_way):
            self.under_way.popleft()
            lost = isinstance(sent.future.exception(), BrokenProcessPool)
            self.under_way.append(_Sent(sent.batch, self._send(sent.batch)) if lost else sent)

    def stop(self) -> None:
        """After what is being worked at: a batch is short."""
        self._executor.shutdown(cancel_futures=True)


@contextmanager
def _main_hidden() -> Iterator[None]:
    """A new process imports the script that runs, and one without the `__main__` idiom would do
    all of its work again there: here it has nothing to import."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


_fn: Callable[[Any], Any]  # in a worker: what it was started for


def _begin(fn: Callable[[Any], Any]) -> None:
    """In a worker, before its first batch."""
    global _fn  # noqa: PLW0603 - a pool's processes have no other place for what they all know
    _fn = fn
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started us, and ends us
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: the processors are taken
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """One that is killed cannot stop its workers, and they would wait for it forever."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _work(batch: Any) -> Any:
    return _fn(batch)
