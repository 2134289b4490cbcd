"""Better vectors follow in the background: where a person waits, once, and to the end."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest

from aurora.indexing.embedding import QUICK_FROM
from aurora.platforms import is_running
from aurora.stores.base import Work
from aurora.types import Progress
from tests.builders import write_tree
from tests.cli.conftest import AUR, NOTICE_SHOWN, Shell
from tests.cli.screen import Terminal

pytestmark = pytest.mark.one_store("about processes")

SHALLOW, DEEP = "aurora/shallow", "aurora/deep"


@pytest.fixture
def many(shell: Shell) -> Shell:
    """A project with enough chunks for quick vectors."""
    functions = (f"def work_{n}():\n    return {n}\n" for n in range(QUICK_FROM))
    write_tree(shell.cwd, {"many.py": "\n\n".join(functions)})
    return shell


@pytest.fixture
def quick(many: Shell) -> Shell:
    many.ok("index", "--quick")
    return many


def embedder(shell: Shell) -> str:
    return str(json.loads(shell.ok("mem", "stats", "--json"))["embedder"]["name"])


def wait_for_better_vectors(shell: Shell) -> None:
    until = time.monotonic() + 120
    while embedder(shell) != DEEP:
        assert time.monotonic() < until, "no better vectors follow"
        time.sleep(0.1)


def test_on_a_terminal_they_follow_after_the_terminal_is_closed(many: Shell) -> None:
    env = {"AURORA_HOME": str(many.home), **NOTICE_SHOWN, **many.environ}
    terminal = Terminal([AUR, "index"], cwd=many.cwd, env=env, columns=500)
    assert terminal.wait() == 0
    told = re.search(r"Better vectors follow in the background \(process \d+\)", terminal.written)
    assert told, terminal.written
    assert many.ok("search", "work_7").startswith("many.py")
    wait_for_better_vectors(many)


def test_a_script_waits_for_them_and_leaves_no_process(many: Shell) -> None:
    done = many.run("index")
    assert "in the background" not in done.stderr
    assert embedder(many) == DEEP


def test_a_script_may_leave_them_to_the_background(many: Shell) -> None:
    told = re.search(r"process (\d+)", many.run("index", "--no-wait").stderr)
    assert told
    assert is_running(int(told[1]))
    wait_for_better_vectors(many)
    assert "in the background" not in many.run("index", "--no-wait").stderr


def test_ci_waits_also_on_a_terminal(many: Shell) -> None:
    env = {"AURORA_HOME": str(many.home), **NOTICE_SHOWN, "CI": "true"}
    terminal = Terminal([AUR, "index"], cwd=many.cwd, env=env)
    assert terminal.wait() == 0
    assert embedder(many) == DEEP


def test_they_are_never_made_twice_at_a_time(quick: Shell) -> None:
    with quick.store() as store, store.alone(Work.VECTORS):
        done = quick.run("mem", "improve", "--background")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert embedder(quick) == SHALLOW


def test_an_index_run_does_not_wait_for_them(quick: Shell) -> None:
    write_tree(quick.cwd, {"new.py": "def wake_numbats(): pass\n"})
    with quick.store() as store, store.alone(Work.VECTORS):
        quick.ok("index", "--quick")
        assert quick.ok("search", "wake numbats").startswith("new.py")
    assert quick.ok("mem", "improve") == f"{QUICK_FROM + 1:,} better vectors made\n"
    assert quick.ok("mem", "improve") == "0 better vectors made\n"


def test_stats_and_doctor_show_how_far_they_are(quick: Shell) -> None:
    assert "better ones  not made yet; `aur mem index` makes them" in quick.ok("mem", "stats")
    assert "Better vectors are still to be made" in quick.run("doctor", "--quick").stdout
    with quick.store() as store, store.alone(Work.VECTORS) as tell:
        tell(Progress("Embedding", 412, 1_000))
        assert "better ones  412 of 1,000 made in the background" in quick.ok("mem", "stats")
        stats = json.loads(quick.ok("mem", "stats", "--json"))
        assert stats["improving"] == {"task": "Embedding", "done": 412, "total": 1_000}
        told = quick.run("doctor", "--quick").stdout
        assert "Better vectors: 412 of 1,000 made in the background" in told
    quick.ok("mem", "improve")
    assert "better ones" not in quick.ok("mem", "stats")
    assert json.loads(quick.ok("mem", "stats", "--json"))["improvable"] is False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_process_leaves_a_memory_that_the_next_one_completes(
    quick: Shell, number: signal.Signals
) -> None:
    with quick.start("mem", "improve", "--background") as running:
        running.send_signal(number)
    assert quick.ok("search", "work_7").startswith("many.py")
    quick.ok("index")
    assert embedder(quick) == DEEP
