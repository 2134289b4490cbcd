"""Threads for embedding: how many to use, and one thread per matrix product.

OpenBLAS spreads each product over all processors, and its threads wait for each other in a busy
loop. On two shared processors that made the layers three times slower than one thread.
`one_blas_thread` turns it off through a switch that numpy does not expose.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
BlasSwitch = tuple[Callable[[], int], Callable[[int], object]]  # get and set the thread count

_ROOT = Path("/")
_NUMPY_CORE = "numpy._core._multiarray_umath"
_BLAS_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


def map_threads(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """Return the result of `work` for each item, in order, on at most `threads` threads."""
    if min(threads, len(items)) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a single query needs none

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(work, items))


class _BlasState:
    """How many callers hold the switch, and the thread count before the first of them."""

    lock = threading.Lock()
    holders = 0
    threads_before = 0


@contextmanager
def one_blas_thread() -> Iterator[bool]:
    """Limit OpenBLAS to the calling thread; yields False where it has no switch.

    Concurrent callers share the switch. The last to leave restores the thread count.
    """
    switch = find_blas_switch()
    if switch is None:
        yield False
        return
    get_threads, set_threads = switch
    with _BlasState.lock:
        if not _BlasState.holders:
            _BlasState.threads_before = get_threads()
            set_threads(1)
        _BlasState.holders += 1
    try:
        yield True
    finally:
        with _BlasState.lock:
            _BlasState.holders -= 1
            if not _BlasState.holders:
                set_threads(_BlasState.threads_before)


@cache
def find_blas_switch() -> BlasSwitch | None:
    """The switch of the OpenBLAS that numpy was built with; None without one, and on Windows."""
    spec = find_spec(_NUMPY_CORE)
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
    except OSError:
        return None
    for name in _BLAS_NAMES:
        get_threads = getattr(library, name.format("get_num_threads"), None)
        set_threads = getattr(library, name.format("set_num_threads"), None)
        if get_threads and set_threads:
            return get_threads, set_threads
    return None


def usable_processors(root: Path = _ROOT) -> int:
    """Processors of this process: its affinity, bounded by its control groups; at least 1.

    A container often has fewer than its machine.
    """
    return max(1, min([_allowed(), *(math.ceil(quota) for quota in _quotas(root))]))


def _allowed() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[float]:
    """Processors granted by the control group of this process and by each group above it."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        base = root / "sys/fs/cgroup"
        if controllers:
            base /= "cpu"  # version 1 has a tree for each controller
        if controllers and "cpu" not in controllers.split(","):
            continue
        inside = PurePosixPath(group.lstrip("/"))
        for folder in {inside, *inside.parents}:  # the last is the root of the tree
            yield from _quota(base / folder)


def _quota(folder: Path) -> Iterator[float]:
    """`cpu.max` is "MICROSECONDS PERIOD" or "max PERIOD"; version 1 has a file for each number."""
    numbers = _read(folder / "cpu.max").split() or [
        *_read(folder / "cpu.cfs_quota_us").split(),
        *_read(folder / "cpu.cfs_period_us").split(),
    ]
    if len(numbers) == 2 and all(number.isdecimal() and int(number) for number in numbers):
        yield int(numbers[0]) / int(numbers[1])


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
