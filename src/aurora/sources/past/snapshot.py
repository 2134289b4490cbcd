"""A repository at this moment: its last commit's files, and where the work tree differs."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aurora.errors import GitError
from aurora.sources.git import Git, work_tree
from aurora.sources.past.commits import read_work_tree
from aurora.sources.reading import open_file

_SHALLOW_BYTES = 1 << 20  # 25,000 commits; the file may be a link to anything


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Paths are those of the whole repository; `prefix` leads to the folder that was asked for."""

    git: Git  # at the top of the work tree
    prefix: str
    head: str
    shallow: str
    blobs: Mapping[str, str]  # regular files of the last commit
    others: frozenset[str]  # its links and submodules
    edited: Mapping[str, str]  # path on disk -> path in the last commit


def read_stamp(git: Git) -> str:
    """A word that changes whenever the histories of unchanged files may; empty without a commit."""
    top = git.at(work_tree(git))
    _refuse_partial_clone(top)
    head = _head(top)
    beside = _shallow(top) + (_renames(top, head) if head else "")
    return head + (f"-{zlib.crc32(os.fsencode(beside)):08x}" if beside else "")


def take_snapshot(git: Git) -> Snapshot | None:
    """What is there, or nothing while there is no commit."""
    top = git.at(work_tree(git))
    _refuse_partial_clone(top)
    prefix, head = find_prefix(git), _head(top)
    if not head:
        return None
    blobs, others = _read_tree(top, head)
    changes = read_work_tree(top, head)
    edited = {row.path: row.source for row in changes if row.blob and row.source in blobs}
    for row in changes:
        if not row.blob and row.path in blobs and _is_on_disk(top.folder / row.path):
            edited.setdefault(row.path, row.path)  # taken out of the index, and still there
    return Snapshot(top, prefix, head, _shallow(top), blobs, others, edited)


def find_prefix(git: Git) -> str:
    """What leads from the top of the repository to a folder: empty, or ending with a slash."""
    return os.fsdecode(git.ask("rev-parse", "--show-prefix").removesuffix(b"\n"))


def _renames(top: Git, head: str) -> str:
    """Renames that are not committed: whoever stages one gives an unchanged file another past."""
    rows = read_work_tree(top, head)
    return "".join(
        f"{row.source}\0{row.path}\0" for row in rows if row.source not in ("", row.path)
    )


def _is_on_disk(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _head(top: Git) -> str:
    try:
        return top.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except GitError:
        return ""


def _read_tree(top: Git, commit: str) -> tuple[dict[str, str], frozenset[str]]:
    blobs, others = {}, set()
    for row in top.ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        facts, _, name = row.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        if mode.startswith("10"):
            blobs[os.fsdecode(name)] = blob
        else:
            others.add(os.fsdecode(name))
    return blobs, frozenset(others)


def _refuse_partial_clone(top: Git) -> None:
    """Old contents may be missing there, and git would fetch them one by one."""
    words = top.ask("config", "--list", "--name-only", "-z").lower().split(b"\0")
    if b"extensions.partialclone" in words or any(w.endswith(b".promisor") for w in words):
        raise GitError("a partial clone does not hold its whole history")


def _shallow(top: Git) -> str:
    """Where a shallow history ends; fetching more changes answers while HEAD stays the same."""
    name = os.fsdecode(top.ask("rev-parse", "--git-path", "shallow").removesuffix(b"\n"))
    try:
        with open_file(top.folder / name) as file:
            return file.read(_SHALLOW_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
