"""Which chunks fit all criteria, in SQLite: each criterion is one question, and sets meet.

What an index can answer is asked first; texts are read only for what is left to decide by them.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence

from aurora.stores.fitting import fitting_paths, metadata_fits
from aurora.stores.sqlite_database import MAY_BE_FOUND, SEARCHABLE
from aurora.stores.sqlite_names import SQLiteNames
from aurora.stores.sqlite_rows import batches, is_text
from aurora.stores.sqlite_text import SQLiteText
from aurora.types import Criteria

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


class SQLiteCriteria(SQLiteNames, SQLiteText):
    """The part of `Store` that is about what may be a result."""

    def find_rows(self, criteria: Criteria) -> array[int]:
        failed = self._rows(f"SELECT chunk FROM reasoning WHERE NOT {MAY_BE_FOUND}")
        sets = self._fitting(criteria)
        rows = next(sets, None)
        if rows is None:
            rows = self._row_numbers("")
        for fitting in sets:
            rows &= fitting
            if not rows:
                break
        for word in criteria.without:
            rows -= self._with_phrase(word) or set()
        return array("q", sorted(rows.difference(row for (row,) in failed)))

    def _fitting(self, criteria: Criteria) -> Iterator[set[int]]:
        """The rows that fit each criterion, the quickest to answer first."""
        labels = {
            "kind": [str(kind) for kind in criteria.kinds],
            "lower(language)": [language.lower() for language in criteria.languages],
            "+namespace": criteria.namespaces,  # `+`: its own index would read the texts, too
            "document_type": criteria.document_types,
        }
        if any(labels.values()):
            yield self._labelled(labels)
        if criteria.paths:
            yield self._under(criteria.paths)
        if criteria.names:
            yield set().union(*map(self._named, criteria.names))
        for phrase in criteria.phrases:
            found = self._with_phrase(phrase)
            if found is not None:
                yield found
        for key, value in criteria.metadata:
            yield self._with_metadata(key, value)
        if criteria.since is not None:
            yield self._since(criteria.since.timestamp())

    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """The rows with one of the values in each column that has any, all by one index."""
        which, values = "", []
        for column, wanted in labels.items():
            if wanted:
                known = [label for label in wanted if is_text(label)]
                which += f" AND {column} IN ({', '.join('?' * len(known))})"
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

    def _since(self, seconds: float) -> set[int]:
        """Dated, committed, or - where no date is known or edits wait - written to disk since."""
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
