"""The last commit of every line of many files, by going once through the whole history.

`git blame` walks the history anew for each file. Here the history is read once, every version of
every file is compared with the one it grew out of, and the edits are carried out on rows of line
owners. The rules are those of `git blame`, merges and renames included, and so are the answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.sources.git import open_scratch
from aurora.sources.past.commits import RENAMES, Changes, Commit, empty_tree, read_changes
from aurora.sources.past.hunks import Hunks, read_hunks
from aurora.sources.past.lines import Annotation
from aurora.sources.past.versions import UNKNOWN, Past, Version, VersionWalk
from aurora.types import Listener, ignore_events


@dataclass(frozen=True, slots=True)
class Start:
    """Where to go on from: a commit, its tree, its files' contents, and how to get their lines."""

    commit: bytes
    tree: bytes
    blobs: Mapping[str, bytes]
    lines: Callable[[str], Annotation]


def replay(
    folder: Path,
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
    walk = VersionWalk(_read_past(folder, commits, start), paths, first=first)
    begun = walk.begin_at(start.commit, start.tree, start.blobs) if start is not None else {}
    state = walk.run()
    tips = {path: state[path] for path in sorted(paths) if path in state}
    needed = list(walk.needed_for(tips.values()))
    with open_scratch(folder) as scratch:
        hunks = read_hunks(folder, scratch, _pairs(walk.versions, needed), listen=listen)
    known: dict[int, Annotation] = {}
    if start is not None:
        older = set(needed).intersection(begun.values())
        known = {n: start.lines(path) for path, n in begun.items() if n in older}
    lines = _annotate(walk.versions, sorted(needed), set(tips.values()), hunks, known)
    found = {path: lines[tip] for path, tip in tips.items()}
    return {path: each for path, each in found.items() if not _is_unknown(each)}


def _read_past(folder: Path, commits: Sequence[Commit], start: Start | None) -> Past:
    empty = empty_tree(folder)
    trees = {commit.id: commit.tree for commit in commits}
    if start is not None:
        trees[start.commit] = start.tree
    steps = ((trees[c.parents[0]] if c.parents else empty, c.tree) for c in commits)
    changes = read_changes(folder, steps)
    return Past(commits, changes, _read_side_renames(folder, commits, trees, changes), empty)


def _read_side_renames(
    folder: Path, commits: Sequence[Commit], trees: Mapping[bytes, bytes], changes: Changes
) -> Changes:
    """Renames against a merge's other parents, where it has a file that one of those has not.

    Looking for renames takes long between branches that are far apart, and is seldom needed.
    """
    merges = [
        ((trees[c.parents[0]], c.tree), (trees[other], c.tree))
        for c in commits
        for other in c.parents[1:]
    ]
    added = read_changes(folder, (pair for _, pair in merges), options=("--diff-filter=A",))
    doubtful = [
        side
        for first, side in merges
        if {row.path for row in added.get(side, ())} & {row.path for row in changes.get(first, ())}
    ]
    return read_changes(folder, doubtful, options=(*RENAMES, "--diff-filter=R"))


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


def _annotate(
    versions: Sequence[Version],
    needed: Sequence[int],
    tips: Collection[int],
    hunks: Hunks,
    known: Mapping[int, Annotation],
) -> dict[int, Annotation]:
    """The lines of the tips. A version's lines are let go when nothing more grows out of it."""
    waiting = Counter(parent for number in needed for parent in versions[number].parents)
    lines: dict[int, Annotation] = {}
    for number in needed:
        version = versions[number]
        lines[number] = known.get(number) or _lines_of(version, versions, lines, hunks)
        for parent in version.parents:
            waiting[parent] -= 1
            if not waiting[parent] and parent not in tips:
                del lines[parent]
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
        if edits is None:  # a version before the commits at hand
            return Annotation([], UNKNOWN)
        taken = lines[parent].edited(edits, version.owner)
        found = found.completed(taken, version.owner) if at else taken
    return found


def _is_unknown(lines: Annotation) -> bool:
    return lines.tail == UNKNOWN or UNKNOWN in lines.owners
