"""What is wrong with a SQLite file: all of its trees, references, rows and words are looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from aurora.stores.sqlite_schema import CHECKSUMS, TEXT_INDEXES, is_damaged
from aurora.text import many


def find_problems(connection: sqlite3.Connection, *, wait_ms: int) -> Iterator[str]:
    """Words come last: to look at them takes the write lock, which may be refused."""
    yield from find_torn(connection)
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"dangling reference in {table}"
    for table in CHECKSUMS:
        wrong = f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}"
        [(count,)] = connection.execute(wrong)
        if count:
            yield f"damage in {many(count, 'row')} of {table}"
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    for table in TEXT_INDEXES:
        yield from _compare_words(connection, table)


def find_torn(connection: sqlite3.Connection) -> Iterator[str]:
    """Of the trees alone: what is wrong there may have taken rows with it."""
    for (text,) in connection.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield " ".join(text.split())


def _compare_words(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    try:
        # rank 1 compares the index with the rows it was made of, not only with itself
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as exc:
        yield f"text index {table}: {exc}"
