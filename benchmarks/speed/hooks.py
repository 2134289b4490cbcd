"""How long an agent waits for `aur hook`, with a server of the project at work and without one.

    python benchmarks/speed/hooks.py [--rounds 40]

The events are those of Claude Code. In every round each of them is answered once by the hook itself
and once by a running `aur mcp`, in an order that moves on by one, beside `python -c pass` and
`python -c "import numpy"`. Every call has a session of its own, so that nothing was given before.
Wall time is that of the whole process; CPU time is that of the process and of those that it
started. What the server spends on a call is told apart.

The memory holds at least 10,000 chunks of Python's own library, in a repository of one commit, and
six lessons about its files and commands. It is made anew in a temporary folder, since the path of a
socket must be short. A run of at least 30 rounds writes benchmarks/results/hooks-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import startup

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record

_FOLDER = tempfile.TemporaryDirectory(prefix="hooks-", dir="/tmp")  # removed at the end
FOLDER = Path(_FOLDER.name)
PROJECT, HOME = FOLDER / "project", FOLDER / "home"
SOCKET = PROJECT / ".aurora" / "run" / "hooks.sock"
AUR = Path(sys.executable).with_name("aur")
WHOLE_RUN = 30  # rounds: fewer are a look, not a result
GOALS = {"cpu": 150.0, "wall": 300.0}  # milliseconds, of the median
LESSONS = (
    ("Parse a header line with email.parser, not by hand", "email/parser.py"),
    ("Read the next line with readline: iteration reads ahead", "io.py"),
    ("Run pytest -n 2: with more workers the machine runs out of memory", ""),
    ("Close a tempfile before it is renamed on Windows", "tempfile.py"),
    ("json.loads of untrusted text can raise RecursionError", "json/decoder.py"),
    ("Sort before groupby, or groups come twice", "itertools.py"),
)
SHELL = {"tool_name": "Bash", "tool_input": {"command": "pytest -n 8"}}
EVENTS: Mapping[str, tuple[str, dict[str, object]]] = {
    "start": ("SessionStart", {"source": "startup"}),
    "prompt": ("UserPromptSubmit", {"prompt": "how do I parse the next header line"}),
    "silent prompt": ("UserPromptSubmit", {"prompt": "thanks, go on"}),
    "edit": ("PreToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "tempfile.py"}}),
    "command": ("PreToolUse", SHELL),
    "failure": ("PostToolUseFailure", {**SHELL, "error": "Exit code 1\nMemoryError: worker"}),
    "stop": ("Stop", {}),
}


@dataclass(frozen=True, slots=True)
class Run:
    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds: median and 95th percentile of wall time and of CPU time."""

    wall: float
    wall_95: float
    cpu: float
    cpu_95: float


def environment() -> dict[str, str]:
    own = {"HOME": str(FOLDER), "AURORA_HOME": str(HOME), "LANG": "C.UTF-8"}
    return {"PATH": os.environ["PATH"], **own}


def make_project() -> None:
    """A repository of Python's own files, indexed, with lessons."""
    PROJECT.mkdir()
    startup.copy_library(PROJECT)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *startup.AUTHOR, *words], cwd=PROJECT, check=True)
    aur("init")
    aur("mem", "index", ".")
    for text, file in LESSONS:
        aur("mem", "learn", text, *(("--context", file) if file else ()))
    aur("mem", "search", "header", "line")


def aur(*words: str) -> None:
    subprocess.run(
        [AUR, *words], cwd=PROJECT, env=environment(), check=True, stdout=subprocess.DEVNULL
    )


@contextmanager
def server() -> Iterator[int]:
    """`aur mcp` as an agent starts it; its process."""
    with subprocess.Popen(
        [AUR, "mcp"],
        cwd=PROJECT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while not SOCKET.exists():
            assert process.poll() is None, "the server has ended"
            time.sleep(0.05)
        for number in range(3):  # the first call loads the model
            hook("prompt", f"warm-{number}")
        yield process.pid
        process.terminate()


def hook(event: str, session: str) -> Run:
    name, payload = EVENTS[event]
    usual = {"session_id": session, "cwd": str(PROJECT), "hook_event_name": name}
    return run([AUR, "hook", "claude-code", name], json.dumps({**usual, **payload}).encode())


def run(argv: Sequence[str | Path], content: bytes = b"") -> Run:
    """One process, from its start to its end."""
    start = time.perf_counter()
    child = subprocess.Popen(
        argv, cwd=PROJECT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as stdin:
        stdin.write(content)
    with child.stdout as stdout:
        stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return Run(1e3 * wall, 1e3 * (usage.ru_utime + usage.ru_stime))


def measure(rounds: int) -> tuple[dict[str, Measured], float]:
    """Every call of all rounds, and the CPU milliseconds of the server for one call."""
    python = sys.executable
    runs: dict[str, list[Run]] = {}
    bare = {
        startup.BARE: [python, "-c", "pass"],
        startup.NUMPY: [python, "-c", "import numpy"],
    }
    for number in range(rounds):
        for name, argv in bare.items():
            runs.setdefault(name, []).append(run(argv))
        for event in _moved_on([*EVENTS], number):
            runs.setdefault(f"{event}, by itself", []).append(hook(event, f"alone-{number}"))
    with server() as process:
        before = _cpu_ms(process)
        for number in range(rounds):
            for event in _moved_on([*EVENTS], number):
                runs.setdefault(f"{event}, by a server", []).append(hook(event, f"asked-{number}"))
        spent = (_cpu_ms(process) - before) / (rounds * len(EVENTS))
    return {name: summary(some) for name, some in runs.items()}, round(spent, 1)


def _moved_on(names: list[str], number: int) -> list[str]:
    at = number % len(names)
    return names[at:] + names[:at]


def _cpu_ms(process: int) -> float:
    """What a process has spent, in its own steps of ten milliseconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summary(runs: Sequence[Run]) -> Measured:
    walls, cpus = [one.wall_ms for one in runs], [one.cpu_ms for one in runs]
    return Measured(
        round(statistics.median(walls), 1),
        round(statistics.quantiles(walls, n=20)[-1], 1),
        round(statistics.median(cpus), 1),
        round(statistics.quantiles(cpus, n=20)[-1], 1),
    )


def report(measured: Mapping[str, Measured], spent: float) -> None:
    heads = ("wall ms", "wall p95", "CPU ms", "CPU p95")
    print(f"{'':<30}" + "".join(f"{head:>10}" for head in heads))
    for name, one in sorted(measured.items(), key=lambda item: item[0].partition(", ")[2]):
        cells = (one.wall, one.wall_95, one.cpu, one.cpu_95)
        print(f"{name:<30}" + "".join(f"{cell:>10.1f}" for cell in cells))
    print(f"the server spends {spent:.1f} ms of CPU on a call")
    asked = [one for name, one in measured.items() if name.endswith("by a server")]
    for what, goal in GOALS.items():
        worst = max(getattr(one, what) for one in asked)
        verdict = "reached" if worst <= goal else "MISSED"
        print(f"{what}: {worst:.0f} ms at most with a server; the goal is {goal:g}: {verdict}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=40)
    rounds = options.parse_args().rounds
    make_project()
    print(f"{rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    measured, spent = measure(rounds)
    report(measured, spent)
    if rounds >= WHOLE_RUN:
        results = {name: asdict(one) for name, one in measured.items()}
        facts = {"rounds": rounds, "server_cpu_ms": spent, "load": os.getloadavg()[0]}
        record.save("hooks", {**facts, "calls": results})
    else:
        print(f"no file written: that takes {WHOLE_RUN} rounds")


if __name__ == "__main__":
    main()
