"""Work spread over the machines of a Ray cluster: the extra `ray`.

This machine must be one of the cluster (`ray start --address …`), and all need the same Python, Ray
and Aurora. Each processor of the cluster has one worker, which keeps what it loaded until the end.

One seam for work that other processes, or other machines, may do: `map_batches`.

What is sent is a function that can be found by its name and plain data; what it gives comes back as
plain data. Files and the store stay with the process that asks.

Vectors as a store keeps them, many at once.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from aurora.errors import ClusterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)


B = TypeVar("B")
R = TypeVar("R")

AHEAD = 2  # batches on their way for each worker: one at work, one that waits for it
_DEATHS = 3  # without a result in between: then it is the work that kills, or the machine is full


class Spreader(Protocol):
    """Has a function work at batches, here or elsewhere."""

    def map_batches(self, fn: Callable[[B], R], batches: Iterable[B]) -> Generator[R, None, None]:
        """What `fn` makes of each batch, in their order.

        Batches are taken as workers become free, in the thread that asks. What `fn` raises is
        raised here, in its turn. `ClusterError`: who should have worked is away or dead; what
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
                        raise ClusterError(
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


# Ray's own types say little: a worker is an actor handle, an answer an object reference.
Ray: TypeAlias = Any
Worker: TypeAlias = Any
Answer: TypeAlias = Any

_PATIENCE_S = 5.0  # for a head that does not answer; Ray itself would wait for a minute
_START_S = 60.0  # for the first worker: others may be using all processors


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A worker or machine that dies costs its batches a second try, by those that are left."""

    address: str  # HOST:PORT of the head

    def map_batches(self, fn: Callable[[B], R], batches: Iterable[B]) -> Generator[R, None, None]:
        with _joined(self.address) as ray:
            crew: _Crew[B, R] = _Crew(ray, fn)
            try:
                yield from _in_order(crew, iter(batches))
            finally:
                crew.dismiss()


def _in_order(crew: _Crew[B, R], batches: Iterator[B]) -> Generator[R, None, None]:
    """Hands out batches as workers are free, but not many more than are given back."""
    done: dict[int, R | _Failure] = {}
    taken = given_back = 0
    is_over = False
    while True:
        while crew.has_room and not is_over and taken - given_back < 2 * AHEAD * crew.size:
            try:
                crew.submit(taken, next(batches))
            except StopIteration:
                is_over = True
            else:
                taken += 1
        if is_over and given_back == taken:
            return
        done.update(crew.wait())
        while given_back in done:
            result = done.pop(given_back)
            if isinstance(result, _Failure):
                raise result.cause
            yield result
            given_back += 1


@dataclass(frozen=True, slots=True)
class _Failure:
    """What the function raised, kept until those before it were given back."""

    cause: BaseException


class _Crew(Generic[B, R]):
    """The workers, and which batch each of them has."""

    def __init__(self, ray: Ray, fn: Callable[[B], R]) -> None:
        self._ray = ray
        self.size = max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(_Worker).options(num_cpus=1, scheduling_strategy="SPREAD")
        workers = [remote.remote(fn) for _ in range(self.size)]
        # One that finds no processor free is never ready, and is given nothing.
        self._starting: dict[Answer, Worker] = {one.ready.remote(): one for one in workers}
        self._room: deque[Worker] = deque()
        self._under_way: dict[Answer, tuple[int, B, Worker]] = {}
        self._again: deque[tuple[int, B]] = deque()  # what the dead had

    @property
    def has_room(self) -> bool:
        return bool(self._room) and not self._again

    def submit(self, number: int, batch: B) -> None:
        worker = self._room.popleft()
        self._under_way[worker.work.remote(batch)] = (number, batch, worker)

    def wait(self) -> dict[int, R | _Failure]:
        """What is finished next."""
        while self._again and self._room:
            self.submit(*self._again.popleft())
        if not self._under_way and not self._starting:
            raise ClusterError("All workers of the Ray cluster died", hint="see `ray status`")
        asked = [*self._under_way, *self._starting]
        limit = None if self._under_way else _START_S
        ready, _ = self._ray.wait(asked, timeout=limit)
        if not ready:
            raise ClusterError(
                f"No processor of the Ray cluster was free for {_START_S:.0f} seconds",
                hint="see `ray status`",
            )
        return self._take(ready[0])

    def _take(self, answer: Answer) -> dict[int, R | _Failure]:
        if answer in self._starting:
            self._welcome(answer)
            return {}
        number, batch, worker = self._under_way.pop(answer)
        errors = self._ray.exceptions
        try:
            result: R | _Failure = cast("R", self._ray.get(answer))
        except errors.RayTaskError as exc:
            result = _Failure(exc.cause)
        except errors.RayError as exc:
            logger.warning("a worker of the Ray cluster was lost: %s", exc)
            self._room = deque(one for one in self._room if one is not worker)
            self._again.append((number, batch))
            return {}
        self._room.append(worker)
        return {number: result}

    def _welcome(self, answer: Answer) -> None:
        worker = self._starting.pop(answer)
        try:
            self._ray.get(answer)
        except self._ray.exceptions.RayError as exc:
            logger.warning("a worker of the Ray cluster did not start: %s", exc)
        else:
            self._room.extend([worker] * AHEAD)

    def dismiss(self) -> None:
        workers = {id(one): one for one in (*self._room, *self._starting.values())}
        workers |= {id(one): one for _, _, one in self._under_way.values()}
        for worker in workers.values():
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(worker)


class _Worker:
    """Lives on some machine of the cluster, with what its function loaded."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def ready(self) -> bool:
        return True

    def work(self, batch: Any) -> Any:
        return self._fn(batch)


@contextmanager
def _joined(address: str) -> Iterator[Ray]:
    """Ray, connected to the cluster; left again unless the program itself had joined one."""
    ray = _load()
    if ray.is_initialized():
        yield ray
        return
    _require_there(address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(
            sys.prefix
        ):  # Ray lets its workers import from here: not from a stranger's clone
            ray.init(address, log_to_driver=False, configure_logging=False)
    except Exception as exc:  # it has many errors for this, without a base of their own
        raise ClusterError(
            f"This machine cannot work with the Ray cluster at {address}: {exc}",
            hint=f"join it with `ray start --address={address}`, or unset `indexing.ray`",
        ) from exc
    with suppress(ValueError):  # not in the main thread; then Ray left it alone, too
        signal.signal(signal.SIGTERM, before)
    try:
        yield ray
    finally:
        ray.shutdown()


def _load() -> Ray:
    try:
        import ray  # noqa: PLC0415 - an extra, and 0.7 s to import
    except ImportError as exc:
        raise ClusterError(
            "`indexing.ray` is set, and the package ray is not installed",
            hint="pip install 'aurora-memory[ray]', or unset `indexing.ray`",
        ) from exc
    return ray


def _require_there(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except (OSError, OverflowError) as exc:
        raise ClusterError(
            f"There is no Ray cluster at {address}: {exc}",
            hint="start it with `ray start --head`, or unset `indexing.ray`",
        ) from exc


def packed(matrix: NDArray[np.float64]) -> Iterable[bytes]:
    """As `pack_vector` does it."""
    return (row.tobytes() for row in matrix.astype("<f2"))


def unit_rows(
    vectors: Sequence[Sequence[float]] | NDArray[np.float64], *, count: int, dimension: int
) -> NDArray[np.float64]:
    """Each at length 1. `ValueError`: one is no vector."""
    import numpy as np  # noqa: PLC0415 - those who import this module may embed nothing

    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} texts")
    if wrong := [len(vector) for vector in vectors if len(vector) != dimension]:
        raise ValueError(f"a vector of {wrong[0]} numbers, not {dimension}")
    matrix = np.asarray(vectors, np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector with numbers that are not finite")
    scaled = matrix / _or_one(np.abs(matrix).max(axis=1, initial=0.0))  # no square overflows then
    unit: NDArray[np.float64] = scaled / _or_one(np.linalg.norm(scaled, axis=1))
    return unit


def _or_one(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """As a column to divide by: a vector of no length stays as it is."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.where(lengths > 0.0, lengths, 1.0)[:, None]
