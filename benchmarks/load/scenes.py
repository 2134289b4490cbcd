"""Many agents at one server: how long calls take, beside one agent alone, and that nothing is lost.

    python benchmarks/load/scenes.py [--clients 50] [--calls 2000] [--chunks 10000]

A real `aur mcp --http` serves a memory of Python's own library. One client of the SDK calls alone;
then alone while another process edits files and runs `aur mem index` over and over; then so many
clients at once, while it still does. Calls are drawn by lot: searches of all kinds, reads, writes.
Clients share this machine's cores with the server, so their own work is in the times. Any error,
and any write that was answered and is not there afterwards, fails the run.

A run of 50 clients, 2,000 calls and 10,000 chunks writes benchmarks/results/mcp-load-<commit>.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from load.crowd import Crowd
from load.figures import by_tool, show
from load.servers import aurora_serving, environment, indexing, make_memory
from load.tongues import Aurora

WHOLE_RUN = (50, 2000, 10_000)


class Scene(NamedTuple):
    """So many clients, who share so many calls, perhaps while another process indexes."""

    clients: int
    calls: int
    is_busy: bool

    @property
    def title(self) -> str:
        beside = ", beside an index" if self.is_busy else ""
        return f"{self.clients} client{'s' if self.clients > 1 else ''}{beside}"


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


def measure(
    folder: Path, chunks: int, scenes: Sequence[Scene], *, store_url: str = ""
) -> tuple[dict[str, object], int, int]:
    """What calls took, how many went wrong, and how many writes are not there."""
    environ = environment(folder, **({"AURORA_STORE_URL": store_url} if store_url else {}))
    project = folder / "library"
    make_memory(project, chunks, environ)
    measured: dict[str, object] = {}
    errors = lost = 0
    with aurora_serving(project, environ) as server:
        anyio.run(Crowd(server.url, Aurora()).come, 1, iter(range(20)))  # warm
        for number, scene in enumerate(scenes, start=1):
            crowd = Crowd(server.url, Aurora())
            numbers = iter(range(number * 1_000_000, number * 1_000_000 + scene.calls))
            beside = indexing(project, environ) if scene.is_busy else nullcontext([])
            began = time.perf_counter()
            with beside as statuses:
                anyio.run(crowd.come, scene.clients, numbers)
                pace = scene.calls / (time.perf_counter() - began)
            measured[scene.title] = report(scene.title, crowd, pace, len(statuses))
            errors += len(crowd.errors) + sum(map(bool, statuses))
            lost += anyio.run(crowd.count_lost)
    return measured, errors, lost


def report(title: str, crowd: Crowd, pace: float, runs: int) -> dict[str, object]:
    rows = by_tool(crowd.calls)
    written = len(crowd.kept) + len(crowd.forgotten)
    show(f"{title}: {pace:.0f} calls/s, {written} written, {runs} runs of indexing", rows)
    print("\n".join(crowd.errors[:5]))
    facts = {"calls_per_second": round(pace, 1), "written": written, "index_runs": runs}
    return {**facts, "milliseconds": rows}


if __name__ == "__main__":
    main()
