"""The commits behind the lines of one file, with authors and messages, as `git blame` tells them.

`history.py` computes the dates of all lines of a repository. This asks git about a single file, and
keeps what a reader wants to know of its commits.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from aurora.sources.git import Git, own_filters
from aurora.types import Lines

_ENTRY = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+ (\d+)")


class LineCommit(NamedTuple):
    """A commit, and how many of the lines it changed last. Times are seconds since 1970."""

    id: str
    time: int  # of the author
    author: str
    subject: str
    lines: int


class BlamedLines(NamedTuple):
    """The commits that changed some lines last, newest first, and the number of changed lines that
    are not committed."""

    commits: tuple[LineCommit, ...] = ()
    uncommitted: int = 0

    @property
    def total(self) -> int:
        return self.uncommitted + sum(commit.lines for commit in self.commits)


class FileCommit(NamedTuple):
    """A commit that changed a file, and the file's path in it, from the top of the repository."""

    id: str
    time: int  # of the author
    committed: int  # later than that after `git commit --amend` or `git rebase`
    path: str
    author: str
    subject: str


def blame_lines(git: Git, path: str, lines: Lines | None = None) -> BlamedLines:
    """Blame a file as it is on disk, or some of its lines. Renames are followed.

    Raises `GitError` for a file that git does not track, and for lines that it does not have.
    """
    part = ("-L", f"{lines.start},{lines.end}") if lines else ()
    output = git.run(
        "blame", "--incremental", "--no-textconv", "--ignore-revs-file=", *part, "--", path,
        unused=own_filters(git),
    )  # fmt: skip
    counts: dict[bytes, int] = {}
    facts: dict[bytes, dict[bytes, bytes]] = {}
    current = b""
    for line in output.split(b"\n"):
        if entry := _ENTRY.fullmatch(line):
            current = entry[1]
            counts[current] = counts.get(current, 0) + int(entry[2])
        else:
            name, _, value = line.partition(b" ")
            facts.setdefault(current, {}).setdefault(name, value)
    commits = (_line_commit(id_, facts[id_], counts[id_]) for id_ in counts if id_.strip(b"0"))
    uncommitted = sum(count for id_, count in counts.items() if not id_.strip(b"0"))
    return BlamedLines(tuple(sorted(commits, key=lambda each: -each.time)), uncommitted)


def _line_commit(id_: bytes, facts: dict[bytes, bytes], count: int) -> LineCommit:
    author, subject = (facts[name].decode("utf-8", "replace") for name in (b"author", b"summary"))
    return LineCommit(id_.decode(), int(facts[b"author-time"]), author, subject, count)


def list_file_commits(git: Git, path: str, most: int) -> list[FileCommit]:
    """List the commits that changed a file under any of its names, newest first. Run it at the top
    of the work tree; the file may be gone."""
    form = "--format=%x01%H%x02%at%x02%ct%x02%an%x02%s%x02"
    words = ("--follow", "--name-only", form, f"--max-count={most}")
    output = git.run("log", "-z", *words, "--", path)
    return [_file_commit(entry, path) for entry in output.split(b"\x01")[1:]]


def _file_commit(entry: bytes, path: str) -> FileCommit:
    id_, time, committed, author, subject, names = entry.split(b"\x02", 5)
    name = next(filter(None, names.strip(b"\0\n").split(b"\0")), os.fsencode(path))
    words = [text.decode("utf-8", "replace") for text in (author, subject)]
    return FileCommit(id_.decode(), int(time), int(committed), os.fsdecode(name), *words)


def branches_with(git: Git, commit: str) -> frozenset[str]:
    """List the branches that hold a commit, also those of remotes, by their names without it."""
    output = git.run(
        "for-each-ref", f"--contains={commit}", "--format=%(refname)", "refs/heads", "refs/remotes"
    )
    names = (name.split("/", 2) for name in os.fsdecode(output).split())
    return frozenset(name if kind == "heads" else name.partition("/")[2] for _, kind, name in names)
