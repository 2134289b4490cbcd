"""What git knows of every chunk's lines, read after the chunks can be found.

Only files that changed, or whose repository has another last commit, are asked about (seed 000,
6.4). Until then a chunk has the history it had, or none.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from aurora.indexing.names import Names
from aurora.indexing.scan import Scan
from aurora.sources.past.history import FileHistory, History, NoHistory
from aurora.sources.past.lines import LineHistory, Unavailable
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import ChunkHistory, Lines, Listener, Tracking, ignore_events

_BATCH = 500  # files written in one transaction
_FRESH_FOR = timedelta(days=1)  # how long "as I saw it" need not be written again


class HistoryReader:
    """Asks git about the files of a scan. `folder` is where what it found out is kept."""

    def __init__(
        self,
        store: Store,
        root: Path | None,
        folder: Path,
        *,
        now: datetime,
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._names, self._folder = store, Names(root), folder
        self._now, self._listen = now, listen

    def read(self, scan: Scan) -> tuple[str, ...]:
        """Bring the histories of all scanned files up to date; tells what git could not."""
        states = self._store.file_states()
        repositories: defaultdict[Path | None, list[FileState]] = defaultdict(list)
        for file in scan.files.values():
            state = states.get(self._names.of(file.path))
            if isinstance(file, SourceFile) and state is not None and not state.left_out:
                repositories[file.repository].append(state)
        troubles = (self._refresh(top, files) for top, files in repositories.items())
        return tuple(trouble for trouble in troubles if trouble)

    def _refresh(self, top: Path | None, files: Sequence[FileState]) -> str:
        """The histories of one repository's files; what went wrong, if anything."""
        history = self._history(top)
        stamp = history.stamp()
        wanted, inside = {}, Names(top)
        for state in files:
            if not stamp or state.history_stamp != stamp:
                wanted[inside.of(self._names.path(state.path))] = state
        found = history.of(sorted(wanted)) if wanted else {}
        self._keep([(wanted[path], each) for path, each in found.items()], stamp)
        self._confirm(state for state in files if stamp and state.history_stamp == stamp)
        reasons = [each.reason for each in found.values() if isinstance(each, Unavailable)]
        if not reasons:
            return ""
        return f"git cannot tell the history of {len(reasons)} files in {top}: {reasons[0]}"

    def _history(self, top: Path | None) -> History | NoHistory:
        if top is None:
            return NoHistory()
        name = hashlib.sha256(os.fsencode(self._names.of(top))).hexdigest()[:12]
        return History(top, cache=self._folder / f"history-{name}.json", listen=self._listen)

    def _keep(self, found: Sequence[tuple[FileState, FileHistory]], stamp: str) -> None:
        for at in range(0, len(found), _BATCH):
            with self._store.transaction():
                for state, history in found[at : at + _BATCH]:
                    told = _told(history, self._store.iter_lines(state.path))
                    self._store.put_histories(told)
                    lasting = "" if isinstance(history, Unavailable) else stamp
                    self._store.put_file_states([self._stamped(state, lasting)])

    def _confirm(self, states: Iterable[FileState]) -> None:
        """Histories that still hold are as good as read now."""
        self._store.put_file_states(
            self._stamped(state, state.history_stamp)
            for state in states
            if state.history_read_at is None or self._now - state.history_read_at > _FRESH_FOR
        )

    def _stamped(self, state: FileState, stamp: str) -> FileState:
        return replace(state, history_stamp=stamp, history_read_at=self._now)


def _told(history: FileHistory, chunks: Iterable[tuple[str, Lines]]) -> dict[str, ChunkHistory]:
    if isinstance(history, LineHistory):
        return {id_: history.touching(lines) for id_, lines in chunks}
    unavailable = isinstance(history, Unavailable)
    answer = ChunkHistory(Tracking.UNAVAILABLE if unavailable else Tracking.UNTRACKED)
    return {id_: answer for id_, _ in chunks}
