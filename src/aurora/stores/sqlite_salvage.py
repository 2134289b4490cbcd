"""Rows of a SQLite file whose trees are torn: all that can still be read is written anew."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aurora.stores.replacing import PAGE
from aurora.stores.sqlite_rows import Row
from aurora.stores.sqlite_schema import HANGING, is_damaged

_LAST = 1 << 40  # more rows than any file has
_PROBES = 20_000  # of a table: where nothing can be read, nobody asks for every row


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A folder beside the file, for the new one. What a killed process left there goes first."""
    folder = path.with_name(f"{path.name}-salvage")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def salvage(torn: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Copy every whole row that can be read, inside a transaction of `new`. Not what is remembered
    of files: they are read again, for rows of theirs may be lost."""
    with suppress(sqlite3.DatabaseError):  # what is lost of it is made anew
        _copy(new, "facts", torn.execute(f"SELECT * FROM facts WHERE NOT {is_damaged('facts')}"))
    for table in ("chunks", *HANGING):
        _copy(new, table, _readable(torn, table))


def _copy(new: sqlite3.Connection, table: str, rows: Iterator[Row]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        new.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)


def _readable(torn: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Ranges are halved until what cannot be read is alone."""
    select = f"""
        SELECT {table}.rowid, {table}.* FROM {table} NOT INDEXED
        WHERE {table}.rowid BETWEEN ? AND ? AND NOT {is_damaged(table)}
        ORDER BY {table}.rowid LIMIT ?"""
    ranges = [(0, _LAST)]
    for _ in range(_PROBES):
        if not ranges:
            return
        first, last = ranges.pop()
        most = min(PAGE, last - first + 1)  # or SQLite would look for more, in the next page
        try:
            rows = torn.execute(select, (first, last, most)).fetchall()
        except sqlite3.DatabaseError:
            if first < last:
                middle = (first + last) // 2
                ranges += [(middle + 1, last), (first, middle)]
            continue
        yield from (row[1:] for row in rows)
        if len(rows) == PAGE:
            ranges.append((rows[-1][0] + 1, last))
