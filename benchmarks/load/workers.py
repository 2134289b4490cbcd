"""Many agents at one server, with worker processes for searches and without, in turns.

    python benchmarks/load/workers.py [--clients 20] [--calls 300] [--rounds 3] [--chunks 5000]
        [--before FOLDER]

Real `aur mcp --http` serve memories of Python's own library, with `mcp.workers` 0, 1 and 2; with
--before also one of the sources in another folder, such as the `src` of an earlier commit. So many
clients call them, drawn by lot as in `crowd.py`: first once to warm up, which starts the workers,
then in turns. A client calls again as soon as it is answered, on a connection that it keeps
(`lean.py`), in a process of its own that shares the cores with the servers.

On a machine that others use, too, the CPU time of a call counts: of the server's own process, which
is the most that one core can give, of all its processes, and of the clients. Every answer is
checked; an error or a lost write fails the run.

A run with the numbers above or larger ones writes benchmarks/results/workers-<commit>.json.
"""

from __future__ import annotations

import argparse
import os
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
from load.lean import LeanClient
from load.servers import MIB, Server, aurora_serving, environment, make_memory
from load.tongues import Aurora

WHOLE = {"clients": 20, "calls": 300, "rounds": 3, "chunks": 5000}
Round = Mapping[str, float]


def main() -> None:
    given = read_options()
    rounds: dict[str, list[Round]] = defaultdict(list)
    wrong = 0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        servers = start_servers(Path(name), given, stack)
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
        options = {key: getattr(given, key) for key in WHOLE}
        facts = {"options": options, "load_average": busy, "medians": medians}
        record.save("workers", facts, packages=["mcp"])


def read_options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in WHOLE.items():
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--before", type=Path, metavar="FOLDER")
    return options.parse_args()


def start_servers(folder: Path, given: argparse.Namespace, stack: ExitStack) -> dict[str, Server]:
    """Each with a memory of its own; they share the cache of vectors, as those of one user."""
    ways = {f"{number} workers": {"AURORA_MCP_WORKERS": str(number)} for number in range(3)}
    if given.before:
        ways = {"before": {"PYTHONPATH": str(given.before.resolve())}, **ways}
    servers = {}
    for number, (way, variables) in enumerate(ways.items()):
        project, environ = folder / f"library{number}", environment(folder, **variables)
        make_memory(project, given.chunks, environ)
        servers[way] = stack.enter_context(aurora_serving(project, environ))
    return servers


def run(server: Server, clients: int, numbers: range) -> tuple[Round, int]:
    """What the calls took, in milliseconds, and how many of them went wrong."""
    crowd, own = Crowd(server.url, Aurora(), client=LeanClient), psutil.Process(server.pid)
    before, began, used_here = cpu_times(own), time.perf_counter(), time.process_time()
    anyio.run(crowd.come, clients, iter(numbers))
    seconds, after = time.perf_counter() - began, cpu_times(own)
    of_clients = time.process_time() - used_here
    used = {each: after[each] - before.get(each, 0.0) for each in after}
    times, count = by_tool(crowd.calls)["all"], len(numbers)
    faults = len(crowd.errors) + anyio.run(crowd.count_lost)
    print("\n".join(crowd.errors[:5]), end="")
    memory = [each.memory_full_info() for each in family(own)]
    measured = {
        "calls_per_second": count / seconds,
        "p50": times["p50"],
        "p95": times["p95"],
        "cpu_of_server": 1e3 * used[own.pid] / count,
        "cpu_of_all": 1e3 * sum(used.values()) / count,
        "cpu_of_clients": 1e3 * of_clients / count,
        "mib_of_server": memory[0].uss / MIB,
        "mib_of_a_worker": max((each.uss for each in memory[1:]), default=0) / MIB,
        "mib_of_all": sum(each.pss for each in memory) / MIB,
    }
    return measured, faults


def family(own: psutil.Process) -> list[psutil.Process]:
    return [own, *own.children()]


def cpu_times(own: psutil.Process) -> dict[int, float]:
    return {each.pid: sum(each.cpu_times()[:2]) for each in family(own)}


if __name__ == "__main__":
    main()
