"""What local models share: vectors of length 1, long texts, threads, and the processor.

A text longer than a model's window is split into windows, which follow each other without overlap.
Its vector is the mean of theirs, weighted by their tokens; the first counts double, since
beginnings say what a text is about. Measured with MiniLM (window 256), nDCG@10, ± of the difference
from cutting over the queries:

    texts, of which are long       cut at the  mean by  first        all count  equal
                                   window      tokens   double       the same   lengths
    Cranfield, 349 of 1,400        .500        .495     .499 ± .002  .470       .503
    code by 4,000 characters,
      602 of 684                   .643        .715     .722 ± .027  .706       .701
    InsuranceQA, 97 of 1,613       .700        .698     .699 ± .003  .692       .701
    chats (BEAM), 686 of 1,294     .436        .419     .415 ± .011  .413       .413
    mean of the four               .570        .582     .584         .570       .579

"Equal lengths" is "first double" with windows of the same length. Code gains most: the answer is
anywhere in a chunk. Chats lose a little: long answers of an assistant rank before the short
messages that the queries look for. An overlap of 64 tokens lost .002 on Cranfield, and a window of
512 tokens, for which this model was not trained, .007.

OpenBLAS spreads each product over all processors, and its threads wait for each other in a busy
loop. On two shared processors that made the layers three times slower than one thread.
`one_blas_thread` turns it off through a switch that numpy does not expose.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aurora.platforms import processors

T = TypeVar("T")
R = TypeVar("R")
BlasSwitch = tuple[Callable[[], int], Callable[[int], object]]  # get and set the thread count

_ROOT = Path("/")
_NUMPY_CORE = "numpy._core._multiarray_umath"
_BLAS_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
_FIRST = 2.0  # the weight of the first window


def unit_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Each row, or the one vector, divided by its length. A row of zeros stays as it is."""
    wide = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return (wide / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)


def split_windows(ids: Sequence[int], size: int) -> list[Sequence[int]]:
    """Windows of `size` ids, the last one shorter; one empty window for no ids."""
    return [ids[start : start + size] for start in range(0, len(ids) or 1, size)]


def join_windows(vectors: NDArray[np.float32], sizes: Sequence[int]) -> NDArray[np.float32]:
    """One vector of length 1 from those of a text's windows, each with its number of tokens."""
    weights = np.array(sizes, np.float64)
    weights[0] *= _FIRST
    return unit_rows(weights @ vectors.astype(np.float64))


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
    return max(1, min([processors(), *(math.ceil(quota) for quota in _quotas(root))]))


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


def products_overflow(machine: str, cpuinfo: Path) -> bool:
    """Whether sums of two 8-bit products are cut off at 16 bits, as on x86 without VNNI.

    The runtime's exact mode is slower on every x86, so it is used only where it is needed.
    """
    if machine.lower() not in {"x86_64", "amd64", "x86", "i386", "i686"}:
        return False
    try:
        flags = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return True
    return not any(flag in flags for flag in ("avx512_vnni", "avx_vnni", "amx_int8"))
