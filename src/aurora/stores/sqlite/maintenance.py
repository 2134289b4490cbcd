"""`Maintenance` in SQLite: records for export and import, scrubbing, checks and repair."""

from __future__ import annotations

from datetime import datetime
from itertools import starmap

from aurora.errors import StoreBusyError
from aurora.stores.base import Record, RecordCounts
from aurora.stores.parts import MaintenancePart
from aurora.stores.shared import Row
from aurora.stores.sqlite.chunks import QUALIFIED
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.database_file import BUSY_MS
from aurora.stores.sqlite.repair import repair
from aurora.stores.sqlite.rows import (
    access_from,
    chunk_from,
    count_levels,
    history_from,
    moment,
    reasoning_from,
    vector_from,
)
from aurora.stores.sqlite.schema import TEXT_INDEXES

_STRUCTURE, _MANY_LEVELS = 10, 500  # the row of FTS5's structure record, and its levels
_READERS_MS = 1000  # how long scrubbing waits for readers; many readers never pause together
_RECORDS = f"""
    SELECT {QUALIFIED}, chunks.rowid, vector, embeddings.checksum, histories.*,
        reasoning.*
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
        LEFT JOIN histories ON histories.chunk = chunks.rowid
        LEFT JOIN embeddings ON embeddings.chunk = chunks.rowid
    WHERE chunks.rowid > ? ORDER BY chunks.rowid LIMIT ?"""
_ROW = 14  # position of the row number; attached data follows
_ACCESSES = "SELECT * FROM accesses WHERE chunk BETWEEN ? AND ? ORDER BY chunk, at"
_COUNTED = ", ".join(
    f"(SELECT count(*) FROM {table})" for table in ("chunks", "accesses", "reasoning", "embeddings")
)


class SQLiteMaintenance(MaintenancePart[Database]):
    """`Maintenance` of one file."""

    def records_page(self, last: int, limit: int) -> list[tuple[int, Record]]:
        rows = self._database.rows(_RECORDS, (last, limit))
        accesses: dict[int, list[datetime]] = {}
        if rows:
            span = (rows[0][_ROW], rows[-1][_ROW])
            for row, at in starmap(access_from, self._database.rows(_ACCESSES, span)):
                accesses.setdefault(row, []).append(moment(at))
        return [(row[_ROW], _record(row, tuple(accesses.get(row[_ROW], ())))) for row in rows]

    def count_records(self) -> RecordCounts:
        return RecordCounts(*self._database.rows(f"SELECT {_COUNTED}")[0])

    def scrub(self) -> None:
        """Merge text indexes, which keep removed words, and empty the log, which keeps whole pages.

        Everything else is overwritten by `secure_delete`.
        """
        database = self._database
        self.merge_words()
        database.rows(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            with database.integrity.seal.changing():
                [(busy, *_)] = database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.rows(f"PRAGMA busy_timeout = {BUSY_MS}")
        if busy:
            raise StoreBusyError(
                f"{database.path} is being read by another process: "
                "what was removed is still in it",
                hint="it is overwritten with the next `aur mem forget`",
            )

    def merge_words(self) -> None:
        """Merge each text index, or rebuild it after some hundred merges.

        Every merge adds levels, without limit in SQLite 3.40, which takes 2,000 levels for damage.
        """
        database = self._database
        with database.transaction():
            for table in TEXT_INDEXES:
                record = f"SELECT block FROM {table}_data WHERE id = {_STRUCTURE}"
                levels = [count_levels(block) for (block,) in database.rows_if_any(record) or ()]
                how = "rebuild" if max(levels, default=0) >= _MANY_LEVELS else "optimize"
                database.rows_if_any(f"INSERT INTO {table}({table}) VALUES ('{how}')")

    def check(self) -> list[str]:
        return self._database.integrity.check()

    def damage(self, *, look: bool = False) -> str:
        if look:
            self._database.integrity.look()
        return self._database.readable_copy()[1] if self._database.is_damaged() else ""

    def repair(self) -> list[str]:
        return repair(self._database)


def _record(values: Row, accesses: tuple[datetime, ...]) -> Record:
    row, vector, written, *rest = values[_ROW:]
    history, reasoning = rest[:5], rest[5:]
    return Record(
        chunk_from(values),
        None if reasoning[0] is None else reasoning_from(tuple(reasoning)),
        accesses,
        None if history[0] is None else history_from((*history, None)),
        None if vector is None else vector_from(row, vector, written),
    )
