"""Blame for many files in one pass over the history.

`git blame` walks the history again for each file. `replay` reads the history once, finds for each
version of each file the versions it derives from (`VersionGraph`), lets git compare their contents
(`read_hunks`), and applies the hunks to lists of line owners (`LineOwners`). The rules for merges
and renames are those of `git blame`, and so are the results.

An owner is the number of a commit; 0 stands for uncommitted lines.
"""

from __future__ import annotations

import re
import threading
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import NamedTuple

from aurora.errors import GitLimitError
from aurora.sources.blame.commits import (
    RENAMES,
    WORKERS,
    Change,
    Changes,
    Commit,
    TreePair,
    empty_tree,
    read_changes,
)
from aurora.sources.git import Git, Scratch, open_scratch
from aurora.sources.reading import MAX_BYTES
from aurora.types import ChunkHistory, Lines, Listener, Progress, ignore_events

UNCOMMITTED = 0
_UNKNOWN = -1  # owner of lines that are older than the given commits
_MAX_COPIES = 80  # times the limit on lines: a replay that copies more takes over ten seconds
_PAIRS_PER_TREE = 500
PATCH = (
    "-p", "-U0", "--text", "--no-renames", "--diff-algorithm=myers", "--indent-heuristic",
    "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
    "--dst-prefix=b/",
)  # fmt: skip
# Each line of content has a sign before it, so these lines can only be headers.
_HEADER = re.compile(rb"\n(?:diff --git a/(\d+)|@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@)")


# The owners of lines


@dataclass(frozen=True, slots=True)
class LineHistory:
    """The last commit of every line, as runs of (first line from 1, owner); the last is open."""

    runs: tuple[tuple[int, int], ...]
    times: Sequence[int] = field(repr=False)  # of every commit, in seconds since 1970

    def touching(self, lines: Lines) -> ChunkHistory:
        """Return the history of a range of lines."""
        first = max(bisect_right(self.runs, (lines.start, len(self.times))) - 1, 0)
        last = bisect_right(self.runs, (lines.end, len(self.times)))
        owners = {owner for _, owner in self.runs[first:last]}
        times = sorted(self.times[owner] for owner in owners if owner != UNCOMMITTED)
        return ChunkHistory(commits=tuple(times), uncommitted=UNCOMMITTED in owners)


class LineOwners:
    """The owner of every line of a file, cheap to edit: a list, and the owner of all lines after
    it. So the length of a file is not needed: a new file is an empty list and its commit."""

    __slots__ = ("owners", "tail")

    def __init__(self, owners: list[int], tail: int) -> None:
        self.owners, self.tail = owners, tail

    @classmethod
    def from_runs(cls, runs: Sequence[tuple[int, int]]) -> LineOwners:
        owners: list[int] = []
        for (start, owner), (end, _) in pairwise(runs):
            owners += [owner] * (end - start)
        return cls(owners, runs[-1][1])

    def runs(self) -> tuple[tuple[int, int], ...]:
        """Return the owners as runs, as in `LineHistory`."""
        runs: list[tuple[int, int]] = []
        previous = None
        for number, owner in enumerate((*self.owners, self.tail), start=1):
            if owner != previous:
                runs.append((number, owner))
                previous = owner
        return tuple(runs)

    def edited(self, hunks: Sequence[int], owner: int) -> LineOwners:
        """Apply an edit by `owner`. `hunks` is a row of (line, removed, added), from the top."""
        owners = self.owners.copy()
        for at in range(len(hunks) - 3, -1, -3):  # from the end: lines above keep their place
            place, removed, added = hunks[at : at + 3]
            if len(owners) < place + removed:
                owners += [self.tail] * (place + removed - len(owners))
            owners[place : place + removed] = [owner] * added
        return LineOwners(owners, self.tail)

    def merged(self, other: LineOwners, owner: int) -> LineOwners:
        """Give the lines that only the merge commit `owner` would own to the other parent's."""
        size = max(len(self.owners), len(other.owners))
        pairs = zip(self._padded(size), other._padded(size), strict=True)
        owners = [theirs if mine == owner else mine for mine, theirs in pairs]
        return LineOwners(owners, other.tail if self.tail == owner else self.tail)

    def _padded(self, size: int) -> list[int]:
        return self.owners + [self.tail] * (size - len(self.owners))

    def renumbered(self, number: Callable[[int], int]) -> LineOwners:
        numbers = {owner: number(owner) for owner in {self.tail, *self.owners}}
        return LineOwners([numbers[owner] for owner in self.owners], numbers[self.tail])

    @property
    def is_unknown(self) -> bool:
        return self.tail == _UNKNOWN or _UNKNOWN in self.owners


