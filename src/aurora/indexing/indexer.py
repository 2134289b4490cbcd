"""Keeps the chunks of files in step with the files.

A run that is stopped leaves a smaller memory, and the next one goes on from there. One bad file
never stops a run: it is counted and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aurora.indexing.names import Names
from aurora.indexing.reader import FileReader, Tally
from aurora.indexing.report import IndexReport
from aurora.indexing.scan import Scan
from aurora.redaction import Redactor
from aurora.stores.base import FileState, Store
from aurora.types import Listener, Progress, ignore_events


class Indexer:
    """Files into the store, under their names below `root`."""

    def __init__(
        self,
        store: Store,
        root: Path | None,
        *,
        redactor: Redactor | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._listen = store, listen
        self._redactor = redactor or Redactor()
        self._names = Names(root)

    def index(self, scan: Scan, known: Mapping[str, FileState] | None = None) -> IndexReport:
        """Bring everything that was scanned up to date; what is gone leaves.

        `known` are the states of the files before, if somebody has read them already.
        """
        known = self._store.file_states() if known is None else known
        listed = set(map(self._names.of, scan.files))
        gone = self._gone(scan, (known[name] for name in known.keys() - listed), scan.shut)
        reader = FileReader(self._store, self._names, known, gone, self._redactor)
        for done, file in enumerate(scan.files.values(), start=1):
            reader.visit(file)
            self._listen(Progress("Indexing", done, len(scan.files)))
        reader.flush()
        tally = reader.tally
        left = (known[name] for name in known.keys() - tally.seen)
        removed = self._forget(self._gone(scan, left, tally.shut), tally)
        return IndexReport(
            scanned=len(scan.files),
            parsed=tally.parsed,
            unchanged=tally.unchanged,
            removed=removed,
            skipped=tally.skipped,
            warnings=(*scan.warnings, *tally.warnings),
            failed=tally.failed,
            errors=scan.errors,
        )

    def _gone(
        self, scan: Scan, states: Iterable[FileState], shut: Sequence[Path]
    ) -> list[FileState]:
        """Of the files that were not met, those that should have been.

        What lies behind a folder that cannot be read may be back tomorrow.
        """
        gone = []
        for state in states:
            path = self._names.path(state.path)
            below = any(map(path.is_relative_to, scan.places))
            if below and not (any(map(path.is_relative_to, shut)) or _is_shut(path)):
                gone.append(state)
        return gone

    def _forget(self, gone: Sequence[FileState], tally: Tally) -> int:
        self._store.forget_files(state.path for state in gone)
        left = (state for state in gone if not state.left_out and state.path not in tally.moved)
        return tally.removed + sum(1 for _ in left)


def _is_shut(path: Path) -> bool:
    """True where nobody can tell whether a file is there: git lists no untracked ones then."""
    try:
        path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return False
