"""What a SQLite file holds, read by plain SQL: what reads for us might be wrong as what writes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

Rows = list[tuple[object, ...]]
TABLES = ("chunks", "accesses", "reasoning", "files", "histories", "embeddings", "next_embeddings")


def query(path: Path, statement: str, *values: object) -> Rows:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def numbers(path: Path) -> tuple[object, ...]:
    """Whose file it is, and of which schema."""
    return (*query(path, "PRAGMA application_id")[0], *query(path, "PRAGMA user_version")[0])


def everything(path: Path) -> tuple[object, ...]:
    """All tables and rows, those of the text indexes too, in words that can be compared."""
    with closing(sqlite3.connect(path)) as connection:
        return (*numbers(path), *connection.iterdump())


def columns(path: Path) -> dict[str, list[str]]:
    """Those of each table that is there."""
    names = {
        table: query(path, f"SELECT name FROM pragma_table_info('{table}')") for table in TABLES
    }
    return {table: [str(name) for (name,) in found] for table, found in names.items() if found}


def contents(path: Path, wanted: Mapping[str, Iterable[str]]) -> dict[str, Rows]:
    """The rows of tables, each with these columns only."""
    return {
        table: sorted(query(path, f"SELECT {', '.join(names)} FROM {table}"), key=repr)
        for table, names in wanted.items()
    }


def schema(path: Path) -> dict[str, str]:
    """What makes each table, index, view and trigger, but for comments and white space."""
    rows = query(path, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {str(name): " ".join(re.sub(r"--.*", "", str(sql)).split()) for name, sql in rows}