# The replay


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """The commit that a replay continues from, with its files and how to load their owners."""

    commit: bytes
    tree: bytes
    blobs: Mapping[str, bytes]
    lines: Callable[[str], LineOwners]


def replay(
    git: Git,
    commits: Sequence[Commit],
    paths: Collection[str],
    *,
    first: int,
    base: BaseCommit | None = None,
    listen: Listener = ignore_events,
) -> dict[str, LineOwners]:
    """Return the line owners of each path after the last commit: `first` + index of the commit.

    A path is left out when it does not exist, or is older than `base` knows.
    """
    graph = VersionGraph(git, commits, paths, first=first, base=base)
    versions_of = graph.build()
    tips = {path: versions_of[path] for path in sorted(paths) if path in versions_of}
    needed = list(graph.ancestors(tips.values()))
    hunks = _read_hunks(git, graph.content_pairs(needed), listen)
    used, known = set(needed), dict[int, LineOwners]()
    if base is not None:
        known = {at: base.lines(path) for path, at in graph.base_versions.items() if at in used}
    owners = graph.annotate(sorted(needed), set(tips.values()), hunks, known)
    return {path: owners[tip] for path, tip in tips.items() if not owners[tip].is_unknown}


def _read_merge_renames(
    git: Git, commits: Sequence[Commit], trees: Mapping[bytes, bytes], changes: Changes
) -> Changes:
    """Find renames against the other parents of a merge that lack one of its changed files.

    Only those: detecting renames between distant branches is slow, and seldom needed.
    """
    merges = [
        ((trees[c.parents[0]], c.tree), (trees[other], c.tree))
        for c in commits
        for other in c.parents[1:]
    ]
    added = read_changes(git, (pair for _, pair in merges), options=("--diff-filter=A",))
    unclear = [
        side
        for first, side in merges
        if {row.path for row in added.get(side, ())} & {row.path for row in changes.get(first, ())}
    ]
    return read_changes(git, unclear, options=(*RENAMES, "--diff-filter=R"))


BlobPair = tuple[bytes, bytes]
Hunks = Mapping[BlobPair, Sequence[int]]
VersionsOf = dict[str, int]  # path -> number of its version, at one commit
Parent = tuple[bytes, VersionsOf]  # its tree and versions


class Version(NamedTuple):
    """A file as a commit left it; `owner` is the commit's number."""

    owner: int
    blob: bytes
    parents: tuple[int, ...] = ()


