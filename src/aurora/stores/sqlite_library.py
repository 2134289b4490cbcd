"""What the SQLite library of this Python can do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SQLiteLibrary:
    """Its version, and whether it has what a memory is made of."""

    version: str
    has_fts5: bool
    has_trigrams: bool


def describe_library() -> SQLiteLibrary:
    """Found out by trying: a library may be built without anything."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return SQLiteLibrary(
            sqlite3.sqlite_version,
            has_fts5=_can_make(connection, "unicode61"),
            has_trigrams=_can_make(connection, "trigram"),
        )


def _can_make(connection: sqlite3.Connection, tokenizer: str) -> bool:
    try:
        connection.execute(
            f"CREATE VIRTUAL TABLE {tokenizer} USING fts5(content, tokenize='{tokenizer}')"
        )
    except sqlite3.Error:
        return False
    return True
