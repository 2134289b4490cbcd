"""What is known of the lines of one file: which commit last touched each, and when.

Commits are numbers into one table a repository has for all its files; number 0 stands for lines
that are not committed yet.

The last commit of every line of many files, by going once through the whole history.

`git blame` walks the history anew for each file. Here the history is read once, every version of
every file is compared with the one it grew out of, and the edits are carried out on rows of line
owners. The rules are those of `git blame`, merges and renames included, and so are the answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from aurora.errors import GitLimitError
from aurora.sources.blame.commits import (
    RENAMES,
    UNKNOWN,
    BlobPair,
    Changes,
    Commit,
    Hunks,
    Past,
    Version,
    VersionWalk,
    empty_tree,
    read_changes,
    read_hunks,
)
from aurora.sources.git import Git, open_scratch
from aurora.sources.reading import MAX_BYTES
from aurora.types import ChunkHistory, Lines, Listener, ignore_events

UNCOMMITTED = 0


@dataclass(frozen=True, slots=True)
class Untracked:
    """Git has no commit of this file: untracked, ignored, staged only, or no repository at all."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Git should know, but cannot tell; the reason in its words.

    `lasting` is true for a limit: the same question would reach it again.
    """

    reason: str
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class LineHistory:
    """Every line's last commit, as runs: (first line counted from 1, commit). The last is open."""

    runs: tuple[tuple[int, int], ...]
    times: Sequence[int] = field(repr=False)  # of every commit, in seconds since 1970

    def touching(self, lines: Lines) -> ChunkHistory:
        """The history of some of the lines."""
        first = max(bisect_right(self.runs, (lines.start, len(self.times))) - 1, 0)
        last = bisect_right(self.runs, (lines.end, len(self.times)))
        owners = {owner for _, owner in self.runs[first:last]}
        times = sorted(self.times[owner] for owner in owners if owner != UNCOMMITTED)
        return ChunkHistory(commits=tuple(times), uncommitted=UNCOMMITTED in owners)


class Annotation:
    """The owner of every line, cheap to edit: a list, and one owner of whatever lies beyond it.

    The open end is why no file's length is ever needed: a new file is an empty list and its commit.
    """

    __slots__ = ("owners", "tail")

    def __init__(self, owners: list[int], tail: int) -> None:
        self.owners, self.tail = owners, tail

    def edited(self, hunks: Sequence[int], owner: int) -> Annotation:
        """The lines after an edit; `hunks` is a row of (line, removed, added), from the top."""
        owners = self.owners.copy()
        for at in range(len(hunks) - 3, -1, -3):  # from the end, so that places above stay right
            place, removed, added = hunks[at : at + 3]
            if len(owners) < place + removed:
                owners += [self.tail] * (place + removed - len(owners))
            owners[place : place + removed] = [owner] * added
        return Annotation(owners, self.tail)

    def completed(self, other: Annotation, owner: int) -> Annotation:
        """A merge: lines that only the merge itself would own go to the other parent's owners."""
        size = max(len(self.owners), len(other.owners))
        pairs = zip(self._filled(size), other._filled(size), strict=True)
        owners = [theirs if mine == owner else mine for mine, theirs in pairs]
        return Annotation(owners, other.tail if self.tail == owner else self.tail)

    def _filled(self, size: int) -> list[int]:
        return self.owners + [self.tail] * (size - len(self.owners))

    def runs(self) -> tuple[tuple[int, int], ...]:
        """Neighbouring lines of one owner as one."""
        found: list[tuple[int, int]] = []
        previous = None
        for number, owner in enumerate((*self.owners, self.tail), start=1):
            if owner != previous:
                found.append((number, owner))
                previous = owner
        return tuple(found)

    @classmethod
    def from_runs(cls, runs: Sequence[tuple[int, int]]) -> Annotation:
        owners: list[int] = []
        for (start, owner), (end, _) in pairwise(runs):
            owners += [owner] * (end - start)
        return cls(owners, runs[-1][1])


_COPIES = 80  # of the lines that may be held: a replay that copies more takes over ten seconds


@dataclass(frozen=True, slots=True)
class Start:
    """Where to go on from: a commit, its tree, its files' contents, and how to get their lines."""

    commit: bytes
    tree: bytes
    blobs: Mapping[str, bytes]
    lines: Callable[[str], Annotation]


def replay(
    git: Git,
    commits: Sequence[Commit],
    paths: Collection[str],
    *,
    first: int,
    start: Start | None = None,
    listen: Listener = ignore_events,
) -> dict[str, Annotation]:
    """The lines of each path after the last commit. Owners are `first` + place among the commits.

    A path is left out when it is not there, or is older than what `start` knows.
    """
    past = _read_past(git, commits, start)
    walk = VersionWalk(past, paths, first=first, most=git.limits.numbers)
    begun = walk.begin_at(start.commit, start.tree, start.blobs) if start is not None else {}
    state = walk.run()
    tips = {path: state[path] for path in sorted(paths) if path in state}
    needed = list(walk.needed_for(tips.values()))
    hunks = _read_hunks(git, _pairs(walk.versions, needed), listen)
    known: dict[int, Annotation] = {}
    if start is not None:
        older = set(needed).intersection(begun.values())
        known = {n: start.lines(path) for path, n in begun.items() if n in older}
    lines = _annotate(
        walk.versions, sorted(needed), set(tips.values()), hunks, known, most=git.limits.numbers
    )
    found = {path: lines[tip] for path, tip in tips.items()}
    return {path: each for path, each in found.items() if not _is_unknown(each)}


