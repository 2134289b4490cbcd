"""A project in git: where its memory starts, and how its files stay out of git."""

from __future__ import annotations

from pathlib import Path

from aurora.config.places import Places, make_project, shown
from aurora.config.worktrees import main_checkout
from aurora.errors import SourceError, StoreError
from aurora.files import read_file, replacing
from aurora.sources.git import are_ignored, find_root, list_tracked

_SHARED = ("config.yml", ".gitignore")  # files of a memory's folder that a project may publish
_PRIVATE = ("memory.db", "memory.db-wal", "indexes/bm25.idx")  # files that git must not publish
_LARGEST = 1 << 20  # bytes of a .gitignore


def start_project(places: Places, root: Path) -> Places:
    """Create the project's folder at `root`, unless that is the user's own folder.

    That of a linked worktree is in its repository.
    """
    make_project(main_checkout(root) or root)
    project = Places.find(root, {"AURORA_HOME": str(places.home)})
    return project if project.root == root else places


def find_project(here: Path) -> Path | None:
    """The root of the git repository around a folder."""
    root = find_root(here)
    # A repository may declare any folder as its work tree: the project must contain `here`.
    inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return root if inside else None


def places_to_index(places: Places, here: Path) -> Places:
    """The places whose memory indexes a folder. In a git repository the project is created."""
    root = find_project(here) if places.project is None else None
    return start_project(places, root) if root is not None else places


def require_untracked(folder: Path) -> None:
    """Raise if git tracks files of a memory: they came with a clone, and git would publish them."""
    # Run git in the parent: the folder itself may be a repository that tracks nothing.
    shared = {f"{folder.name}/{name}" for name in _SHARED}
    tracked = sorted(set(list_tracked(folder.parent, folder.name)) - shared)
    if tracked:
        raise StoreError(
            f"{shown(folder.parent / tracked[0])} is tracked by git: it may have come with a "
            "clone, and git would publish what you remember",
            hint=f"run `git rm -r --cached {shown(folder)}`; `aur adopt` then shows what is in it",
        )


def require_team_folder(root: Path | None, folder: str) -> Path:
    """The root of a repository in which git keeps a folder. `SourceError` if there is none."""
    if root is None or find_root(root) is None:
        raise SourceError(
            "A lesson for the team is a file in a git repository, and there is none here",
            hint="run `git init` first, or leave out --team to keep the lesson for yourself",
        )
    if (root / folder).resolve() != root.resolve() / folder:
        raise SourceError(
            f"{folder} leads to another folder, which git does not follow",
            hint="replace the link by a folder",
        )
    if are_ignored(root, [f"{folder}/lesson.md"]):
        raise SourceError(
            f"git ignores {folder}: the team would not get the lesson",
            hint=f"write `!/{folder}/` into the .gitignore that ignores it, or leave out --team",
        )
    return root


def keep_out_of_git(folder: Path) -> None:
    """Make git ignore a memory's files, whatever the `.gitignore` of a clone says."""
    if are_ignored(folder, _PRIVATE):
        return
    ignore = folder / ".gitignore"
    before = read_file(ignore, most=_LARGEST) if ignore.exists() else b""
    with replacing(ignore) as out:  # the last of two rules counts
        out.write(before + b"\n*\n" + b"".join(b"!%s\n" % name.encode() for name in _SHARED))
