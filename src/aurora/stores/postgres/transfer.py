"""Records of a memory in PostgreSQL, read for export: each chunk with everything attached to it."""

from __future__ import annotations

from collections.abc import Iterator

from aurora.stores.base import Record, RecordCounts
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.rows import (
    COLUMNS,
    Row,
    chunk_from,
    history_from,
    moment,
    reasoning_from,
)
from aurora.stores.postgres.vectors import from_text
from aurora.stores.shared import iter_pages

_RECORDS = f"""
    SELECT {", ".join(f"chunks.{name}" for name in COLUMNS.split(", "))},
        chunks."row", vector::text, tracking, commits, uncommitted,
        pattern_type, success_score, usage_count, reasoning.created_at,
        (SELECT array_agg(at ORDER BY at) FROM accesses
         WHERE accesses."row" = chunks."row" AND accesses.namespace = chunks.namespace)
    FROM chunks LEFT JOIN reasoning USING ("row", namespace)
        LEFT JOIN histories USING ("row", namespace) LEFT JOIN used_vectors USING ("row", namespace)
    WHERE chunks."row" > %s ORDER BY chunks."row" LIMIT %s"""
_ROW = 13  # position of the row number; attached data follows

_COUNTED = ", ".join(
    f"(SELECT count(*) FROM {table})"
    for table in ("chunks", "accesses", "reasoning", "used_vectors")
)


def iter_records(database: Database) -> Iterator[Record]:
    rows = iter_pages(lambda page: database.rows(_RECORDS, page), lambda row: int(row[_ROW]))
    return map(_record, rows)


def count_records(database: Database) -> RecordCounts:
    return RecordCounts(*database.rows(f"SELECT {_COUNTED}")[0])


def _record(row: Row) -> Record:
    vector, *rest = row[_ROW + 1 :]
    history, reasoning, accesses = rest[:3], rest[3:7], rest[7]
    return Record(
        chunk_from(row),
        None if reasoning[0] is None else reasoning_from(tuple(reasoning)),
        tuple(map(moment, accesses or ())),
        None if history[0] is None else history_from((*history, None)),
        None if vector is None else from_text(vector),
    )
