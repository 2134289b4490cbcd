"""What a command takes: time, and the memory of all its processes.

Memory has three numbers, because a command may start others. The largest single process, told by
the system when all is over: exact, but never below the memory of the script that asks (some 25 MB).
The command's own process; and all together at one moment, where pages that several share count
each time. The last two are looked up in /proc twenty times a second, so only on Linux.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_EVERY = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took, its children included. Memory in MB; None where nobody knows."""

    wall_s: float
    cpu_s: float
    largest_mb: float
    own_mb: float | None
    together_mb: float | None


class Watch(threading.Thread):
    """Looks now and then at the memory of a process and of everything that it started."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._over = pid, threading.Event()
        self.own = self.together = 0  # KB, the most so far

    def run(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            sizes = [memory(pid) for pid in family(self._pid)]
            self.own = max(self.own, sizes[0][0])
            self.together = max(self.together, self.own, sum(now for _, now in sizes))

    def stop(self) -> None:
        self._over.set()
        self.join()


def family(pid: int) -> list[int]:
    """A process, its children, their children: those that run at this moment."""
    found = [pid]
    for member in found:  # grows on the way
        try:
            for children in Path(f"/proc/{member}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        except OSError:  # it has just ended
            continue
    return found


def memory(pid: int) -> tuple[int, int]:
    """The most that a process ever had, and what it has now, in KB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0, 0
    sizes = {name: int(size) for name, size in re.findall(r"(Vm\w+):\s+(\d+) kB", status)}
    return sizes.get("VmHWM", 0), sizes.get("VmRSS", 0)


def measure(argv: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> tuple[Cost, str]:
    """Run a command to its end; returns what it took and what it printed."""
    with tempfile.TemporaryFile() as sink:
        start = time.perf_counter()
        child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        watch = Watch(child.pid)
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        watch.stop()
        child.returncode = os.waitstatus_to_exitcode(status)
        sink.seek(0)
        text = sink.read().decode(errors="replace")
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, argv))} failed:\n{text}")
    largest = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    own, together = (round(kb / 1024, 1) or None for kb in (watch.own, watch.together))
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(round(wall, 3), round(cpu, 3), round(largest, 1), own, together), text
