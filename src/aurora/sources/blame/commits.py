"""What git says of commits, trees and the work tree: the input of `replay` and `history`.

Only trees are compared here, never contents, so this part is fast: 4 s of CPU for Django's 34,886
commits.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from aurora.errors import GitError, GitLimitError
from aurora.files import open_no_follow
from aurora.quick_classes import dataclass
from aurora.sources.git import Git, own_filters, work_tree

WORKERS = 2  # git processes at a time
# As `git blame` follows renames: files that are half alike. The limit on compared files is git's
# default; the cost grows with its square.
RENAMES = ("-M", "-l1000")
_MAX_SHALLOW_BYTES = 1 << 20  # 25,000 commits


class Commit(NamedTuple):
    """A commit with the author's time, as `git blame` shows it."""

    id: bytes
    time: int
    tree: bytes
    parents: tuple[bytes, ...]


class Change(NamedTuple):
    """A path that differs between a commit and its parent.

    `blob` is empty where the commit has no regular file. `source` is the path in the parent:
    another path after a rename, empty for a new file.
    """

    path: str
    blob: bytes
    source: str


TreePair = tuple[bytes, bytes]
Changes = Mapping[TreePair, list[Change]]


def read_commits(git: Git, *revisions: str) -> list[Commit]:
    """List commits, parents first."""
    output = git.run(
        "rev-list", "--topo-order", "--reverse", "--format=%at %T %P", *revisions, "--"
    )
    lines = output.split(b"\n")
    return [parse_commit(*pair) for pair in zip(lines[0:-1:2], lines[1::2], strict=True)]


def parse_commit(name: bytes, facts: bytes) -> Commit:
    time, tree, *parents = facts.rstrip(b" ").split(b" ")
    return Commit(name.removeprefix(b"commit "), int(time or 0), tree, tuple(parents))


def empty_tree(git: Git) -> bytes:
    """Return the id of the tree without files."""
    return git.run("hash-object", "-t", "tree", "--stdin").strip()


def tree_pairs(commits: Sequence[Commit], before: bytes) -> list[TreePair]:
    """The trees before and after each of a line of commits; `before` precedes the first."""
    return list(pairwise([before, *(commit.tree for commit in commits)]))