class VersionGraph:
    """The versions of files, and which derive from which.

    The version of a commit derives from its parent's version of the same path, or of the path it
    was renamed from. A merge keeps a parent's version that is the same; otherwise its version
    derives from each parent's, the first parent's first.
    """

    def __init__(
        self,
        git: Git,
        commits: Sequence[Commit],
        paths: Iterable[str],
        *,
        first: int,
        base: BaseCommit | None,
    ) -> None:
        self.versions: list[Version] = []
        self.base_versions: VersionsOf = {}
        self._commits, self._first = commits, first
        self._trees = {commit.id: commit.tree for commit in commits}
        self._open: dict[bytes, VersionsOf] = {}  # by commit, while a child still needs it
        if base is not None:
            blobs = base.blobs.items()
            self.base_versions = {path: self._add(_UNKNOWN, blob, ()) for path, blob in blobs}
            self._open[base.commit] = dict(self.base_versions)
            self._trees[base.commit] = base.tree
        self._empty = empty_tree(git)  # which a root commit is compared with
        pairs = (
            (self._trees[commit.parents[0]] if commit.parents else self._empty, commit.tree)
            for commit in commits
        )
        self._changes = read_changes(git, pairs)  # against the first parent
        self._renames = _read_merge_renames(git, commits, self._trees, self._changes)
        self._paths = _with_former_names(paths, (self._changes, self._renames))
        self._children = Counter(parent for commit in commits for parent in commit.parents)
        self._held, self._most = 0, git.limits.numbers  # paths of all open branches

    def build(self) -> VersionsOf:
        """Walk all commits; returns the versions at the last one."""
        versions: VersionsOf = {}
        for number, commit in enumerate(self._commits, start=self._first):
            parents = [(self._trees[parent], self._take(parent)) for parent in commit.parents]
            parents = parents or [(self._empty, {})]
            self._apply(commit.tree, number, parents)
            versions = parents[0][1]
            if self._children[commit.id]:
                self._open[commit.id] = versions
                self._held += len(versions)
                if self._held > self._most:
                    raise GitLimitError("too many branches of the history are open at once")
        return versions

    def ancestors(self, tips: Iterable[int]) -> Iterator[int]:
        """Yield the tips and their ancestors, file by file: git stores neighbours as deltas."""
        seen: set[int] = set()
        for tip in tips:
            waiting = [tip]
            while waiting:
                number = waiting.pop()
                if number not in seen:
                    seen.add(number)
                    waiting.extend(self.versions[number].parents)
                    yield number

    def content_pairs(self, numbers: Iterable[int]) -> list[BlobPair]:
        """Every pair of a version's content and its parent's, once."""
        pairs = (
            (self.versions[parent].blob, self.versions[number].blob)
            for number in numbers
            for parent in self.versions[number].parents
        )
        return [pair for pair in dict.fromkeys(pairs) if pair[0]]  # not before the given commits

    def annotate(
        self,
        numbers: Sequence[int],
        tips: Collection[int],
        hunks: Hunks,
        known: Mapping[int, LineOwners],
    ) -> dict[int, LineOwners]:
        """Return the owners of the tips; those of other versions are dropped after use."""
        uses = Counter(parent for number in numbers for parent in self.versions[number].parents)
        owners: dict[int, LineOwners] = {}
        held = copied = 0  # lines
        for number in numbers:
            version = self.versions[number]
            owners[number] = known.get(number) or self._owners_of(version, owners, hunks)
            held += len(owners[number].owners)
            copied += len(owners[number].owners)
            if held > self._most or copied > self._most * _MAX_COPIES:
                raise GitLimitError("the versions of the files have too many lines")
            for parent in version.parents:
                uses[parent] -= 1
                if not uses[parent] and parent not in tips:
                    held -= len(owners.pop(parent).owners)
        return owners

    def _owners_of(
        self, version: Version, owners: Mapping[int, LineOwners], hunks: Hunks
    ) -> LineOwners:
        result = LineOwners([], version.owner)
        for at, parent in enumerate(version.parents):
            blob = self.versions[parent].blob
            edits = hunks.get((blob, version.blob))
            if edits is None:  # a version before the given commits, or one that is too large
                return LineOwners([], version.owner if blob else _UNKNOWN)
            inherited = owners[parent].edited(edits, version.owner)
            result = result.merged(inherited, version.owner) if at else inherited
        return result

    def _take(self, commit: bytes) -> VersionsOf:
        """The versions at a parent; its last child gets them without a copy."""
        self._children[commit] -= 1
        if self._children[commit]:
            return self._open[commit].copy()
        versions = self._open.pop(commit)
        self._held -= len(versions)
        return versions

    def _apply(self, tree: bytes, owner: int, parents: Sequence[Parent]) -> None:
        """Change the versions at the first parent into those at the commit."""
        first, versions = parents[0]
        rows = [row for row in self._changes.get((first, tree), ()) if row.path in self._paths]
        new = {row.path: self._derive(row, tree, owner, parents) for row in rows if row.blob}
        for row in rows:
            versions.pop(row.path, None)
        versions.update(new)

    def _derive(self, row: Change, tree: bytes, owner: int, parents: Sequence[Parent]) -> int:
        """The version after a change: the parent's own where a parent has the same content."""
        origins = list(self._origins(row, tree, parents))
        for _, number in sorted(origins, key=lambda origin: origin[0]):  # same path before renamed
            if self.versions[number].blob == row.blob:
                return number
        return self._add(owner, row.blob, tuple(number for _, number in origins))

    def _origins(
        self, row: Change, tree: bytes, parents: Sequence[Parent]
    ) -> Iterator[tuple[bool, int]]:
        """Yield each parent's version of the file, and whether it was renamed since."""
        if row.source:
            number = parents[0][1].get(row.source)
            yield row.source != row.path, self._add(_UNKNOWN, b"", ()) if number is None else number
        for other, versions in parents[1:]:
            number = versions.get(row.path)
            if number is not None:
                yield False, number
                continue
            renames = self._renames.get((other, tree), ())
            sources = (versions.get(rename.source) for rename in renames if rename.path == row.path)
            yield from ((True, number) for number in sources if number is not None)

    def _add(self, owner: int, blob: bytes, parents: tuple[int, ...]) -> int:
        self.versions.append(Version(owner, blob, parents))
        return len(self.versions) - 1


