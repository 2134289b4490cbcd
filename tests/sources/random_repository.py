"""Repositories with a made-up past: edits, renames, branches, merges, reverts and odd clocks."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.sources.repository import git

FIRST_SECOND = 1_700_000_000
WORDS = ("", "    return x", "}", "pass", "# the same comment")  # lines that come again


class RandomRepository:
    """A repository that grows by one random step at a time, the same for the same seed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self._random = random.Random(seed)  # noqa: S311 - not a secret
        self._count = 0
        root.mkdir()
        git(root, "init", "--quiet")
        for name in ("a.py", "sub/b.py", "c d.py"):
            self._write(name, self._lines(12))
        self._commit()

    def grow(self, steps: int) -> None:
        edits = [self._edit] * 8
        rare = [self._rename, self._add, self._remove, self._branch, self._switch, self._switch]
        merging = [self._merge, self._merge, self._revert, self._pick, self._end_lines]
        for _ in range(steps):
            if len(self.files()) < 3:  # merges and reverts may take some away
                self._add()
            self._random.choice([*edits, *rare, *merging])()

    def scribble(self) -> None:
        """Change a file without committing."""
        self._edit_file(self._random.choice(self.files()))

    def files(self) -> list[str]:
        return [name for name in git(self.root, "ls-files", "-z").split("\0") if name]

    def _edit(self) -> None:
        for name in sorted({self._random.choice(self.files()) for _ in range(2)}):
            self._edit_file(name)
        self._commit()

    def _edit_file(self, name: str) -> None:
        lines = self._read(name)
        for _ in range(self._random.randint(1, 3)):
            low = self._random.randint(0, len(lines))
            high = min(len(lines), low + self._random.randint(0, 3))
            lines[low:high] = self._lines(self._random.randint(0 if high > low else 1, 3))
        self._write(name, lines)

    def _rename(self) -> None:
        old = self._random.choice(self.files())
        new = f"{self._random.choice(['', 'sub/', 'deep/er/'])}{self._new()}.py"
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        git(self.root, "mv", old, new)
        if self._random.random() < 0.5:
            lines = self._read(new)
            lines[:1] = self._lines(2)
            self._write(new, lines)
        self._commit()

    def _add(self) -> None:
        self._write(f"{self._new()}.py", self._lines(8))
        self._commit()

    def _remove(self) -> None:
        if len(self.files()) > 3:
            git(self.root, "rm", "--quiet", self._random.choice(self.files()))
            self._commit()

    def _end_lines(self) -> None:
        """Other line ends, or none at the end of the file."""
        name = self._random.choice(self.files())
        content = (self.root / name).read_bytes()
        changed = content.rstrip(b"\n") if self._random.random() < 0.5 else content + b"\r\n"
        (self.root / name).write_bytes(changed)
        self._commit()

    def _branch(self) -> None:
        git(self.root, "checkout", "--quiet", "-b", f"branch{self._new()}")

    def _switch(self) -> None:
        git(self.root, "checkout", "--quiet", "--force", self._random.choice(self._branches()))

    def _merge(self) -> None:
        strategy = self._random.choice([("-X", "ours"), ("-X", "theirs"), ("-s", "ours")])
        other = self._random.choice(self._branches())
        self._try("merge", "--quiet", "--no-edit", "--no-ff", *strategy, other)

    def _revert(self) -> None:
        self._try("revert", "--no-edit", f"HEAD~{self._random.randint(0, 2)}")

    def _pick(self) -> None:
        self._try("cherry-pick", self._random.choice(self._branches()))

    def _try(self, command: str, *arguments: str) -> None:
        """A step that may be impossible just now; then nothing happened."""
        try:
            self._at_some_time(lambda: git(self.root, command, *arguments))
        except subprocess.CalledProcessError:
            git(self.root, "reset", "--quiet", "--hard")

    def _commit(self) -> None:
        git(self.root, "add", "--all")
        self._at_some_time(
            lambda: git(self.root, "commit", "--quiet", "--allow-empty", "--message", "step")
        )

    def _at_some_time(self, work: Callable[[], object]) -> None:
        """Clocks mostly go forward."""
        self._count += 1
        second = FIRST_SECOND + self._count * 1000 + self._random.randint(-3000, 1000)
        dates = {"GIT_AUTHOR_DATE": f"{second} +0000", "GIT_COMMITTER_DATE": f"{second + 7} +0000"}
        os.environ.update(dates)
        try:
            work()
        finally:
            for name in dates:
                del os.environ[name]

    def _branches(self) -> list[str]:
        return git(self.root, "branch", "--format=%(refname:short)").split()

    def _new(self) -> int:
        self._count += 1
        return self._count

    def _lines(self, count: int) -> list[bytes]:
        return [
            self._random.choice(WORDS).encode()
            if self._random.random() < 0.2
            else b"line %d" % self._random.randint(0, 10_000)
            for _ in range(count)
        ]

    def _read(self, name: str) -> list[bytes]:
        return (self.root / name).read_bytes().split(b"\n")

    def _write(self, name: str, lines: list[bytes]) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(lines))
