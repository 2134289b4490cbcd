"""What git knows of every chunk's lines.

Git is asked while the files are parsed: it works in processes of its own, and takes as long. Its
answers are kept once the chunks can be found; until then a chunk has the history it had, or none.
Only files that changed, or whose repository has another last commit, are asked about (seed 000,
6.4).
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from aurora.indexing.reader import Names, is_as_remembered
from aurora.indexing.scan import Scan
from aurora.sources.blame.history import FileHistory, History, NoHistory
from aurora.sources.blame.replay import LineHistory, Unavailable
from aurora.sources.git import find_unasked_root
from aurora.sources.walk import SourceFile, is_binary
from aurora.stores.base import FileState, Store
from aurora.types import ChunkHistory, Lines, Listener, Tracking, ignore_events

_BATCH = 500  # files written in one transaction
_FRESH_FOR = timedelta(days=1)  # how long a history that still holds need not be written again


@dataclass(frozen=True, slots=True)
class Answers:
    """What git said of one repository. Files go by their names in the memory."""

    stamp: str
    found: Mapping[str, FileHistory]
    others: Sequence[FileState]  # not asked about: what is remembered of these still holds
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """How many chunks have another history now, and what git could not tell."""

    changed: int = 0
    troubles: tuple[str, ...] = ()


class _Remembered:
    """Which histories of unchanged files still hold."""

    def __init__(self, history: History | NoHistory) -> None:
        self._history, self.stamp = history, history.stamp()
        self._touched: dict[str, Set[str] | None] = {}

    def holds(self, state: FileState, path: str) -> bool:
        """True while what is remembered is all there is to know of the file at a path."""
        if state.left_out or not self.stamp:
            return bool(state.left_out)
        before = state.history_stamp
        if before == self.stamp:
            return True
        if before and before not in self._touched:
            self._touched[before] = self._history.touched_since(before)
        touched = self._touched.get(before)
        return touched is not None and path not in touched


class HistoryReader:
    """Asks git about the files of a scan. `folder` is where what it found out is kept."""

    def __init__(
        self,
        store: Store,
        root: Path | None,
        folder: Path,
        *,
        version: str,
        anew: bool = False,
        now: datetime,
    ) -> None:
        self._anew = anew  # what was found out before is not used
        self._store, self._names, self._folder, self._now = store, Names(root), folder, now
        self._version = version  # of what is made of files: another makes other chunks

    def ask(
        self, scan: Scan, known: Mapping[str, FileState], *, listen: Listener = ignore_events
    ) -> list[Answers]:
        """The histories that may differ from those remembered. Does not touch the store."""
        repositories: defaultdict[Path | None, list[SourceFile]] = defaultdict(list)
        for file in scan.files.values():
            if isinstance(file, SourceFile):
                repositories[file.repository].append(file)
        return [
            self._ask(top, self._history(top, listen), files, known)
            for top, files in repositories.items()
        ]

    def _ask(
        self,
        top: Path | None,
        history: History | NoHistory,
        files: Sequence[SourceFile],
        known: Mapping[str, FileState],
    ) -> Answers:
        remembered, inside = _Remembered(history), Names(top)
        wanted, others = {}, []
        for file in files:
            name, path = self._names.of(file.path), inside.of(file.path)
            state = known.get(name)
            as_it_was = state is not None and is_as_remembered(file, state, self._version)
            if state is not None and as_it_was and remembered.holds(state, path):
                others.append(state)
            elif as_it_was or not is_binary(file.path):  # that has no lines
                wanted[path] = name
        found = history.of(sorted(wanted)) if wanted else {}
        # A commit made meanwhile belongs to the answers or not: then all are asked for again.
        stamp = remembered.stamp if not wanted or history.stamp() == remembered.stamp else ""
        by_name = {wanted[path]: each for path, each in found.items()}
        return Answers(stamp, by_name, others, _trouble(top, found, history.notes))

    def keep(self, answers: Iterable[Answers]) -> Kept:
        """Remember what git said."""
        changed, troubles = 0, []
        for answer in answers:
            states = self._store.chunks.file_states(answer.found)
            found = [(state, answer.found[n]) for n, state in states.items() if not state.left_out]
            changed += self._keep(found, answer.stamp)
            self._confirm(answer.others, answer.stamp)
            troubles.append(answer.trouble)
        return Kept(changed, tuple(filter(None, troubles)))

    def _history(self, top: Path | None, listen: Listener) -> History | NoHistory:
        if top is None:
            return NoHistory()
        place = self._names.of(top / ".git")  # of the root, too, it is the same after a move
        name = hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
        cache = self._folder / f"history-{name}.book"
        return History(top, cache=cache, anew=self._anew, listen=listen)

    def _keep(self, found: Sequence[tuple[FileState, FileHistory]], stamp: str) -> int:
        changed = 0
        for at in range(0, len(found), _BATCH):
            with self._store.transaction():
                for state, history in found[at : at + _BATCH]:
                    told = _told(history, self._store.chunks.iter_lines(state.path))
                    changed += self._store.chunks.put_histories(told)
                    passing = isinstance(history, Unavailable) and not history.lasting
                    self._store.chunks.put_file_states(
                        [self._stamped(state, "" if passing else stamp)]
                    )
        return changed

    def _confirm(self, states: Iterable[FileState], stamp: str) -> None:
        """Histories that still hold are as good as read now."""
        self._store.chunks.put_file_states(
            self._stamped(state, stamp)
            for state in states
            if not state.left_out and (state.history_stamp != stamp or self._is_old(state))
        )

    def _is_old(self, state: FileState) -> bool:
        read_at = state.history_read_at
        return read_at is None or self._now - read_at > _FRESH_FOR

    def _stamped(self, state: FileState, stamp: str) -> FileState:
        return replace(state, history_stamp=stamp, history_read_at=self._now)


def _told(history: FileHistory, chunks: Iterable[tuple[str, Lines]]) -> dict[str, ChunkHistory]:
    if isinstance(history, LineHistory):
        return {id_: history.touching(lines) for id_, lines in chunks}
    unavailable = isinstance(history, Unavailable)
    answer = ChunkHistory(Tracking.UNAVAILABLE if unavailable else Tracking.UNTRACKED)
    return {id_: answer for id_, _ in chunks}


def _trouble(top: Path | None, found: Mapping[str, FileHistory], notes: Sequence[str]) -> str:
    reasons = [each.reason for each in found.values() if isinstance(each, Unavailable)]
    if top is None or find_unasked_root(top) is not None:
        return ""  # that there is no git was told by the scan
    missing = f"git cannot tell the history of {len(reasons)} files in {top}: " if reasons else ""
    coarse = f"The git history of {top} is coarser: {'; '.join(notes)}" if notes else ""
    coarse += " (`aur mem index --force` tries again)" if notes else ""
    return ". ".join(filter(None, (missing + "".join(reasons[:1]), coarse)))
