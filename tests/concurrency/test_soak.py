"""Many use one memory at once, by every door, at random: nothing is lost, and nothing comes back.

Two processes of two threads each use the engine; beside them somebody types commands, an agent
talks to a server, and settings change. `AURORA_SOAK_SECONDS` has it go on for longer, and
`AURORA_SOAK_SEED`, which a run tells when it fails, draws the same deeds again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client

from aurora import Memory, Places
from tests.builders import write_tree
from tests.cli.conftest import Shell, settle
from tests.concurrency.doors import Agent, CommandLine, Door
from tests.concurrency.ending import require_current_indexes, require_known, require_whole
from tests.concurrency.files import FILES
from tests.concurrency.hands import Hand, Known
from tests.concurrency.watchdog import Watchdog
from tests.mcp.conftest import Project

SECONDS = float(os.environ.get("AURORA_SOAK_SECONDS", "5"))
SEED = int(os.environ.get("AURORA_SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
ROOT = Path(__file__).parents[2]


@dataclass
class Outcome:
    """What all hands together knew, did and met."""

    known: list[Known] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, known: Known, counts: dict[str, int], faults: list[str]) -> None:
        self.known.append(known)
        self.counts.update(counts)
        self.faults += faults


class Worker:
    """A process of `worker`, whose lines are read as they come."""

    def __init__(self, shell: Shell, scratch: Path, name: str, watchdog: Watchdog) -> None:
        places = [str(shell.home), str(shell.cwd), str(scratch)]
        told = {"places": places, "name": name, "seed": SEED, "seconds": SECONDS}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.worker", json.dumps(told)],
            cwd=ROOT, env=shell.environment, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        self._watchdog = watchdog
        self.ends: list[dict[str, object]] = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._watchdog.beat()
                facts = json.loads(line)
                if "known" in facts:
                    self.ends.append(facts)


@contextmanager
def agent_door(project: Project) -> Iterator[Door]:
    with (
        project.listening() as url,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(url)) as client,
    ):
        yield Agent(portal, client)


@pytest.mark.long
@pytest.mark.timeout(2 * SECONDS + 280)  # what was begun is ended, and looked at
def test_everybody_at_once_loses_nothing(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    print(f"AURORA_SOAK_SEED={SEED} AURORA_SOAK_SECONDS={SECONDS:g}")  # noqa: T201
    shell = Shell(write_tree(tmp_path / "project", FILES), tmp_path / "user" / "home")
    settle(shell, backend, request)
    shell.ok("init")
    shell.ok("mem", "index", ".", "--no-git")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    outcome = use(shell, scratch)

    print(  # noqa: T201 - pytest shows it where something fails, and with -s
        "\n".join(f"{count:7,} {deed}" for deed, count in sorted(outcome.counts.items()))
    )
    assert outcome.faults == [], "\n\n".join(outcome.faults)
    with Memory(Places(shell.home, shell.cwd)) as memory:
        memory.index(shell.cwd, git=False)
        memory.admin.reembed()
        require_whole(memory)
        require_known(memory, outcome.known)
        require_current_indexes(
            memory, [words[0] for known in outcome.known for words in known.kept.values()]
        )
        require_files(memory, shell, tmp_path)


def use(shell: Shell, scratch: Path) -> Outcome:
    """Everybody at once; returns when all have ended."""
    watchdog, outcome, until = Watchdog(), Outcome(), time.monotonic() + SECONDS
    with ExitStack() as stack:
        workers = [Worker(shell, scratch, name, watchdog) for name in ("one", "two")]
        for worker in workers:
            stack.callback(worker.process.kill)
        doors: dict[str, Door] = {
            "typed": CommandLine(shell, scratch),
            "agent": stack.enter_context(agent_door(Project(shell))),
        }
        hands = [
            Hand(name, door, random.Random(f"{SEED} {name}"), lambda *_: watchdog.beat())  # noqa: S311
            for name, door in doors.items()
        ]
        is_late = lambda: time.monotonic() > until  # noqa: E731
        threads = [
            threading.Thread(target=hand.work, args=(is_late,), daemon=True) for hand in hands
        ]
        for thread in threads:
            thread.start()
        waiting = [*threads, *(worker.thread for worker in workers)]
        watchdog.wait(
            lambda: not any(thread.is_alive() for thread in waiting),
            [worker.process.pid for worker in workers],
        )
        assert [worker.process.wait() for worker in workers] == [0, 0]
    for worker in workers:
        for end in worker.ends:
            known = end["known"]
            assert isinstance(known, dict)
            outcome.add(
                Known(known["kept"], known["gone"], set(known["unsure"])),
                end["counts"],  # type: ignore[arg-type]
                end["faults"],  # type: ignore[arg-type]
            )
    for hand in hands:
        outcome.add(hand.known, hand.counts, hand.faults)
    return outcome


def require_files(memory: Memory, shell: Shell, folder: Path) -> None:
    """Of the files the memory knows what a fresh one would."""
    fresh = Shell(folder / "fresh", folder / "user" / "other")
    write_tree(
        fresh.cwd, {str(f.relative_to(shell.cwd)): f.read_bytes() for f in shell.cwd.rglob("*.py")}
    )
    fresh.ok("init")
    fresh.ok("mem", "index", ".", "--no-git")
    with Memory(Places(fresh.home, fresh.cwd)) as other:
        wanted = {chunk.id: chunk.content for chunk in other.admin.chunks()}
    assert {chunk.id: chunk.content for chunk in memory.admin.chunks() if chunk.path} == wanted
