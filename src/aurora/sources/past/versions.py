"""The versions of files and which grew out of which, from the changes of all commits.

A version is a file as one commit left it. This is the graph that `git blame` walks anew for every
file, made once for all: a commit's version grows out of its parent's version of the same path, or
of the path it was renamed from; a merge keeps a parent's version that is the same, and otherwise
grows out of each parent's, the first parent's before the others'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aurora.errors import GitLimitError
from aurora.sources.past.commits import Change, Changes, Commit

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
