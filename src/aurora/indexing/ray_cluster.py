"""Work spread over the machines of a Ray cluster: the extra `ray`.

This machine must be one of the cluster (`ray start --address …`), and all need the same Python, Ray
and Aurora. Each processor of the cluster has one worker, which keeps what it loaded until the end.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

from aurora.errors import SpreadingError
from aurora.indexing.spreading import AHEAD

logger = logging.getLogger(__name__)

B = TypeVar("B")
R = TypeVar("R")

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
            raise SpreadingError("All workers of the Ray cluster died", hint="see `ray status`")
        asked = [*self._under_way, *self._starting]
        limit = None if self._under_way else _START_S
        ready, _ = self._ray.wait(asked, timeout=limit)
        if not ready:
            raise SpreadingError(
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
        raise SpreadingError(
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
        raise SpreadingError(
            "`indexing.ray` is set, and the package ray is not installed",
            hint="pip install 'aurora-memory[ray]', or unset `indexing.ray`",
        ) from exc
    return ray


def _require_there(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except (OSError, OverflowError) as exc:
        raise SpreadingError(
            f"There is no Ray cluster at {address}: {exc}",
            hint="start it with `ray start --head`, or unset `indexing.ray`",
        ) from exc
