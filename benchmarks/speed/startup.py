"""How long whole commands take, from the start of the process to its end, beside bare Python.

    python benchmarks/speed/startup.py [--rounds 40] [--python PATH]

`python -c pass` and `python -c "import numpy"` are what nobody can be quicker than, and what a
program that needs numpy begins with. In every round each of them and each command runs once, in an
order that moves on by one, so that noise hits all alike; what counts is the median. `aur` is the
script beside the Python that is asked: `--python` names that of another installation.

The memory holds at least 10,000 chunks of Python's own library, in a repository of one commit. It
is made once by `aur mem index` and kept in benchmarks/.cache/startup; delete that to make it anew.
Its files are in the page cache, as after any use. One search has a settings file to read as well.

A run of at least 30 rounds writes benchmarks/results/startup-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aurora.parsers.registry import parser_for
from aurora.types import Document

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record

CACHE = record.BENCHMARKS / ".cache" / "startup"
PROJECT, HOME, HOME_WITH_SETTINGS = CACHE / "project", CACHE / "home", CACHE / "home-with-settings"
CHUNKS = 200 if "AURORA_BENCHMARK_TINY" in os.environ else 10_000
WHOLE_RUN = 30  # rounds: fewer are a look, not a result
SETTINGS = (
    "# Written by hand.\nui:\n  default_search_format: enhanced\n"  # no other ranking: one index
)
QUESTION = ("read", "the", "next", "header", "line")
AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
BARE, NUMPY = "python -c pass", 'python -c "import numpy"'
SEARCH, SEARCH_WITH_SETTINGS = "aur mem search", "aur mem search, config.yml"
GOALS = (("aur --help", BARE, 4.0), (SEARCH, NUMPY, 1.5), (SEARCH_WITH_SETTINGS, NUMPY, 1.5))


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, and whose settings it reads."""

    argv: Sequence[str | Path]
    home: Path = HOME


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds: the median and the quartiles of wall time, and the median of CPU time."""

    median: float
    quartiles: tuple[float, float]
    cpu: float


def make_project(aur: Path) -> None:
    """A repository of Python's own files, indexed."""
    if (PROJECT / ".aurora" / "indexes" / "bm25.idx").exists():
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    PROJECT.mkdir(parents=True)
    copy_library(PROJECT)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *AUTHOR, *words], cwd=PROJECT, check=True)
    HOME_WITH_SETTINGS.mkdir()
    (HOME_WITH_SETTINGS / "config.yml").write_text(SETTINGS, encoding="utf-8")
    run(Command((aur, "init")))  # or a memory further up would be used
    run(Command((aur, "mem", "index", ".")))


def copy_library(target: Path) -> None:
    """Files of the standard library in an order drawn by lot, until there are chunks enough."""
    library = Path(sysconfig.get_path("stdlib"))
    files = sorted(file for file in library.rglob("*.py") if "site-packages" not in file.parts)
    random.Random(CHUNKS).shuffle(files)  # noqa: S311 - not for secrets
    count = 0
    for file in files:
        name, text = file.relative_to(library), file.read_text("utf-8", errors="replace")
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
        count += len(parser_for(str(name)).parse(Document(str(name), text)).chunks)
        if count >= CHUNKS:
            break


def commands(python: Path) -> dict[str, Command]:
    aur = python.with_name("aur")
    search = (aur, "mem", "search", *QUESTION)
    return {
        BARE: Command((python, "-c", "pass")),
        NUMPY: Command((python, "-c", "import numpy")),
        "aur --help": Command((aur, "--help")),
        "aur --version": Command((aur, "--version")),
        "aur mem search --help": Command((aur, "mem", "search", "--help")),
        "aur config get KEY": Command((aur, "config", "get", "search.bm25.k1")),
        "aur mem stats": Command((aur, "mem", "stats")),
        "aur mem get ID": Command((aur, "mem", "get", first_id(aur))),
        SEARCH: Command(search),
        SEARCH_WITH_SETTINGS: Command(search, HOME_WITH_SETTINGS),
    }


def first_id(aur: Path) -> str:
    """FILE:NAME of the first result."""
    table = run(Command((aur, "mem", "search", "--table", *QUESTION))).output
    cells = [cell.strip() for cell in table.splitlines()[2].split(" | ")]
    return f"{cells[0]}:{cells[2]}"


@dataclass(frozen=True, slots=True)
class Run:
    wall_ms: float
    cpu_ms: float
    output: str


def run(command: Command) -> Run:
    """One process, from its start to its end; what it prints is read."""
    own = {"HOME": str(CACHE), "AURORA_HOME": str(command.home), "LANG": "C.UTF-8"}
    start = time.perf_counter()
    child = subprocess.Popen(
        command.argv,
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    with child.stdout as stream:
        output = stream.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, command.argv))} failed")
    return Run(1e3 * wall, 1e3 * (usage.ru_utime + usage.ru_stime), output)


def measure(asked: Mapping[str, Command], rounds: int) -> dict[str, Measured]:
    runs: dict[str, list[Run]] = {name: [] for name in asked}
    for name in asked:
        run(asked[name])  # bytecode is written, files are in the cache
    order = list(asked)
    for _ in range(rounds):
        order.append(order.pop(0))
        for name in order:
            runs[name].append(run(asked[name]))
    return {name: summary(some) for name, some in runs.items()}


def summary(runs: Sequence[Run]) -> Measured:
    low, middle, high = statistics.quantiles((one.wall_ms for one in runs), n=4)
    cpu = statistics.median(one.cpu_ms for one in runs)
    return Measured(round(middle, 2), (round(low, 2), round(high, 2)), round(cpu, 2))


def report(measured: Mapping[str, Measured]) -> None:
    heads = ("median ms", "quartiles", "CPU ms", "to bare", "to numpy")
    print(f"{'':<28}" + "".join(f"{head:>14}" for head in heads))
    for name, one in measured.items():
        ratios = (one.median / measured[base].median for base in (BARE, NUMPY))
        spread = f"{one.quartiles[0]:.1f}-{one.quartiles[1]:.1f}"
        cells = (f"{one.median:.1f}", spread, f"{one.cpu:.1f}", *(f"{r:.2f}" for r in ratios))
        print(f"{name:<28}" + "".join(f"{cell:>14}" for cell in cells))
    for name, base, goal in GOALS:
        ratio = measured[name].median / measured[base].median
        verdict = "reached" if ratio <= goal else "MISSED"
        print(f"{name}: {ratio:.2f} times {base}; the goal is {goal:g}: {verdict}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--python", type=Path, default=Path(sys.executable))
    given = options.parse_args()
    make_project(given.python.with_name("aur"))
    stats = run(Command((given.python.with_name("aur"), "mem", "stats", "--json"))).output
    chunks = json.loads(stats)["chunks"]
    print(f"{chunks:,} chunks, {given.rounds} rounds")
    measured = measure(commands(given.python), given.rounds)
    report(measured)
    if given.rounds >= WHOLE_RUN and given.python == Path(sys.executable):
        results = {name: asdict(one) for name, one in measured.items()}
        record.save("startup", {"chunks": chunks, "rounds": given.rounds, "commands": results})
    else:
        print(f"no file written: that takes {WHOLE_RUN} rounds of this very Python")


if __name__ == "__main__":
    main()
