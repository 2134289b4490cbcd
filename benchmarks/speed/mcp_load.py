"""Many agents at one server: how long calls take, beside one agent alone, and that nothing is lost.

    python benchmarks/speed/mcp_load.py [--clients 50] [--calls 2000] [--chunks 10000]

A real `aur mcp --http` serves a memory of Python's own library. One client of the SDK calls alone;
then alone while another process edits files and runs `aur mem index` over and over; then so many
clients at once, while it still does. Calls are drawn by lot: searches of all kinds, reads, and one
in six a write. Clients share this machine's cores with the server, so their own work is in the
times. Any error, and any write that was answered and is not there afterwards, fails the run.

A run of 50 clients, 2,000 calls and 10,000 chunks writes benchmarks/results/mcp-load-<commit>.json.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import anyio
from mcp import Client
from mcp.types import CallToolResult

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from speed import startup

AUR = Path(sys.executable).with_name("aur")
WHOLE_RUN = (50, 2000, 10_000)
QUESTIONS = (
    "read the next header line", "parse an email address", "lock with a time-out", "HTTPConnection",
    "how is a date formatted", "open a zip file", "send_message", "walk a directory tree",
    "escape html characters", "read_until", "compile a regular expression", "event loop",
)  # fmt: skip
WORDS = ("queue", "gateway", "migration", "token", "retry", "cache", "schema", "rollback")

Call = tuple[str, dict[str, object]]


class Crowd:
    """Clients of one server, what their calls took, and what they wrote."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.written: dict[str, str] = {}  # id → text
        self._found: list[str] = []
        self._chance = random.Random(7)  # noqa: S311 - not for secrets

    def draw(self, number: int) -> Call:
        """What an agent does: it mostly looks around, reads some, and writes now and then."""
        lot, question = self._chance.random(), self._chance.choice(QUESTIONS)
        if lot < 0.40:
            return "aurora_search", {"query": question}
        if lot < 0.60:
            mode = self._chance.choice(["hybrid", "keyword", "semantic"])
            return "search_code", {"query": question, "search_mode": mode, "limit": 5}
        if lot < 0.80 and self._found:
            return "aurora_retrieve", {"id": self._chance.choice(self._found)}
        if lot < 0.83:
            return "aurora_status", {}
        about = " ".join(self._chance.sample(WORDS, 4))
        text = f"Number {number} of this run: {about}"
        if lot < 0.92:
            return "aurora_ingest", {"content": text, "namespace": "load"}
        return "aurora_learn", {"text": text}

    async def come(self, clients: int, calls: int, first: int) -> None:
        """So many clients, who share so many calls."""
        numbers = iter(range(first, first + calls))
        async with anyio.create_task_group() as group:
            for _ in range(clients):
                group.start_soon(self._stay, numbers)

    async def _stay(self, numbers: Iterator[int]) -> None:
        async with Client(self._url) as client:
            for number in numbers:
                tool, arguments = self.draw(number)
                began = time.perf_counter()
                result = await client.call_tool(tool, arguments)
                self.seconds[tool].append(time.perf_counter() - began)
                assert isinstance(result, CallToolResult)
                self._remember(tool, arguments, result)

    def _remember(self, tool: str, arguments: Mapping[str, object], result: CallToolResult) -> None:
        answer = result.structured_content
        if result.is_error or answer is None:
            self.errors.append(f"{tool} {arguments}: {result.content}")
        elif tool in ("aurora_ingest", "aurora_learn"):
            text = str(arguments.get("content") or arguments["text"])
            self.written[str(answer["id"])] = text
        elif "documents" in answer:
            self._found = [found["id"] for found in answer["documents"]] or self._found

    async def count_lost(self) -> int:
        """Writes that were answered, and are not there as they were written."""
        lost = 0
        async with Client(self._url) as client:
            for id_, text in self.written.items():
                result = await client.call_tool("aurora_retrieve", {"id": id_})
                assert isinstance(result, CallToolResult)
                kept = result.structured_content
                lost += kept is None or kept["content"] != text
        return lost


