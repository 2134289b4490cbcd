"""Better vectors follow in the background: where a person waits, once, and to the end."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

from aurora.indexing.embedding import QUICK_FROM
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


def embedder(shell: Shell) -> str:
    return str(json.loads(shell.ok("mem", "stats", "--json"))["embedder"]["name"])


def test_on_a_terminal_they_follow_in_the_background(many: Shell) -> None:
    env = {"AURORA_HOME": str(many.home), **NOTICE_SHOWN, **many.environ}
    terminal = Terminal([AUR, "index"], cwd=many.cwd, env=env, columns=500)
    assert terminal.wait() == 0
    told = re.search(r"follow in the background \(process (\d+)\)", terminal.written)
    assert told, terminal.written
    os.kill(int(told[1]), signal.SIGTERM)  # it yields to all others and may take its time
    assert "work_7 " in many.ok("search", "work_7")
    many.ok("mem", "improve")
    assert embedder(many) == DEEP
    assert "in the background" not in many.run("index", "--no-wait").stderr


def test_ci_waits_for_them_also_on_a_terminal(many: Shell) -> None:
    env = {"AURORA_HOME": str(many.home), **NOTICE_SHOWN, "CI": "true"}
    terminal = Terminal([AUR, "index"], cwd=many.cwd, env=env)
    assert terminal.wait() == 0
    assert embedder(many) == DEEP


def test_one_process_makes_them_beside_searches_and_index_runs(many: Shell) -> None:
    many.ok("index", "--quick")
    assert "better ones  not made yet; `aur mem index` makes them" in many.ok("mem", "stats")
    write_tree(many.cwd, {"new.py": "def wake_numbats(): pass\n"})
    with many.store() as store, store.alone(Work.VECTORS) as tell:
        tell(Progress("Embedding", 412, 1_000))
        assert "better ones  412 of 1,000 made in the background" in many.ok("mem", "stats")
        text = "Better vectors: 412 of 1,000 made in the background"
        assert text in many.run("doctor", "--quick").stdout

        done = many.run("mem", "improve", "--background")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        many.ok("index", "--quick")
        assert "new.py" in many.ok("search", "wake numbats")
        assert embedder(many) == SHALLOW
    assert re.fullmatch(r"10\d\d better vectors made\n", many.ok("mem", "improve"))
    assert many.ok("mem", "improve") == "0 better vectors made\n"
    stats = json.loads(many.ok("mem", "stats", "--json"))
    assert (stats["improving"], stats["improvable"]) == (None, False)
