"""Whole records in SQLite: chunks with all that hangs on them, on their way out of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import starmap

from aurora.stores.base import Record, RecordCounts
from aurora.stores.shared import PAGE, Uniting
from aurora.stores.sqlite.chunks import QUALIFIED, SQLiteChunks, SQLiteRecords
from aurora.stores.sqlite.rows import (
    Row,
    access_from,
    chunk_from,
    history_from,
    moment,
    reasoning_from,
    vector_from,
)
from aurora.stores.sqlite.vectors import SQLiteEmbeddings

_RECORDS = f"""
    SELECT {QUALIFIED}, chunks.rowid, vector, embeddings.checksum, histories.*,
        reasoning.*
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
        LEFT JOIN histories ON histories.chunk = chunks.rowid
        LEFT JOIN embeddings ON embeddings.chunk = chunks.rowid
    WHERE chunks.rowid > ? ORDER BY chunks.rowid LIMIT ?"""
_ROW = 14  # where the row's number stands; what hangs on the chunk comes after it
_COUNTED = ", ".join(
    f"(SELECT count(*) FROM {table})" for table in ("chunks", "accesses", "reasoning", "embeddings")
)
_ACCESSES = "SELECT * FROM accesses WHERE chunk BETWEEN ? AND ? ORDER BY chunk, at"


class SQLiteTransfer(SQLiteChunks, SQLiteRecords, SQLiteEmbeddings, Uniting):
    """The part of `Store` that is about going from one memory into another."""

    def iter_records(self) -> Iterator[Record]:
        last = 0
        while True:
            page = self._rows(_RECORDS, (last, PAGE))
            yield from self._records(page)
            if len(page) < PAGE:
                return
            last = page[-1][_ROW]

    def count_records(self) -> RecordCounts:
        return RecordCounts(*self._rows(f"SELECT {_COUNTED}")[0])

    def _records(self, page: Sequence[Row]) -> Iterator[Record]:
        if not page:
            return
        accesses: dict[int, list[datetime]] = {}
        span = (page[0][_ROW], page[-1][_ROW])
        for row, at in starmap(access_from, self._rows(_ACCESSES, span)):
            accesses.setdefault(row, []).append(moment(at))
        for values in page:
            row, vector, written, *rest = values[_ROW:]
            history, reasoning = rest[:5], rest[5:]
            yield Record(
                chunk_from(values),
                None if reasoning[0] is None else reasoning_from(tuple(reasoning)),
                tuple(accesses.get(row, ())),
                None if history[0] is None else history_from((*history, None)),
                None if vector is None else vector_from(row, vector, written),
            )
