"""Memories as an older Aurora left them: its tables, with rows that today's code made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from aurora.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore

_TABLES = ("chunks", "facts", "files", "reasoning", "accesses", "histories", "embeddings")


def make_older(path: Path, schema: int, fill: Callable[[SQLiteStore], object]) -> None:
    """A file of that schema with what `fill` writes, as far as its tables have room for it."""
    current = path.with_name("current.db")
    with closing(SQLiteStore(current)) as store:
        fill(store)
    with closing(sqlite3.connect(path)) as older, older:
        for migration in MIGRATIONS[:schema]:
            for statement in migration.statements:
                older.execute(statement)
        older.execute("ATTACH ? AS current", (str(current),))
        for table in _TABLES:
            _copy(older, table)
        older.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        older.execute(f"PRAGMA user_version = {schema}")


def _copy(older: sqlite3.Connection, table: str) -> None:
    info = older.execute("SELECT name FROM pragma_table_info(?)", (table,))
    columns = ", ".join(name for (name,) in info)
    if columns:
        rowid = "rowid, " if table == "chunks" and "rowid" not in columns else ""
        older.execute(
            f"INSERT OR REPLACE INTO {table} ({rowid}{columns}) "
            f"SELECT {rowid}{columns} FROM current.{table}"
        )
