"""A run killed at any moment leaves a memory that is whole, and the next run completes it."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import Places
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.indexing.remembered import Remembered, answers, remembered, untrue_vectors
from tests.sources.repository import git

FILES, FUNCTIONS, COMMITS, LOGS = 130, 14, 5, 12  # two batches of chunks, and a replayed past
QUERIES = ("changed f9", "f3 m12", "words of phase 7", "log changed", "class Keeper31 method")
LOG = "# Conversation: Log {0}\nDate: 2025-12-15\n\n" + "".join(
    f"## Phase {n}: Assessment\nWords {{0}} of phase {n}.\n\n" for n in range(1, 10)
)


def source(number: int, change: int = 0) -> str:
    """A module of functions and a class; `change` is seen in one of them."""
    words = ["changed" if n == change else "seven" for n in range(FUNCTIONS)]
    functions = "".join(
        f"def f{n}(m{number}):\n    return {word}, {n * change}\n\n\n"
        for n, word in enumerate(words)
    )
    return functions + f"class Keeper{number}:\n    def method(self):\n        return {change}\n"


def name(number: int) -> str:
    return f"part{number % 8}/m{number}.py"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A repository with a past, and conversation logs, that nobody has indexed yet."""
    root = write_tree(tmp_path / "project", {name(n): source(n) for n in range(FILES)})
    git(root, "init", "--quiet")
    for number in range(1, COMMITS + 1):
        write_tree(root, {name(n): source(n, number) for n in range(number, FILES, 7)})
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", f"change {number}")
    home = tmp_path / "user" / "home"
    logs = home / "logs" / "conversations" / "2025" / "12"
    write_tree(logs, {f"log{n}-2025-12-15.md": LOG.format(n) for n in range(LOGS)})
    (tmp_path / "scratch").mkdir()
    return Shell(root, home, {"TMPDIR": str(tmp_path / "scratch")})


@pytest.fixture
def choice() -> random.Random:
    return random.Random(20251215)  # noqa: S311 - the same moments every time


def change(root: Path, home: Path) -> None:
    """Edits, renames (with and without edits), deletions and new files, some of it committed."""
    write_tree(root, {name(n): source(n, 9) for n in range(0, FILES, 5)})
    for n in range(1, FILES, 11):
        (root / name(n)).unlink()
    git(root, "commit", "--quiet", "--all", "--message", "edit and delete")
    for n in range(3, FILES, 10):
        if (root / name(n)).exists():
            (root / name(n)).rename(root / f"moved{n}.py")
    write_tree(root, {f"moved{n}.py": source(n, 8) for n in range(3, FILES, 20)})
    write_tree(root, {f"fresh/n{n}.py": source(n, 7) for n in range(20)})
    logs = home / "logs" / "conversations" / "2025" / "12"
    (logs / "log1-2025-12-15.md").unlink()
    write_tree(logs, {"log2-2025-12-15.md": LOG.format("changed")})


def memory_of(shell: Shell) -> Path:
    return shell.cwd / ".aurora"


def put_back(shell: Shell, memory: Path | None) -> None:
    """Make the memory a copy of another, or none."""
    shutil.rmtree(memory_of(shell), ignore_errors=True)
    if memory is not None:
        shutil.copytree(memory, memory_of(shell))


def undisturbed(shell: Shell) -> tuple[Remembered, float]:
    """What a run leaves that nobody kills, and how long it took."""
    begin = time.monotonic()
    shell.ok("mem", "index")
    length = time.monotonic() - begin
    return remembered(memory_of(shell) / "memory.db"), length


def moments(choice: random.Random, length: float, count: int) -> Iterator[float]:
    """Seconds after the start: spread over the length of a run, and a few at its very beginning."""
    for number in range(count):
        early = number % 7 == 6
        yield choice.uniform(0, 0.06) if early else length * (number + choice.random()) / count


def kill_after(shell: Shell, seconds: float) -> bool:
    """Index, and be killed then; false when the run had already ended, and well."""
    with shell.start("mem", "index") as process:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
        return process.returncode != 0


def require_whole(shell: Shell, *versions: Remembered) -> None:
    """Every file is there as one of the versions has it, or not at all; search works."""
    database = memory_of(shell) / "memory.db"
    if not database.exists():  # killed before anything was made
        done = shell.run("mem", "search", "words")  # the person's memory may have logs already
        assert re.search("`aur (mem )?index", done.stderr)
        return
    found = remembered(database)
    known = [version.by_file() for version in versions]
    for path, chunks in found.by_file().items():
        assert chunks in [version.get(path) for version in known], path
        assert path in found.files
    for path, state in found.files.items():
        assert state.left_out or found.of_file(path) or not state.size
    for id_, history in found.histories.items():
        if found.files[found.chunks[id_].path].history_stamp:  # else git was not asked yet
            assert history in [version.histories.get(id_) for version in versions]
    assert untrue_vectors(database) == []
    assert answers(Places(shell.home, shell.cwd), "words") != []


@pytest.mark.long
def test_a_first_run_killed_twenty_times(shell: Shell, choice: random.Random) -> None:
    expected, length = undisturbed(shell)
    places = Places(shell.home, shell.cwd)
    found = answers(places, *QUERIES)
    assert len(expected.files) == FILES  # the logs are in the person's memory
    assert len(expected.histories) == len(expected.chunks) > 2000
    assert expected.embedded == expected.chunks.keys()

    killed = 0
    for number, seconds in enumerate(moments(choice, length, 20)):
        if number % 3 == 0:  # the others go on with what the last one left
            put_back(shell, None)
        killed += kill_after(shell, seconds)
        require_whole(shell, expected)

    assert killed > 5
    put_back(shell, None)
    for seconds in (0.3 * length, 0.7 * length):
        kill_after(shell, seconds)
    shell.ok("mem", "index")
    assert "| know | Log " in shell.ok("mem", "search", "words")
    assert remembered(memory_of(shell) / "memory.db") == expected
    assert untrue_vectors(memory_of(shell) / "memory.db") == []
    assert answers(places, *QUERIES) == found
    indexes = {file.name for file in (memory_of(shell) / "indexes").iterdir()}
    assert {"bm25.idx", "vectors.idx"} <= indexes
    assert not [name for name in indexes if "tmp" in name]


@pytest.mark.long
def test_a_later_run_killed_on_the_way_to_its_changes(
    shell: Shell, choice: random.Random, tmp_path: Path
) -> None:
    before, _ = undisturbed(shell)
    kept = shutil.copytree(memory_of(shell), tmp_path / "kept")
    change(shell.cwd, shell.home)
    expected, length = undisturbed(shell)
    places = Places(shell.home, shell.cwd)
    found = answers(places, *QUERIES)
    put_back(shell, None)
    assert undisturbed(shell)[0] == expected  # a memory that grew is as one that is new
    assert [best for best, *_ in answers(places, *QUERIES)] == [best for best, *_ in found]

    killed = 0
    for number, seconds in enumerate(moments(choice, length, 8)):
        if number % 2 == 0:
            put_back(shell, kept)
        killed += kill_after(shell, seconds)
        require_whole(shell, before, expected)

    assert killed > 2
    shell.ok("mem", "index")
    assert remembered(memory_of(shell) / "memory.db") == expected
    assert untrue_vectors(memory_of(shell) / "memory.db") == []
    assert answers(places, *QUERIES) == found
