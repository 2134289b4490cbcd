"""How many processors this process may use: a container often has fewer than its machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def usable_processors(root: Path = _ROOT) -> int:
    """Those it may run on, bounded by what its control groups grant; at least one."""
    allowed = _allowed()
    return max(1, min([allowed, *(math.ceil(quota) for quota in _quotas(root))]))


def _allowed() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[float]:
    """Processors granted by this process's group and by each one above it."""
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
