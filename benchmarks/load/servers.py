"""Servers that the load is on, each a process of its own, and an `aur mem index` beside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from load.figures import Row, trend
from speed import startup

AUR = Path(sys.executable).with_name("aur")
MIB = 1024 * 1024


@dataclass(frozen=True)
class Server:
    """Where a server listens, and its process."""

    url: str
    pid: int


def environment(folder: Path, **more: str) -> dict[str, str]:
    own = {"HOME": str(folder), "AURORA_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    return {"PATH": os.environ["PATH"], **own, **more}


def make_memory(target: Path, chunks: int, environ: Mapping[str, str]) -> None:
    """A memory of so many chunks of Python's own library; with none, an empty one."""
    target.mkdir(parents=True)
    if chunks:
        startup.CHUNKS = chunks
        startup.copy_library(target)
    for words in (["init"], ["mem", "index", ".", "--no-git"]):
        subprocess.run([AUR, *words], cwd=target, env=environ, check=True, capture_output=True)


@contextmanager
def aurora_serving(project: Path, environ: Mapping[str, str]) -> Iterator[Server]:
    process = subprocess.Popen(
        [AUR, "mcp", "--http", "--port", "0", "--no-token"],
        cwd=project, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    told = process.stderr.readline()
    try:
        yield Server(told.rpartition(" at ")[2].strip(), process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate()[1]
        if complaints := [line for line in rest.splitlines() if line != "Stopped"]:
            print("\n".join(complaints))


@contextmanager
def indexing(
    project: Path, environ: Mapping[str, str], *, pause: float = 0.0
) -> Iterator[list[int]]:
    """Another process that edits a few files and indexes, over and over; its exit statuses."""
    files = sorted(project.rglob("*.py"))[:40]
    over, statuses = threading.Event(), list[int]()

    def work() -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            for file in files[turn % 8 :: 8]:
                text = re.sub(r"\n# turn \d+\n\Z", "\n", file.read_text("utf-8"))
                file.write_text(f"{text}# turn {turn}\n", encoding="utf-8")
            words = [AUR, "mem", "index", ".", "--no-git"]
            done = subprocess.run(words, cwd=project, env=environ, capture_output=True, check=False)
            statuses.append(done.returncode)
            over.wait(pause)

    beside = threading.Thread(target=work)
    beside.start()
    try:
        yield statuses
    finally:
        over.set()
        beside.join()


@dataclass
class Watch:
    """A server's memory (MiB), open files and threads, looked at while it works, and its CPU time.

    Where others use the cores, too, CPU seconds say more than those of the clock.
    """

    pid: int
    samples: dict[str, list[float]] = field(
        default_factory=lambda: {"mib": [], "files": [], "threads": []}
    )
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @contextmanager
    def looking(self, every: float = 1.0) -> Iterator[None]:
        over, began, used = threading.Event(), time.monotonic(), self._used()

        def look() -> None:
            while not over.wait(every):
                self._look()

        looker = threading.Thread(target=look)
        looker.start()
        try:
            yield
        finally:
            over.set()
            looker.join()
            self._look()  # one at least, however short it was
            self.seconds += time.monotonic() - began
            self.cpu_seconds += self._used() - used

    def _family(self) -> list[psutil.Process]:
        process = psutil.Process(self.pid)
        return [process, *process.children(recursive=True)]

    def _used(self) -> float:
        return sum(one.cpu_times().user + one.cpu_times().system for one in self._family())

    def _look(self) -> None:
        family = self._family()
        self.samples["mib"].append(sum(one.memory_info().rss for one in family) / MIB)
        self.samples["files"].append(sum(one.num_fds() for one in family))
        self.samples["threads"].append(sum(one.num_threads() for one in family))

    def trends(self) -> dict[str, Row]:
        return {name: trend(values, seconds=self.seconds) for name, values in self.samples.items()}
