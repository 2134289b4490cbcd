"""Worktrees and branches, read from git's own files: a quick search does not start git."""

from __future__ import annotations

from pathlib import Path

from aurora.files import read_file

_GIT = ".git"
_LARGEST = 1 << 16  # bytes of git's small files
_SHORT = 8  # digits of a commit, as git shows it


def main_checkout(folder: Path) -> Path | None:
    """The folder of the repository that a linked worktree belongs to; None if it is not one.

    The repository must name the worktree, too: a file `.git` alone may come from an archive.
    """
    try:
        if not (folder / _GIT).is_file():
            return None
        own = _git_folder(folder)
        if not (own / _line(own / "gitdir")).samefile(folder / _GIT):
            return None
        common = (own / _line(own / "commondir")).resolve()
    except (OSError, ValueError):
        return None
    return common.parent if common.name == _GIT else common  # a bare repository has no checkout


def branch_of(root: Path) -> str:
    """The branch of a checkout, or the start of its commit; empty without git."""
    try:
        head = _line(_git_folder(root) / "HEAD")
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:_SHORT]


def _git_folder(root: Path) -> Path:
    path = root / _GIT
    return root / _line(path).removeprefix("gitdir: ") if path.is_file() else path


def _line(file: Path) -> str:
    return read_file(file, most=_LARGEST, follow=True).decode().strip()
