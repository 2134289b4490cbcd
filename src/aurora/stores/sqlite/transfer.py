"""Records of a memory in SQLite, read for export: each chunk with everything attached to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import starmap

from aurora.stores.base import Record, RecordCounts
from aurora.stores.shared import iter_pages
from aurora.stores.sqlite.chunks import QUALIFIED
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.rows import (
    Row,
    access_from,
    chunk_from,
    history_from,
    moment,
    reasoning_from,
    vector_from,
)

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


def iter_records(database: Database) -> Iterator[Record]:
    records = iter_pages(partial(_read_page, database), lambda numbered: numbered[0])
    return (record for _, record in records)


def count_records(database: Database) -> RecordCounts:
    return RecordCounts(*database.rows(f"SELECT {_COUNTED}")[0])


def _read_page(database: Database, page: tuple[int, int]) -> list[tuple[int, Record]]:
    """Records with their row numbers."""
    rows = database.rows(_RECORDS, page)
    accesses: dict[int, list[datetime]] = {}
    if rows:
        span = (rows[0][_ROW], rows[-1][_ROW])
        for row, at in starmap(access_from, database.rows(_ACCESSES, span)):
            accesses.setdefault(row, []).append(moment(at))
    return [(row[_ROW], _record(row, tuple(accesses.get(row[_ROW], ())))) for row in rows]


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
