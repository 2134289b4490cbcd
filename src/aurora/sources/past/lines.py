"""What is known of the lines of one file: which commit last touched each, and when.

Commits are numbers into one table a repository has for all its files; number 0 stands for lines
that are not committed yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from aurora.types import ChunkHistory, Lines

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
