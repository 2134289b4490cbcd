"""Many agents at one server, with worker processes for searches and without, in turns.

    python benchmarks/load/workers.py [--clients 20] [--calls 150] [--rounds 3] [--chunks 5000]

Two real `aur mcp --http` serve copies of a memory of Python's own library; one has `mcp.workers` 0.
So many clients of the SDK call them, drawn by lot as in `crowd.py`: first once to warm up, which
starts the workers, then in turns. The clients share the cores with the servers. What counts on a
machine that others use, too, is the CPU time of a call: of the server's own process, which is the
most that one core can give, and of all its processes. An error or a lost write fails the run.

A run with the numbers above or larger ones writes benchmarks/results/workers-<commit>.json.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import anyio
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from load.crowd import Crowd
from load.figures import by_tool
from load.servers import Server, aurora_serving, environment, make_memory
from load.tongues import Aurora

WHOLE = {"clients": 20, "calls": 150, "rounds": 3, "chunks": 5000}
WAYS = {"without workers": "0", "with workers": "2"}
Round = Mapping[str, float]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in WHOLE.items():
        options.add_argument(f"--{name}", type=int, default=default)
    given = options.parse_args()
    rounds: dict[str, list[Round]] = defaultdict(list)
    wrong = 0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        servers = start_servers(Path(name), given.chunks, stack)
        for server in servers.values():
            run(server, given.clients, range(-given.calls, 0))
        for turn in range(1, given.rounds + 1):
            for way, server in servers.items():
                numbers = range(turn * 1_000_000, turn * 1_000_000 + given.calls)
                measured, faults = run(server, given.clients, numbers)
                rounds[way].append(measured)
                wrong += faults
    medians = {
        way: {key: round(statistics.median(each[key] for each in of), 1) for key in of[0]}
        for way, of in rounds.items()
    }
    for way, row in medians.items():
        print(way, "  ".join(f"{key} {value}" for key, value in row.items()))
    print(f"{wrong} errors and lost writes")
    if wrong:
        raise SystemExit(1)
    if all(getattr(given, key) >= WHOLE[key] for key in WHOLE):
        busy = [round(each, 1) for each in os.getloadavg()]  # others may use this machine, too
        facts = {"options": vars(given), "load_average": busy, "medians": medians}
        record.save("workers", facts, packages=["mcp"])


def start_servers(folder: Path, chunks: int, stack: ExitStack) -> dict[str, Server]:
    make_memory(folder / "first" / "library", chunks, environment(folder / "first"))
    servers = {}
    for number, (way, workers) in enumerate(WAYS.items()):
        place = shutil.copytree(folder / "first", folder / str(number))
        environ = environment(place, AURORA_MCP_WORKERS=workers)
        servers[way] = stack.enter_context(aurora_serving(place / "library", environ))
    return servers


def run(server: Server, clients: int, numbers: range) -> tuple[Round, int]:
    """What the calls took, in milliseconds, and how many of them went wrong."""
    crowd, own = Crowd(server.url, Aurora()), psutil.Process(server.pid)
    before, began = cpu_times(own), time.perf_counter()
    anyio.run(crowd.come, clients, iter(numbers))
    seconds, after = time.perf_counter() - began, cpu_times(own)
    used = {each: after[each] - before.get(each, 0.0) for each in after}
    times, count = by_tool(crowd.calls)["all"], len(numbers)
    faults = len(crowd.errors) + anyio.run(crowd.count_lost)
    measured = {
        "calls_per_second": count / seconds,
        "p50": times["p50"],
        "p95": times["p95"],
        "cpu_of_server": 1e3 * used[own.pid] / count,
        "cpu_of_all": 1e3 * sum(used.values()) / count,
        "mib": sum(each.memory_full_info().pss for each in family(own)) / (1 << 20),
    }
    return measured, faults


def family(own: psutil.Process) -> list[psutil.Process]:
    return [own, *own.children()]


def cpu_times(own: psutil.Process) -> dict[int, float]:
    return {each.pid: sum(each.cpu_times()[:2]) for each in family(own)}


if __name__ == "__main__":
    main()
