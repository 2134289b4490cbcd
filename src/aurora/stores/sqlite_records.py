"""What hangs on chunks in SQLite: reasoning, accesses and git histories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import Reasoning
from aurora.stores.sqlite_database import SQLiteDatabase
from aurora.stores.sqlite_rows import (
    access_from,
    batches,
    history_from,
    history_values,
    moment,
    reasoning_from,
    reasoning_values,
)
from aurora.stores.sqlite_schema import is_damaged
from aurora.types import ChunkHistory, Lines

_PUT_HISTORY = """
    INSERT INTO histories
        SELECT rowid, :tracking, :commits, :uncommitted,
            checksum(rowid, :tracking, :commits, :uncommitted) FROM chunks WHERE id = :id
    ON CONFLICT (chunk) DO UPDATE SET tracking = :tracking, commits = :commits,
        uncommitted = :uncommitted, checksum = excluded.checksum
    WHERE (tracking, commits, uncommitted) IS NOT (:tracking, :commits, :uncommitted)"""


class SQLiteRecords(SQLiteDatabase):
    """The part of `Store` that is about what is known of chunks beside their text."""

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            for (row,) in self._rows("SELECT rowid FROM chunks WHERE id = ?", (chunk_id,)):
                self._write(
                    "INSERT OR REPLACE INTO reasoning VALUES (?, ?, ?, ?, ?, ?)",
                    reasoning_values(row, reasoning),
                )

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        rows = self._rows(
            "SELECT reasoning.* "
            "FROM reasoning JOIN chunks ON chunks.rowid = reasoning.chunk WHERE chunks.id = ?",
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        self._connection.executemany(
            "INSERT INTO accesses "
            "SELECT rowid, :at, access_checksum(rowid, :at) FROM chunks WHERE id = :id",
            ({"at": at.timestamp(), "id": chunk_id} for chunk_id, at in accesses),
        )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for batch, marks in batches(chunk_ids):
            rows = self._rows(
                "SELECT chunks.id, accesses.* "
                "FROM accesses JOIN chunks ON chunks.rowid = accesses.chunk "
                f"WHERE chunks.id IN ({marks}) ORDER BY at",
                batch,
            )
            for id_, *access in rows:
                found[id_] = (*found.get(id_, ()), moment(access_from(*access)[1]))
        return found

    # Histories

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._rows(
            "SELECT id, start_line, end_line FROM chunks WHERE path = ? AND start_line IS NOT NULL",
            (path,),
        )
        return ((id_, Lines(start, end)) for id_, start, end in rows)

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        with self.transaction():
            return sum(
                self._connection.execute(
                    _PUT_HISTORY, {"id": id_, **history_values(history)}
                ).rowcount
                for id_, history in histories.items()
            )

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        return {
            row[0]: history_from(row[1:])
            for batch, marks in batches(chunk_ids)
            for row in self._rows(
                "SELECT chunks.id, histories.*, history_read_at "
                "FROM histories JOIN chunks ON chunks.rowid = histories.chunk "
                f"LEFT JOIN files ON files.path = chunks.path AND NOT {is_damaged('files')} "
                f"WHERE chunks.id IN ({marks})",
                batch,
            )
        }
