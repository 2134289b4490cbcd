"""Histories after random steps of git that move no commit, or move it under unchanged files."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from aurora import Memory, Places
from tests.builders import NOW
from tests.indexing.test_histories import UNTRACKED, faults, histories, index, of_january
from tests.sources.dated import start
from tests.sources.random_repository import RandomRepository
from tests.sources.repository import git


def contested(root: Path) -> set[str]:
    """New paths that may all come from one that is gone.

    `git blame` gives each of them the past of that one; we, like `git diff`, only the likest.
    """
    answer = git(root, "diff-index", "--cached", "--no-renames", "--name-status", "-z", "HEAD")
    words = answer.split("\0")[:-1]
    rows = list(zip(words[::2], words[1::2], strict=True))
    added = {path for status, path in rows if status == "A"}
    return added if len(added) > 1 and any(status == "D" for status, _ in rows) else set()


class Restless:
    """A person who stages, unstages, copies, moves and goes back between two runs."""

    def __init__(self, root: Path, seed: int) -> None:
        self._repository = RandomRepository(root, seed)
        self._root, self._choice, self._count = root, random.Random(seed), 0  # noqa: S311
        self._repository.grow(12)
        self._steps: list[Callable[[], object]] = [
            self._grow,
            self._scribble,
            lambda: self._move(by_git=True),
            lambda: self._move(by_git=False),
            self._copy,
            self._untrack,
            self._remove,
            *[lambda: self._try("add", "--all")] * 2,
            lambda: self._try("add", "--", self._file()),
            self._commit,
            self._amend,
            lambda: self._try("reset", "--quiet"),
            lambda: self._try("reset", "--quiet", "--soft", "HEAD~1"),
            lambda: self._try("reset", "--quiet", "HEAD~1"),
            lambda: self._try("reset", "--quiet", "--hard", "HEAD@{1}"),
            lambda: self._try("stash", "--quiet"),
            lambda: self._try("stash", "pop", "--quiet"),
            lambda: self._try("checkout", "--quiet", "HEAD~2"),
            lambda: self._try("checkout", "--quiet", "main"),
            lambda: self._try("rebase", "--quiet", "main"),
        ]

    def step(self) -> None:
        self._choice.choice(self._steps)()

    def _grow(self) -> None:
        """Commits on top of a clean tree, whatever was lying around."""
        self._try("stash", "--quiet", "--include-untracked")
        self._repository.grow(2)

    def _scribble(self) -> None:
        with (self._root / self._file()).open("a") as file:
            file.write(f"scribble = {self._next()}\n")

    def _files(self) -> list[Path]:
        return sorted(path for path in self._root.rglob("*.py") if path.is_file())

    def _file(self) -> str:
        files = self._files()
        if len(files) < 3:
            self._try("checkout", "--quiet", "--force", "HEAD", "--", ".")
            (self._root / f"more{self._next()}.py").write_text("x = 1\ny = 2\n" * 4)
            files = self._files()
        return self._choice.choice(files).relative_to(self._root).as_posix()

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _move(self, *, by_git: bool) -> None:
        old, new = self._file(), f"moved{self._next()}.py"
        if by_git:
            self._try("mv", old, new)
        else:
            (self._root / old).rename(self._root / new)

    def _copy(self) -> None:
        shutil.copy2(self._root / self._file(), self._root / f"copy{self._next()}.py")

    def _remove(self) -> None:
        (self._root / self._file()).unlink()

    def _untrack(self) -> None:
        self._try("rm", "--quiet", "--cached", "--", self._file())

    def _commit(self) -> None:
        if contested(self._root):
            self._try("reset", "--quiet")
        self._try("commit", "--quiet", "--allow-empty", "--message", "staged")

    def _amend(self) -> None:
        """The day alone: what is staged is put away."""
        date = f"--date=2026-01-{self._next():02d}T00:00:00"
        self._try("stash", "--quiet")
        self._try("commit", "--quiet", "--amend", "--allow-empty", "--no-edit", date)

    def _try(self, *arguments: str) -> None:
        """What git refuses just now has not happened."""
        try:
            git(self._root, *arguments)
        except subprocess.CalledProcessError:
            if (self._root / ".git" / "rebase-merge").exists():
                git(self._root, "rebase", "--abort")


@pytest.mark.parametrize("seed", [300, 301, 307])
def test_random_steps_with_a_run_after_each(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "r"
    person = Restless(root, seed)
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        for _ in range(25):
            for _ in range(2):
                person.step()
            index(memory, root)
            doubtful = tuple(f"{path}:" for path in contested(root))
            assert [fault for fault in faults(memory, root) if not fault.startswith(doubtful)] == []


@pytest.mark.parametrize("undone", [False, True], ids=["staged", "staged-and-unstaged"])
def test_a_rename_gives_an_unchanged_file_its_past_once_it_is_staged(
    tmp_path: Path, undone: bool
) -> None:
    root = start(tmp_path / "r", {"a.py": "def f():\n    return 1\n"})
    (root / "a.py").rename(root / "b.py")
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        index(memory, root)
        assert histories(memory) == {"b.py:f": UNTRACKED}
        git(root, "add", "--all")
        index(memory, root)
        assert histories(memory) == {"b.py:f": of_january(1)}
        if undone:
            git(root, "reset", "--quiet")
            index(memory, root)
            assert histories(memory) == {"b.py:f": UNTRACKED}


def test_a_file_that_is_only_missing_is_no_source_of_a_rename(tmp_path: Path) -> None:
    root = start(tmp_path / "r", {"a.py": "def f():\n    return 1\n"})
    (root / "a.py").rename(root / "b.py")
    git(root, "add", "b.py")
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        index(memory, root)
        assert faults(memory, root) == []
        assert histories(memory) == {"b.py:f": UNTRACKED}
