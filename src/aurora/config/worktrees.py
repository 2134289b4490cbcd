"""Worktrees and branches, read from git's own files: a quick search does not start git."""

from __future__ import annotations

from pathlib import Path

from aurora.files import read_file

_GIT = ".git"
_LARGEST = 1 << 16  # bytes of git's small files
_LARGEST_PACK = 16 << 20  # bytes of its list of branches and tags
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


def list_checkouts(root: Path) -> list[Path]:
    """The folders of all working copies of a repository, this one first."""
    main = main_checkout(root) or root
    try:
        git = _git_folder(main) if (main / _GIT).exists() else main
        files = sorted(git.glob("worktrees/*/gitdir"))
        linked = [(file.parent / _line(file)).parent.resolve() for file in files]
    except (OSError, ValueError):
        linked = []
    return list(dict.fromkeys([root, main, *linked]))


def branch_of(root: Path) -> str:
    """The branch of a checkout, or the start of its commit; empty without git."""
    try:
        head = _line(_git_folder(root) / "HEAD")
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:_SHORT]


def commit_of(root: Path) -> str:
    """The commit of a checkout; empty without one. Nothing is said of a reftable."""
    try:
        folder = _git_folder(root)
        head = _line(folder / "HEAD")
        if not head.startswith("ref: "):
            return head
        shared = folder / "commondir"
        return _read_ref(
            folder / _line(shared) if shared.exists() else folder, head[len("ref: ") :]
        )
    except (OSError, ValueError):
        return ""


def _read_ref(folder: Path, ref: str) -> str:
    """The commit of a branch, in a file of its own or among the packed ones."""
    if ".." in ref:  # a file `HEAD` that git has not written
        return ""
    if (folder / ref).is_file():
        return _line(folder / ref)
    packed = read_file(folder / "packed-refs", most=_LARGEST_PACK, follow=True).decode()
    lines = (line.partition(" ") for line in packed.splitlines())
    return next((commit for commit, _, name in lines if name == ref), "")


def _git_folder(root: Path) -> Path:
    path = root / _GIT
    return root / _line(path).removeprefix("gitdir: ") if path.is_file() else path


def _line(file: Path) -> str:
    return read_file(file, most=_LARGEST, follow=True).decode().strip()
