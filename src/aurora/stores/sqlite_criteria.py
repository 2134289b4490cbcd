"""Which chunks fit a criterion, in SQLite; `selecting` puts the answers together."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from datetime import datetime

from aurora.stores.fitting import fitting_paths, metadata_fits
from aurora.stores.selecting import Selecting
from aurora.stores.sqlite_database import MAY_BE_FOUND, SEARCHABLE
from aurora.stores.sqlite_names import SQLiteNames
from aurora.stores.sqlite_rows import batches
from aurora.stores.sqlite_schema import list_waiting
from aurora.stores.sqlite_text import SQLiteText
from aurora.text import is_text

# The fourth of the eight bytes leaves out what is half a year older; `_since` decides the rest.
_COMMITTED_SINCE = """
    SELECT chunk, substr(commits, -8) FROM histories
    WHERE commits <> x'' AND (substr(commits, -5, 1) >= ? OR substr(commits, -4) <> x'00000000')"""
# `CROSS`: from the few files that are new to their chunks, not through all chunks.
_MODIFIED_SINCE = """
    SELECT chunks.rowid FROM files CROSS JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories ON histories.chunk = chunks.rowid
    WHERE files.modified_ns / 1e9 >= ? AND (
        histories.uncommitted
        OR (coalesce(length(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""

_COLUMNS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "+namespace",  # `+`: its own index would read the texts, too
    "document_type": "document_type",
}


class SQLiteCriteria(SQLiteNames, SQLiteText, Selecting):
    """The part of `Store` that is about what may be a result."""

    def _all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _hidden_rows(self) -> set[int]:
        return {
            row for (row,) in self._rows(f"SELECT chunk FROM reasoning WHERE NOT {MAY_BE_FOUND}")
        } | self._waiting_rows()

    def _waiting_rows(self) -> set[int]:
        """Text indexes do not know what is hidden."""
        return {row for (row,) in self._rows(list_waiting(self.waiting))} if self.waiting else set()

    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """All by one index."""
        which, values = "", []
        for label, wanted in labels.items():
            known = [one for one in wanted if is_text(one)]
            which += f" AND {_COLUMNS[label]} IN ({', '.join('?' * len(known))})"
            values += known
        return self._row_numbers(which, values)

    def _under(self, globs: Sequence[str]) -> set[int]:
        paths = (path for (path,) in self._rows("SELECT DISTINCT path FROM chunks"))
        rows: set[int] = set()
        for batch, marks in batches(fitting_paths(paths, globs)):
            rows |= self._row_numbers(f"AND path IN ({marks})", batch)
        return rows

    def _with_metadata(self, key: str, value: str) -> set[int]:
        """JSON is read in Python, which wrote it; SQLite only looks for its spelling."""
        if not (is_text(key) and is_text(value)):
            return set()
        rows = self._rows(
            f"SELECT chunks.rowid, metadata {SEARCHABLE} "
            "AND instr(metadata, ?) AND instr(metadata, ?)",
            (f"{_spelt(key)}: ", _spelt(value)[1:-1]),
        )
        return {row for row, metadata in rows if metadata_fits(json.loads(metadata), key, value)}

    def _since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND chunks.created_at >= ?", (seconds,))
        fourth = max(0, min(int(seconds) >> 24, 255))
        last = self._rows(_COMMITTED_SINCE, (bytes([fourth]),))
        newest = struct.unpack(f"<{len(last)}q", b"".join(commit for _, commit in last))
        committed = {row for (row, _), at in zip(last, newest, strict=True) if at >= seconds}
        modified = self._rows(_MODIFIED_SINCE, (seconds,))
        return dated | committed | {row for (row,) in modified}


def _spelt(text: str) -> str:
    """As `sqlite_rows.chunk_values` writes it."""
    return json.dumps(text, ensure_ascii=False)