@contextmanager
def serving(project: Path, environ: Mapping[str, str]) -> Iterator[str]:
    server = subprocess.Popen(
        [AUR, "mcp", "--http", "--port", "0"],
        cwd=project, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    told = server.stderr.readline()
    try:
        yield told.rpartition(" at ")[2].strip()
    finally:
        server.send_signal(signal.SIGINT)
        rest = server.communicate()[1]
        if complaints := [line for line in rest.splitlines() if line != "Stopped"]:
            print("\n".join(complaints))


@contextmanager
def indexing(project: Path, environ: Mapping[str, str]) -> Iterator[list[int]]:
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

    beside = threading.Thread(target=work)
    beside.start()
    try:
        yield statuses
    finally:
        over.set()
        beside.join()


def make_memory(target: Path, chunks: int, environ: Mapping[str, str]) -> None:
    startup.CHUNKS = chunks
    target.mkdir()
    startup.copy_library(target)
    for words in (["init"], ["mem", "index", ".", "--no-git"]):
        subprocess.run([AUR, *words], cwd=target, env=environ, check=True, capture_output=True)


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = min(int(len(ordered) * 0.95), len(ordered) - 1)
    return {
        "calls": len(ordered),
        "p50": round(1e3 * statistics.median(ordered), 1),
        "p95": round(1e3 * ordered[at], 1),
    }


def report(title: str, crowd: Crowd, pace: float, runs: int) -> dict[str, object]:
    every = [one for some in crowd.seconds.values() for one in some]
    rows = {**{name: milliseconds(some) for name, some in sorted(crowd.seconds.items())}}
    rows["all"] = milliseconds(every)
    written = len(crowd.written)
    print(f"{title}: {pace:.0f} calls/s, {written} written, {runs} runs of indexing meanwhile")
    for name, row in rows.items():
        calls, p50, p95 = row.values()
        print(f"  {name:<18}{calls:>7,} calls  p50 {p50:>8} ms  p95 {p95:>8} ms")
    print("\n".join(crowd.errors[:5]))
    facts = {"calls_per_second": round(pace, 1), "written": written, "index_runs": runs}
    return {**facts, "milliseconds": rows}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--clients", type=int, default=WHOLE_RUN[0])
    options.add_argument("--calls", type=int, default=WHOLE_RUN[1])
    options.add_argument("--chunks", type=int, default=WHOLE_RUN[2])
    options.add_argument("--crowd", action="store_true", help="without the one that calls alone")
    options.add_argument("--store-url", default="", help="of a PostgreSQL that has pgvector")
    given = options.parse_args()
    share = given.calls // 10
    scenes = [] if given.crowd else [Scene(1, share, False), Scene(1, share, True)]
    scenes.append(Scene(given.clients, given.calls, True))
    with tempfile.TemporaryDirectory() as folder:
        measured, errors, lost = measure(
            Path(folder), given.chunks, scenes, store_url=given.store_url
        )
    print(f"{errors} errors, {lost} lost writes")
    if errors or lost:
        raise SystemExit(1)
    is_whole = (given.clients, given.calls, given.chunks) == WHOLE_RUN and not given.crowd
    if is_whole and not given.store_url:
        facts = {"chunks": given.chunks, "measured": measured}
        record.save("mcp-load", facts, packages=["mcp"])


class Scene(NamedTuple):
    """So many clients, who share so many calls, perhaps while another process indexes."""

    clients: int
    calls: int
    is_busy: bool

    @property
    def title(self) -> str:
        beside = ", beside an index" if self.is_busy else ""
        return f"{self.clients} client{'s' if self.clients > 1 else ''}{beside}"


def measure(
    folder: Path, chunks: int, scenes: Sequence[Scene], *, store_url: str = ""
) -> tuple[dict[str, object], int, int]:
    """What calls took, how many went wrong, and how many writes are not there."""
    own = {"HOME": str(folder), "AURORA_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    environ = {"PATH": os.environ["PATH"], **own}
    if store_url:
        environ["AURORA_STORE_URL"] = store_url
    project = folder / "library"
    make_memory(project, chunks, environ)
    measured: dict[str, object] = {}
    errors = lost = 0
    with serving(project, environ) as url:
        anyio.run(Crowd(url).come, 1, 20, -100)  # warm
        for number, scene in enumerate(scenes, start=1):
            crowd = Crowd(url)
            beside = indexing(project, environ) if scene.is_busy else nullcontext([])
            began = time.perf_counter()
            with beside as statuses:
                anyio.run(crowd.come, scene.clients, scene.calls, number * 1_000_000)
                pace = scene.calls / (time.perf_counter() - began)
            measured[scene.title] = report(scene.title, crowd, pace, len(statuses))
            errors += len(crowd.errors) + sum(map(bool, statuses))
            lost += anyio.run(crowd.count_lost)
    return measured, errors, lost


if __name__ == "__main__":
    main()
