"""Threads that work side by side, while the library below numpy has but the one that calls it.

OpenBLAS would spread every product over all processors, and its threads then wait for each other in
a loop. On two processors that others use as well, the layers were three times slower so than on one
thread. It has a switch, which numpy does not show.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")
Switch = tuple[Callable[[], int], Callable[[int], object]]  # tells the number, and sets it

_NUMPY = "numpy._core._multiarray_umath"
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


class _Holding:
    """How many hold the switch, and what it was before the first."""

    lock = threading.Lock()
    holders = 0
    before = 0


def side_by_side(work: Callable[[T], object], items: Sequence[T], threads: int) -> None:
    """The work on each item, on so many threads."""
    if min(threads, len(items)) < 2:
        for item in items:
            work(item)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a question needs none

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        list(pool.map(work, items))


@contextmanager
def one_thread_each() -> Iterator[bool]:
    """Whether products are now made by the thread that asks for them; ends with the last holder."""
    switch = find_switch()
    if switch is None:
        yield False
        return
    tell, put = switch
    with _Holding.lock:
        if not _Holding.holders:
            _Holding.before = tell()
            put(1)
        _Holding.holders += 1
    try:
        yield True
    finally:
        with _Holding.lock:
            _Holding.holders -= 1
            if not _Holding.holders:
                put(_Holding.before)


@cache
def find_switch() -> Switch | None:
    """That of the OpenBLAS numpy was built with, if it was; on Windows it is not found."""
    spec = find_spec(_NUMPY)
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
    except OSError:
        return None
    for name in _NAMES:
        tell = getattr(library, name.format("get_num_threads"), None)
        put = getattr(library, name.format("set_num_threads"), None)
        if tell and put:
            return tell, put
    return None
