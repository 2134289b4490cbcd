"""Commits and what each changed, read from git in two passes over the whole history.

Only trees are compared here, never contents, so this part is quick: 4 s of CPU for Django's 34,886
commits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from aurora.errors import GitLimitError
from aurora.sources.git import Git, own_filters

WORKERS = 2  # processes of git at a time
# As `git blame` follows them: half alike is the same file. The number of files compared is the
# default of git; the cost grows with its square.
RENAMES = ("-M", "-l1000")


class Commit(NamedTuple):
    """A commit with the author's time, which is the one `git blame` shows."""

    id: bytes
    time: int
    tree: bytes
    parents: tuple[bytes, ...]


class Change(NamedTuple):
    """One path that a commit left otherwise than a parent had it.

    `blob` is empty where the commit has no regular file any more; `source` is the path in the
    parent: the same, another after a rename, empty for a new file.
    """

    path: str
    blob: bytes
    source: str


TreePair = tuple[bytes, bytes]
Changes = Mapping[TreePair, list[Change]]


def read_commits(git: Git, *revisions: str) -> list[Commit]:
    """Commits with their parents, parents first."""
    answer = git.ask(
        "rev-list", "--topo-order", "--reverse", "--format=%at %T %P", *revisions, "--"
    )
    lines = answer.split(b"\n")
    return [_commit(*pair) for pair in zip(lines[0:-1:2], lines[1::2], strict=True)]


def _commit(name: bytes, facts: bytes) -> Commit:
    time, tree, *parents = facts.rstrip(b" ").split(b" ")
    return Commit(name.removeprefix(b"commit "), int(time or 0), tree, tuple(parents))


def empty_tree(git: Git) -> bytes:
    """The id of the tree without files, which every repository knows."""
    return git.ask("hash-object", "-t", "tree", "--stdin").strip()


def read_changes(
    git: Git, pairs: Iterable[TreePair], *, options: Sequence[str] = RENAMES
) -> Changes:
    """What differs between trees."""
    wanted = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    size = -(-len(wanted) // WORKERS) or 1
    parts = [wanted[low : low + size] for low in range(0, len(wanted), size)]

    def compare(part: list[TreePair]) -> bytes:
        given = b"".join(b"%s %s\n" % pair for pair in part)
        return git.ask("diff-tree", "--stdin", "-r", "-z", *options, given=given)

    found: dict[TreePair, list[Change]] = {}
    with ThreadPoolExecutor(WORKERS) as workers:
        for answer in workers.map(compare, parts):
            _sort_by_trees(answer, found)
    return found


def read_work_tree(git: Git, commit: str) -> list[Change]:
    """What differs on disk from a commit; the blobs are not known yet.

    A file that is only missing on disk counts as there: for `git blame`, too, it is no rename's
    source until its removal is staged.
    """
    words, filters = ("diff-index", "-z", "-m", "--ignore-submodules"), own_filters(git)
    try:
        answer = git.ask(*words, *RENAMES, commit, "--", unused=filters)
    except GitLimitError as exc:
        git.notes[f"renames that are not committed are not followed: {exc.message}"] = None
        answer = git.ask(*words, "--no-renames", commit, "--", unused=filters)
    fields = iter(answer.split(b"\0"))
    return [change for field in fields if field for change in _changes(field, fields)]


def _sort_by_trees(answer: bytes, found: dict[TreePair, list[Change]]) -> None:
    fields = iter(answer.split(b"\0"))
    current: list[Change] = []
    for field in fields:
        headers, newline, row = field.rpartition(b"\n")  # trees end with a line, rows with a NUL
        if newline:
            old, new = headers.rpartition(b"\n")[2].split(b" ")
            current = found.setdefault((old, new), [])
        if row:
            current.extend(_changes(row, fields))


def _changes(field: bytes, fields: Iterator[bytes]) -> Iterator[Change]:
    old_mode, new_mode, _, blob, status = field[1:].split(b" ")
    path = os.fsdecode(next(fields))
    source = path if old_mode[:2] == b"10" else ""  # links and submodules have no lines
    if status[:1] == b"R":
        yield Change(path, b"", path)
        path = os.fsdecode(next(fields))
    if new_mode[:2] == b"10":
        yield Change(path, blob, source)
    else:
        yield Change(path, b"", source)