def read_changes(
    git: Git, pairs: Iterable[TreePair], *, options: Sequence[str] = RENAMES
) -> Changes:
    """Return the changed paths of each pair of trees."""
    different = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    size = -(-len(different) // WORKERS) or 1
    parts = [different[low : low + size] for low in range(0, len(different), size)]

    def compare(part: list[TreePair]) -> bytes:
        given = b"".join(b"%s %s\n" % pair for pair in part)
        return git.run("diff-tree", "--stdin", "-r", "-z", *options, given=given)

    changes: dict[TreePair, list[Change]] = {}
    with ThreadPoolExecutor(WORKERS) as workers:
        for output in workers.map(compare, parts):
            parse_changes(output, changes)
    return changes


def parse_changes(output: bytes, changes: dict[TreePair, list[Change]]) -> None:
    """Add the output of `git diff-tree --stdin -z` to `changes`."""
    fields = iter(output.split(b"\0"))
    current: list[Change] = []
    for field in fields:
        headers, newline, row = field.rpartition(b"\n")  # trees end with a line, rows with a NUL
        if newline:
            old, new = headers.rpartition(b"\n")[2].split(b" ")
            current = changes.setdefault((old, new), [])
        if row:
            current.extend(_parse_row(row, fields))


def _parse_row(row: bytes, fields: Iterator[bytes]) -> Iterator[Change]:
    old_mode, new_mode, _, blob, status = row[1:].split(b" ")
    path = os.fsdecode(next(fields))
    source = path if old_mode[:2] == b"10" else ""  # links and submodules have no lines
    if status[:1] == b"R":
        yield Change(path, b"", path)
        path = os.fsdecode(next(fields))
    yield Change(path, blob if new_mode[:2] == b"10" else b"", source)


def read_work_tree(git: Git, commit: str) -> list[Change]:
    """Return what differs on disk from a commit; the blobs are not known yet.

    A file that is only missing on disk counts as present: `git blame`, too, follows a rename only
    once the removal of its source is staged.
    """
    words, filters = ("diff-index", "-z", "-m", "--ignore-submodules"), own_filters(git)
    try:
        output = git.run(*words, *RENAMES, commit, "--", unused=filters)
    except GitLimitError as exc:
        git.notes[f"renames that are not committed are not followed: {exc.message}"] = None
        output = git.run(*words, "--no-renames", commit, "--", unused=filters)
    fields = iter(output.split(b"\0"))
    return [change for field in fields if field for change in _parse_row(field, fields)]


# The repository now


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of the last commit, and where the work tree differs. Paths begin at the top."""

    git: Git  # at the top of the work tree
    prefix: str  # leads to the requested folder
    head: str
    shallow: str
    blobs: Mapping[str, str]  # regular files of the last commit
    others: frozenset[str]  # its links and submodules
    edited: Mapping[str, str]  # path on disk -> path in the last commit


def take_snapshot(git: Git) -> Snapshot | None:
    """Read the state of a repository; None while it has no commit."""
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
            edited.setdefault(row.path, row.path)  # removed from the index, and still there
    return Snapshot(top, prefix, head, _shallow(top), blobs, others, edited)


def read_stamp(git: Git) -> str:
    """A word that changes whenever blame of unchanged files may; empty without a commit."""
    top = git.at(work_tree(git))
    _refuse_partial_clone(top)
    head, extra = _head(top), _shallow(top)
    if head:  # a staged rename gives an unchanged file another history
        rows = read_work_tree(top, head)
        renames = (row for row in rows if row.source not in ("", row.path))
        extra += "".join(f"{row.source}\0{row.path}\0" for row in renames)
    return head + (f"-{zlib.crc32(os.fsencode(extra)):08x}" if extra else "")


def find_prefix(git: Git) -> str:
    """The path from the top of the repository to a folder: empty, or ending with a slash."""
    return os.fsdecode(git.run("rev-parse", "--show-prefix").removesuffix(b"\n"))


def _is_on_disk(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _head(top: Git) -> str:
    try:
        return top.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except GitError:
        return ""


def _read_tree(top: Git, commit: str) -> tuple[dict[str, str], frozenset[str]]:
    blobs, others = {}, set()
    for row in top.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        facts, _, name = row.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        if mode.startswith("10"):
            blobs[os.fsdecode(name)] = blob
        else:
            others.add(os.fsdecode(name))
    return blobs, frozenset(others)


def _refuse_partial_clone(top: Git) -> None:
    """Old contents may be missing in a partial clone, and git would fetch them one by one."""
    words = top.run("config", "--list", "--name-only", "-z").lower().split(b"\0")
    if b"extensions.partialclone" in words or any(w.endswith(b".promisor") for w in words):
        raise GitError("a partial clone does not hold its whole history")


def _shallow(top: Git) -> str:
    """Where a shallow history ends: fetching more changes blame while HEAD stays the same."""
    name = os.fsdecode(top.run("rev-parse", "--git-path", "shallow").removesuffix(b"\n"))
    try:
        with open_no_follow(top.folder / name) as file:
            return file.read(_MAX_SHALLOW_BYTES).decode("ascii", "replace")
    except OSError:
        return ""


# Between two commits


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The paths that changed between two commits, and the commits if they are linear."""

    touched: frozenset[str]
    commits: Sequence[Commit]  # empty unless they follow the old one by one, without a merge
    base_tree: bytes  # of the commit where both lines meet


def compare_commits(git: Git, old: str, new: str) -> CommitRange | None:
    """Find the files whose blame may differ between two commits; None without a common commit.

    Both commits are followed along their first parents to the commit where the lines meet. A file
    that no commit on either line changed, compared with its first parent, has the same blame at
    both ends: `git blame` passes such a file on to the first parent whole. This holds for new
    commits, merges, pulls, resets, rebases and other branches.
    """
    try:
        ahead, fork = _first_parents(git, old, new)
        behind, meeting = _first_parents(git, fork, old) if fork else ([], "")
    except GitError:  # the old commit is gone
        return None
    if not fork or meeting != fork:
        return None
    tree = git.run("rev-parse", f"{fork}^{{tree}}").strip()
    touched = frozenset(
        row.path
        for line in (ahead, behind)
        for rows in read_changes(git, tree_pairs(line, tree)).values()
        for row in rows
    )
    linear = not behind and all(len(commit.parents) == 1 for commit in ahead)
    return CommitRange(touched, ahead if linear else (), tree)


def _first_parents(git: Git, bottom: str, top: str) -> tuple[list[Commit], str]:
    """The first parents from `top` that `bottom` does not reach, and the first that it does."""
    line = read_commits(git, "--first-parent", f"{bottom}..{top}")
    if not line:
        return line, top
    parents = line[0].parents
    return line, parents[0].decode() if parents else ""
