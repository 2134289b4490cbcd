"""ST-1 to ST-20: twenty scripts ask the installed `aur`, and each of them can fail."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shell.scripts import HERE, INSTALLED, SCRIPTS, environment, run_in, run_script

Row = tuple[str, str, str]  # file, type, name

_HEAD = "File | Type | Name | Lines | Score | Commits | Last Modified\n-----+------+-----\n"
_UNRELATED = ("soup.py", "code", "cook")
# By the number of the script: answers that have almost what it looks for.
_ALMOST: dict[int, list[Row]] = {
    1: [("tests/test_orchestrator.py", "class", "TestSOAROrchestrator"),
        ("src/orchestrator.py", "class", "SOAROrchestrator")],
    2: [("login_view.py", "function", "login"),
        ("auth_manager.py", "function", "authenticate_user")],
    3: [("bm25_scorer.py", "method", "BM25Scorer.add"), ("bm25_scorer.py", "class", "BM25Scorer")],
    4: [("memory_store.py", "method", "MemoryStore.chunk_id"),
        ("base_chunk.py", "method", "BaseChunk.chunk_id")],
    5: [("old_hybrid_retriever.py", "class", "HybridRetriever"),
        ("hybrid_retriever.py", "class", "HybridRetriever")],
    6: [("auth_manager.py", "class", "AuthManager"), ("soup.py", "function", "cook")],
    10: [("digits.py", "function", "digit_sum")],
    11: [("a.py", "function", "f"), ("a.py", "class", "A"), ("a.py", "method", "A.m")],
    12: [("a.md", "know", "OAuth"), ("reasoning-1", "reas", "OAuth setup")],
    13: [("reasoning-1", "reas", "Decomposition"), ("a.md", "know", "Decomposition")],
    14: [("search.py", "function", "search"), ("rank.py", "function", "rank")],
    15: [("a.py", "function", "f"), ("a.py", "method", "A.m")],
    17: [("https_connection.py", "code", "module")],
    18: [("a.py", "function", "get_user"), ("b.py", "function", "user_data")],
}  # fmt: skip

names = [script.stem for script in SCRIPTS]
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=names)
FakeAur = Callable[..., Path]


def table(*rows: Row) -> str:
    return _HEAD + "".join(f"{' | '.join(row)} | 1-2 | 0.5 | 1 | 1 day ago\n" for row in rows)


@pytest.fixture
def fake_aur(tmp_path: Path) -> FakeAur:
    """Writes an `aur` that reads files without a word and always gives the same answer."""

    def write(answer: str, status: int = 0) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "aur").write_text(
            f'#!/bin/bash\n[[ $2 == search ]] || exit 0\nprintf "%s" {shlex.quote(answer)}\n'
            f"exit {status}\n",
            encoding="utf-8",
        )
        (folder / "aur").chmod(0o755)
        return folder

    return write


@pytest.fixture
def empty_world(tmp_path: Path) -> Path:
    (tmp_path / "world" / "project").mkdir(parents=True)
    return tmp_path / "world"


def test_there_are_the_twenty_of_the_seed() -> None:
    assert [int(name.split("_")[1]) for name in names] == list(range(1, 21))


@every_script
def test_a_script_passes(script: Path, world: Path) -> None:
    done = run_in(world, script)
    assert (done.returncode, done.stdout) == (0, f"✅ PASS: {script.stem}\n"), done.stderr


@every_script
@pytest.mark.parametrize("answer", ["", table(), table(_UNRELATED)], ids=["none", "empty", "other"])
def test_a_script_fails_when_the_answer_is_wrong(
    script: Path, answer: str, fake_aur: FakeAur, empty_world: Path
) -> None:
    done = run_in(empty_world, script, fake_aur(answer))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"❌ FAIL: {script.stem}")
    assert done.stderr == ""


@pytest.mark.parametrize("number", _ALMOST)
def test_a_script_fails_when_the_answer_is_almost_right(
    number: int, fake_aur: FakeAur, empty_world: Path
) -> None:
    script = SCRIPTS[number - 1]
    done = run_in(empty_world, script, fake_aur(table(*_ALMOST[number])))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"❌ FAIL: {script.stem}")


@every_script
def test_a_script_fails_when_the_command_does(
    script: Path, fake_aur: FakeAur, empty_world: Path
) -> None:
    done = run_in(empty_world, script, fake_aur("out of order\n", status=3))
    assert (done.returncode, f"❌ FAIL: {script.stem}" in done.stdout) == (1, True)


def test_the_path_of_the_home_proves_nothing(fake_aur: FakeAur, tmp_path: Path) -> None:
    """A log is shown with its whole path; who is called "git" has it in every one of them."""
    world = tmp_path / "git" / "config"
    (world / "project").mkdir(parents=True)
    folder = fake_aur(table((f"{world}/home/logs/soup.md", "know", "Soup")))
    assert [run_in(world, SCRIPTS[number - 1], folder).returncode for number in (9, 10)] == [1, 1]


def test_a_script_alone_builds_its_project_and_takes_it_away(tmp_path: Path) -> None:
    done = run_script(SCRIPTS[16], environment(INSTALLED, TMPDIR=str(tmp_path)))
    assert (done.returncode, done.stdout) == (0, f"✅ PASS: {names[16]}\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_are_run_and_counted(fake_aur: FakeAur, empty_world: Path) -> None:
    done = run_in(empty_world, HERE / "run_all.sh", fake_aur("No relevant results found\n"))
    assert (done.returncode, done.stdout.count("❌ FAIL: ")) == (1, 19)
    assert done.stdout.endswith("\n1 passed, 19 failed\n")
    assert f"✅ PASS: {names[15]}\n" in done.stdout
