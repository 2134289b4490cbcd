"""Reads the git history of every chunk.

Git runs while the files are parsed, in processes of its own. Its answers are stored once the chunks
can be found; until then a chunk keeps the history it had. Git is asked only about files that
changed, or that a new commit touched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from aurora.indexing.reader import Names, Scan, is_unchanged
from aurora.quick_classes import dataclass, replace
from aurora.sources.blame.history import FileHistory, History, NoHistory, Unavailable
from aurora.sources.blame.replay import LineHistory
from aurora.sources.git import find_unasked_root
from aurora.sources.walk import SourceFile, is_binary
from aurora.stores.base import FileState, Store
from aurora.types import ChunkHistory, Lines, Listener, Tracking

_BATCH = 500  # files written in one transaction
_FRESH_FOR = timedelta(days=1)  # how long a valid history need not be written again


@dataclass(frozen=True, slots=True)
class RepositoryHistories:
    """Git's answers for one repository."""

    stamp: str  # the state of the repository
    by_name: Mapping[str, FileHistory]  # by the file's name in the memory
    valid: Sequence[FileState]  # files that git was not asked about: their histories are valid
    warning: str = ""


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Reads the histories of scanned files, and stores them."""

    store: Store
    names: Names
    folder: Path | None  # keeps git's answers for later runs; None: git is not asked
    version: str  # the prefix of digests
    ignore_cache: bool  # of earlier runs
    now: datetime

    def read(
        self, scan: Scan, states: Mapping[str, FileState], listen: Listener
    ) -> list[RepositoryHistories]:
        """The histories that may differ from the stored ones. Does not use the store."""
        if self.folder is None:
            return []
        repositories: defaultdict[Path | None, list[SourceFile]] = defaultdict(list)
        for file in scan.files.values():
            if isinstance(file, SourceFile):
                repositories[file.repository].append(file)
        histories = []
        for top, files in repositories.items():
            history: History | NoHistory = NoHistory()
            if top is not None:
                history = History(
                    top, cache=self.folder, ignore_cache=self.ignore_cache, listen=listen
                )
            histories.append(self._read_repository(top, history, files, states))
        return histories

    def _read_repository(
        self,
        top: Path | None,
        history: History | NoHistory,
        files: Sequence[SourceFile],
        states: Mapping[str, FileState],
    ) -> RepositoryHistories:
        stamp, inside, touched_since = history.stamp(), Names(top), cache(history.touched_since)

        def is_valid(state: FileState, path: str) -> bool:
            """True while no commit has touched the file since its history was stored."""
            before = state.history_stamp
            if state.left_out or (stamp and before == stamp):
                return True
            touched = touched_since(before) if stamp and before else None
            return touched is not None and path not in touched

        wanted, valid = {}, []
        for file in files:
            name, path = self.names.of(file.path), inside.of(file.path)
            state = states.get(name)
            unchanged = state is not None and is_unchanged(file, state, self.version)
            if state is not None and unchanged and is_valid(state, path):
                valid.append(state)
            elif unchanged or not is_binary(file.path):  # a binary file has no lines
                wanted[path] = name
        histories = history.of(sorted(wanted)) if wanted else {}
        # After a commit meanwhile, the answers may belong to either state: read all again.
        is_same = not wanted or history.stamp() == stamp
        by_name = {wanted[path]: file_history for path, file_history in histories.items()}
        warning = _warning(top, histories, history.notes)
        return RepositoryHistories(stamp if is_same else "", by_name, valid, warning)

    def keep(self, repositories: Sequence[RepositoryHistories]) -> tuple[int, Iterable[str]]:
        """Store git's answers; the number of chunks with a new history, and warnings."""
        changed, chunks = 0, self.store.chunks
        for repository in repositories:
            stored = chunks.file_states(repository.by_name).values()
            states = [state for state in stored if not state.left_out]
            for at in range(0, len(states), _BATCH):
                with self.store.transaction():
                    by_chunk, stamped = dict[str, ChunkHistory](), []
                    for state in states[at : at + _BATCH]:
                        history = repository.by_name[state.path]
                        by_chunk |= _by_chunk(history, chunks.iter_lines(state.path))
                        passing = isinstance(history, Unavailable) and not history.lasting
                        stamp = "" if passing else repository.stamp
                        stamped.append(self._stamped(state, stamp))
                    changed += chunks.put_histories(by_chunk)
                    chunks.put_file_states(stamped)
            self._confirm(repository.valid, repository.stamp)
        return changed, [repository.warning for repository in repositories if repository.warning]

    def _confirm(self, states: Iterable[FileState], stamp: str) -> None:
        """Mark valid histories as read now."""
        self.store.chunks.put_file_states(
            self._stamped(state, stamp)
            for state in states
            if not state.left_out
            and not (
                state.history_stamp == stamp
                and state.history_read_at is not None
                and self.now - state.history_read_at <= _FRESH_FOR
            )
        )

    def _stamped(self, state: FileState, stamp: str) -> FileState:
        return replace(state, history_stamp=stamp, history_read_at=self.now)


def _by_chunk(history: FileHistory, chunks: Iterable[tuple[str, Lines]]) -> dict[str, ChunkHistory]:
    """The history of each chunk of a file, by id."""
    if isinstance(history, LineHistory):
        return {id_: history.touching(lines) for id_, lines in chunks}
    unavailable = isinstance(history, Unavailable)
    same = ChunkHistory(Tracking.UNAVAILABLE if unavailable else Tracking.UNTRACKED)
    return {id_: same for id_, _ in chunks}


def _warning(top: Path | None, histories: Mapping[str, FileHistory], notes: Sequence[str]) -> str:
    reasons = [history.reason for history in histories.values() if isinstance(history, Unavailable)]
    if top is None or find_unasked_root(top) is not None:
        return ""  # the scan warns that there is no git
    missing = f"git cannot tell the history of {len(reasons)} files in {top}: " if reasons else ""
    coarse = f"The git history of {top} is coarser: {'; '.join(notes)}" if notes else ""
    coarse += " (`aur mem index --force` tries again)" if notes else ""
    return ". ".join(filter(None, (missing + "".join(reasons[:1]), coarse)))
