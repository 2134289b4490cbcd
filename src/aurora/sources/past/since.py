"""Which files' histories may differ between two commits of a repository.

Both commits are followed along their first parents down to the commit where the two lines meet. A
file that no commit on either line changed, compared with that commit's first parent, has the same
history at both ends: `git blame` passes such a file on to the first parent whole. This holds after
new commits, merges, pulls, resets, rebases and on another branch alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from aurora.errors import GitError
from aurora.sources.git import Git
from aurora.sources.past.commits import Commit, read_changes, read_commits


@dataclass(frozen=True, slots=True)
class Since:
    """What came between: the paths touched on the way, and the commits where that is all.

    `commits` is empty unless they follow the old commit one by one, without a merge.
    """

    touched: frozenset[str]
    commits: Sequence[Commit]
    tree: bytes  # of the old commit, if there are such commits


def compare(git: Git, old: str, new: str) -> Since | None:
    """What lies between two commits, or nothing where they have no line in common."""
    try:
        ahead, fork = _line(git, old, new)
        behind, meeting = _line(git, fork, old) if fork else ([], "")
    except GitError:  # the old commit was thrown away since
        return None
    if not fork or meeting != fork:
        return None
    tree = git.ask("rev-parse", f"{fork}^{{tree}}").strip()
    touched = frozenset(
        row.path
        for line in (ahead, behind)
        for rows in read_changes(git, steps(line, tree)).values()
        for row in rows
    )
    straight = not behind and all(len(commit.parents) == 1 for commit in ahead)
    return Since(touched, ahead if straight else (), tree)


def _line(git: Git, bottom: str, top: str) -> tuple[list[Commit], str]:
    """First parents from the top that the bottom does not know, and the first it does."""
    line = read_commits(git, "--first-parent", f"{bottom}..{top}")
    if not line:
        return line, top
    parents = line[0].parents
    return line, parents[0].decode() if parents else ""


def steps(line: Sequence[Commit], tree: bytes) -> list[tuple[bytes, bytes]]:
    """The trees before and after each commit; `tree` is the one before the first."""
    trees = [tree, *(commit.tree for commit in line)]
    return list(pairwise(trees))
