"""Commits and what each changed, read from git in two passes over the whole history.

Only trees are compared here, never contents, so this part is quick: 4 s of CPU for Django's 34,886
commits.

The versions of files and which grew out of which, from the changes of all commits.

A version is a file as one commit left it. This is the graph that `git blame` walks anew for every
file, made once for all: a commit's version grows out of its parent's version of the same path, or
of the path it was renamed from; a merge keeps a parent's version that is the same, and otherwise
grows out of each parent's, the first parent's before the others'.

Which lines differ between many pairs of file contents, by git itself, in a process or two.

Git compares trees, not lists of contents. So two trees are made, one with the old and one with the
new contents under the same made-up names, and compared as if they were commits. This asks for each
pair once, in an order that suits git's delta cache, and needs no walk through directories: a third
of the time `git log -p` takes for the same pairs. The differences are those `git blame` goes by:
its algorithm, no context, every file as text.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from aurora.errors import GitLimitError
from aurora.sources.git import Git, Scratch, own_filters
from aurora.types import Listener, Progress, ignore_events

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


UNKNOWN = -1  # owner of lines that are older than the commits at hand

State = dict[str, int]  # path -> number of its version
Branch = tuple[bytes, State]  # a parent's tree and state


class Version(NamedTuple):
    """A file as a commit left it; `owner` is the commit's number."""

    owner: int
    blob: bytes
    parents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Past:
    """What the walk reads: commits, parents first, and what each changed.

    `changes` are against the first parent, by trees; `renames` against a merge's other parents.
    """

    commits: Sequence[Commit]
    changes: Changes
    renames: Changes
    empty: bytes  # the tree without files, which a first commit is compared with


class VersionWalk:
    """One walk over the commits that keeps the state of every open branch.

    `most` is how many paths all these states may have.
    """

    def __init__(self, past: Past, paths: Iterable[str], *, first: int, most: int) -> None:
        self.versions: list[Version] = []
        self._past, self._first = past, first
        self._live = _with_sources(paths, past)
        self._trees = {commit.id: commit.tree for commit in past.commits}
        self._children = Counter(parent for commit in past.commits for parent in commit.parents)
        self._states: dict[bytes, State] = {}
        self._held, self._most = 0, most  # paths in these states

    def begin_at(self, commit: bytes, tree: bytes, blobs: Mapping[str, bytes]) -> State:
        """Go on from a commit whose files are known already; the numbers of their versions."""
        state = {path: self._add(UNKNOWN, blob, ()) for path, blob in blobs.items()}
        self._trees[commit], self._states[commit] = tree, state
        return dict(state)

    def run(self) -> State:
        """The state after the last commit."""
        state: State = {}
        for number, commit in enumerate(self._past.commits, start=self._first):
            before = [(self._trees[parent], self._take(parent)) for parent in commit.parents]
            before = before or [(self._past.empty, {})]
            self._apply(commit.tree, number, before)
            state = before[0][1]
            if self._children[commit.id]:
                self._states[commit.id] = state
                self._held += len(state)
                if self._held > self._most:
                    raise GitLimitError("too many branches of the history are open at once")
        return state

    def needed_for(self, tips: Iterable[int]) -> Iterator[int]:
        """Versions with all they grew out of, file by file: git keeps neighbours as deltas."""
        seen: set[int] = set()
        for tip in tips:
            waiting = [tip]
            while waiting:
                number = waiting.pop()
                if number not in seen:
                    seen.add(number)
                    waiting.extend(self.versions[number].parents)
                    yield number

    def _take(self, commit: bytes) -> State:
        """A parent's state; its last child may have it for its own."""
        self._children[commit] -= 1
        if self._children[commit]:
            return self._states[commit].copy()
        state = self._states.pop(commit)
        self._held -= len(state)
        return state

    def _apply(self, tree: bytes, owner: int, before: Sequence[Branch]) -> None:
        """Turn the first parent's state into the commit's."""
        first, state = before[0]
        rows = [row for row in self._past.changes.get((first, tree), ()) if row.path in self._live]
        fresh = {row.path: self._grow(row, tree, owner, before) for row in rows if row.blob}
        for row in rows:
            state.pop(row.path, None)
        state.update(fresh)

    def _grow(self, row: Change, tree: bytes, owner: int, before: Sequence[Branch]) -> int:
        """The version a change leads to: a parent's own where one has the same file."""
        origins = list(self._origins(row, tree, before))
        for _, number in sorted(origins, key=lambda origin: origin[0]):  # same path before renamed
            if self.versions[number].blob == row.blob:
                return number
        return self._add(owner, row.blob, tuple(number for _, number in origins))

    def _origins(
        self, row: Change, tree: bytes, before: Sequence[Branch]
    ) -> Iterator[tuple[bool, int]]:
        """Every parent's version of the file, and whether it had another name there."""
        if row.source:
            number = before[0][1].get(row.source)
            yield row.source != row.path, self._add(UNKNOWN, b"", ()) if number is None else number
        for other, state in before[1:]:
            number = state.get(row.path)
            if number is not None:
                yield False, number
                continue
            renames = self._past.renames.get((other, tree), ())
            sources = (state.get(rename.source) for rename in renames if rename.path == row.path)
            yield from ((True, number) for number in sources if number is not None)

    def _add(self, owner: int, blob: bytes, parents: tuple[int, ...]) -> int:
        self.versions.append(Version(owner, blob, parents))
        return len(self.versions) - 1


