"""Real git repositories in temporary folders, untouched by the settings of who runs the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import write_tree

NOBODY = 65534


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No user's ignore file, and no repository that the temporary folder may lie in."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would; its answer."""
    settings = ("user.name=Ada", "user.email=ada@example.org", "init.defaultBranch=main")
    options = [part for setting in settings for part in ("-c", setting)]
    command = ["git", *options, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def make_repository(root: Path, files: dict[str, str | bytes]) -> Path:
    """A repository with one commit of these files."""
    write_tree(root, files)
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "start")
    return root


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may read everything; inside this block permissions count for root too."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