def _read_past(git: Git, commits: Sequence[Commit], start: Start | None) -> Past:
    empty = empty_tree(git)
    trees = {commit.id: commit.tree for commit in commits}
    if start is not None:
        trees[start.commit] = start.tree
    steps = ((trees[c.parents[0]] if c.parents else empty, c.tree) for c in commits)
    changes = read_changes(git, steps)
    return Past(commits, changes, _read_side_renames(git, commits, trees, changes), empty)


def _read_side_renames(
    git: Git, commits: Sequence[Commit], trees: Mapping[bytes, bytes], changes: Changes
) -> Changes:
    """Renames against a merge's other parents, where it has a file that one of those has not.

    Looking for renames takes long between branches that are far apart, and is seldom needed.
    """
    merges = [
        ((trees[c.parents[0]], c.tree), (trees[other], c.tree))
        for c in commits
        for other in c.parents[1:]
    ]
    added = read_changes(git, (pair for _, pair in merges), options=("--diff-filter=A",))
    doubtful = [
        side
        for first, side in merges
        if {row.path for row in added.get(side, ())} & {row.path for row in changes.get(first, ())}
    ]
    return read_changes(git, doubtful, options=(*RENAMES, "--diff-filter=R"))


def _pairs(versions: Sequence[Version], needed: Iterable[int]) -> list[tuple[bytes, bytes]]:
    """Every two contents of which one grew out of the other, each once."""
    return list(
        dict.fromkeys(
            (versions[parent].blob, versions[number].blob)
            for number in needed
            for parent in versions[number].parents
            if versions[parent].blob  # not those before the commits at hand
        )
    )


def _read_hunks(git: Git, pairs: Sequence[BlobPair], listen: Listener) -> Hunks:
    """The hunks of all pairs or, where git reaches a limit, of all but the large ones."""
    with open_scratch(git) as scratch:
        try:
            return read_hunks(git, scratch, pairs, listen=listen)
        except GitLimitError:
            small = _small(git, pairs)
            if len(small) == len(pairs):
                raise
            git.notes[f"versions over {MAX_BYTES // 1024} KiB count as written anew"] = None
            return read_hunks(git, scratch, small, listen=listen)


def _small(git: Git, pairs: Sequence[BlobPair]) -> list[BlobPair]:
    """The pairs without those of a content that is too large for an index, too."""
    blobs = dict.fromkeys(blob for pair in pairs for blob in pair)
    form = "--batch-check=%(objectsize) %(objectname)"
    answer = git.ask("cat-file", "--buffer", form, given=b"".join(b"%s\n" % blob for blob in blobs))
    rows = (line.split(b" ") for line in answer.splitlines())  # a missing one has no size
    large = {name for size, name in rows if size.isdigit() and int(size) > MAX_BYTES}
    return [pair for pair in pairs if large.isdisjoint(pair)]


def _annotate(
    versions: Sequence[Version],
    needed: Sequence[int],
    tips: Collection[int],
    hunks: Hunks,
    known: Mapping[int, Annotation],
    *,
    most: int,
) -> dict[int, Annotation]:
    """The lines of the tips. A version's lines are let go when nothing more grows out of it.

    `most` is how many lines may be held at once.
    """
    waiting = Counter(parent for number in needed for parent in versions[number].parents)
    lines: dict[int, Annotation] = {}
    held = copied = 0
    for number in needed:
        version = versions[number]
        lines[number] = known.get(number) or _lines_of(version, versions, lines, hunks)
        held += len(lines[number].owners)
        copied += len(lines[number].owners)
        if held > most or copied > most * _COPIES:
            raise GitLimitError("the versions of the files have too many lines")
        for parent in version.parents:
            waiting[parent] -= 1
            if not waiting[parent] and parent not in tips:
                held -= len(lines.pop(parent).owners)
    return lines


def _lines_of(
    version: Version,
    versions: Sequence[Version],
    lines: Mapping[int, Annotation],
    hunks: Hunks,
) -> Annotation:
    found = Annotation([], version.owner)
    for at, parent in enumerate(version.parents):
        edits = hunks.get((versions[parent].blob, version.blob))
        if edits is None:  # a version before the commits at hand, or one that is too large
            return Annotation([], version.owner if versions[parent].blob else UNKNOWN)
        taken = lines[parent].edited(edits, version.owner)
        found = found.completed(taken, version.owner) if at else taken
    return found


def _is_unknown(lines: Annotation) -> bool:
    return lines.tail == UNKNOWN or UNKNOWN in lines.owners