def _with_sources(paths: Iterable[str], past: Past) -> set[str]:
    """Paths with all the names that their files may have had before, on any branch."""
    renames: dict[str, set[str]] = {}
    for rows in (*past.changes.values(), *past.renames.values()):
        for row in rows:
            if row.source not in ("", row.path):
                renames.setdefault(row.path, set()).add(row.source)
    live = set(paths)
    waiting = list(live)
    while waiting:
        fresh = renames.get(waiting.pop(), set()) - live
        live |= fresh
        waiting.extend(fresh)
    return live


BlobPair = tuple[bytes, bytes]
Hunks = Mapping[BlobPair, Sequence[int]]

_PAIRS_A_TREE = 500  # small enough to share the work evenly, large enough to cost nothing
PATCH = (
    "-p", "-U0", "--text", "--no-renames", "--diff-algorithm=myers", "--indent-heuristic",
    "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
    "--dst-prefix=b/",
)  # fmt: skip
# Every line of a content comes with a sign before it, so these can only be git's own.
_MARK = re.compile(rb"\n(?:diff --git a/(\d+)|@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@)")


def read_hunks(
    git: Git,
    scratch: Scratch,
    pairs: Sequence[BlobPair],
    *,
    listen: Listener = ignore_events,
) -> Hunks:
    """For each pair a row of (place, removed, added): lines taken out and put in, from the top.

    Lines are counted from 0; `place` is where both happen.
    """
    trees = _make_trees(git, scratch, pairs)
    found: dict[BlobPair, array[int]] = {pair: array("i") for pair in pairs}
    done, numbers, telling = 0, 0, threading.Lock()

    def tell(more: int, hunks: int) -> None:
        nonlocal done, numbers
        with telling:
            done += more
            numbers += 3 * hunks
            if numbers > git.limits.numbers:  # Django has 770,000
                raise GitLimitError("the versions of the files differ in too many places")
            listen(Progress("Reading git history", done, len(pairs)))

    def compare(part: Sequence[tuple[bytes, bytes]]) -> None:
        given = b"".join(b"%s %s\n" % pair for pair in part)
        row = array("i")
        for block in git.stream("diff-tree", "--stdin", *PATCH, given=given, scratch=scratch):
            marks = _MARK.findall(b"\n" + block)
            for number, *places in marks:
                if number:
                    row = found[pairs[int(number)]]
                else:
                    row.extend(_hunk(*places))
            tell(block.count(b"\ndiff --git "), len(marks))

    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(compare, [trees[worker::WORKERS] for worker in range(WORKERS)]))
    return found


def parse_hunks(patch: bytes) -> Sequence[int]:
    """The row of a patch for one pair."""
    row = array("i")
    for _, *places in _MARK.findall(patch):
        if places[0]:
            row.extend(_hunk(*places))
    return row


def _hunk(start: bytes, removed: bytes, added: bytes) -> tuple[int, int, int]:
    """Git names the line before a place where nothing is removed, and leaves out a count of 1."""
    count = int(removed) if removed else 1
    return (int(start) - (count > 0), count, int(added) if added else 1)


def _make_trees(git: Git, scratch: Scratch, pairs: Sequence[BlobPair]) -> list[tuple[bytes, bytes]]:
    """Trees of old and new contents, some hundred pairs each."""
    named = enumerate(pairs)
    rows: list[bytes] = []
    while part := list(islice(named, _PAIRS_A_TREE)):
        for side in (0, 1):
            rows.extend(b"100644 blob %s\t%08d\n" % (pair[side], at) for at, pair in part)
            rows.append(b"\n")
    answer = git.ask(
        "mktree", "--batch", "--missing", given=b"".join(rows), scratch=scratch.sealed()
    ).split()
    return list(zip(answer[0::2], answer[1::2], strict=True))