def _with_former_names(paths: Iterable[str], changes: Iterable[Changes]) -> set[str]:
    """Return the paths with all former names that their files may have on any branch."""
    renames: dict[str, set[str]] = {}
    for row in chain.from_iterable(rows for each in changes for rows in each.values()):
        if row.source not in ("", row.path):
            renames.setdefault(row.path, set()).add(row.source)
    names = set(paths)
    waiting = list(names)
    while waiting:
        new = renames.get(waiting.pop(), set()) - names
        names |= new
        waiting.extend(new)
    return names


# The differences between contents


def _read_hunks(git: Git, pairs: Sequence[BlobPair], listen: Listener) -> Hunks:
    """Read the hunks of all pairs or, where git reaches a limit, of all but the large ones."""
    with open_scratch(git) as scratch:
        try:
            return read_hunks(git, scratch, pairs, listen)
        except GitLimitError:
            small = _small_pairs(git, pairs)
            if len(small) == len(pairs):
                raise
            git.notes[f"versions over {MAX_BYTES // 1024} KiB count as rewritten"] = None
            return read_hunks(git, scratch, small, listen)


def _small_pairs(git: Git, pairs: Sequence[BlobPair]) -> list[BlobPair]:
    """Drop the pairs with a content that is also too large for the index."""
    blobs = dict.fromkeys(blob for pair in pairs for blob in pair)
    form = "--batch-check=%(objectsize) %(objectname)"
    output = git.run("cat-file", "--buffer", form, given=b"".join(b"%s\n" % blob for blob in blobs))
    rows = (line.split(b" ") for line in output.splitlines())  # a missing blob has no size
    large = {name for size, name in rows if size.isdigit() and int(size) > MAX_BYTES}
    return [pair for pair in pairs if large.isdisjoint(pair)]


def read_hunks(git: Git, scratch: Scratch, pairs: Sequence[BlobPair], listen: Listener) -> Hunks:
    """Return a row of (line from 0, removed, added) for each pair, from the top.

    Git compares trees, not lists of contents. So two trees are made, one with the old and one with
    the new contents under the same numbers as names, and compared like commits. This asks for each
    pair once, in an order that suits git's delta cache, and takes a third of the time of `git log
    -p`. The differences are those of `git blame`: its algorithm, no context, every file as text.
    """
    trees = _make_trees(git, scratch, pairs)
    hunks: dict[BlobPair, array[int]] = {pair: array("i") for pair in pairs}
    done, numbers, counting = 0, 0, threading.Lock()

    def count(files: int, headers: int) -> None:
        nonlocal done, numbers
        with counting:
            done += files
            numbers += 3 * headers
            if numbers > git.limits.numbers:  # Django has 770,000
                raise GitLimitError("the versions of the files differ in too many places")
            listen(Progress("Reading git history", done, len(pairs)))

    def compare(part: Sequence[TreePair]) -> None:
        given = b"".join(b"%s %s\n" % pair for pair in part)
        row = array("i")
        for block in git.stream("diff-tree", "--stdin", *PATCH, given=given, scratch=scratch):
            headers = _HEADER.findall(b"\n" + block)
            for number, *places in headers:
                if number:
                    row = hunks[pairs[int(number)]]
                else:
                    row.extend(_parse_hunk(*places))
            count(block.count(b"\ndiff --git "), len(headers))

    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(compare, [trees[worker::WORKERS] for worker in range(WORKERS)]))
    return hunks


def _make_trees(git: Git, scratch: Scratch, pairs: Sequence[BlobPair]) -> list[TreePair]:
    """Make trees of old and new contents, some hundred pairs each."""
    numbered = enumerate(pairs)
    rows: list[bytes] = []
    while part := list(islice(numbered, _PAIRS_PER_TREE)):
        for side in (0, 1):
            rows.extend(b"100644 blob %s\t%08d\n" % (pair[side], at) for at, pair in part)
            rows.append(b"\n")
    # Git would update the date of a repository's object that it can see.
    own = Scratch(scratch.objects, borrowed="")
    trees = git.run("mktree", "--batch", "--missing", given=b"".join(rows), scratch=own).split()
    return list(zip(trees[0::2], trees[1::2], strict=True))


def parse_hunks(patch: bytes) -> Sequence[int]:
    """Return the row of hunks of a patch for one file."""
    row = array("i")
    for _, *places in _HEADER.findall(patch):
        if places[0]:
            row.extend(_parse_hunk(*places))
    return row


def _parse_hunk(start: bytes, removed: bytes, added: bytes) -> tuple[int, int, int]:
    """Git names the line before a place where nothing is removed, and omits a count of 1."""
    count = int(removed) if removed else 1
    return (int(start) - (count > 0), count, int(added) if added else 1)
