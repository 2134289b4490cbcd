"""What is wrong with a SQLite file: all of its trees, references, rows and words are looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from aurora.stores.sqlite_connection import is_corrupt, is_missing
from aurora.stores.sqlite_schema import CHECKSUMS, TEXT_INDEXES, is_damaged
from aurora.text import many


def find_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """In all but the words. Of torn trees nothing else: what they lead to cannot be counted."""
    torn = list(find_torn(connection))
    if torn:
        yield from torn
        return
    try:
        yield from _find_wrong_rows(connection)
    except sqlite3.DatabaseError as exc:
        if not is_corrupt(exc):
            raise
        yield str(exc)


def _find_wrong_rows(connection: sqlite3.Connection) -> Iterator[str]:
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"dangling reference in {table}"
    for table in CHECKSUMS:
        wrong = f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}"
        [(count,)] = connection.execute(wrong)
        if count:
            yield f"damage in {many(count, 'row')} of {table}"


def find_torn(connection: sqlite3.Connection) -> Iterator[str]:
    """Of the trees alone: what is wrong there may have taken rows with it."""
    for text in _ask(connection, "PRAGMA integrity_check"):
        if text != "ok":
            yield " ".join(text.removeprefix("*** in database main ***").split())


def find_stray_words(connection: sqlite3.Connection) -> Iterator[str]:
    """In text indexes that are there. Takes the write lock for a moment, which may be refused."""
    for table in TEXT_INDEXES:
        # rank 1 compares the index with the rows it was made of, not only with itself
        compare = f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)"
        for problem in _ask(connection, compare):
            yield f"text index {table}: {problem}"


def _ask(connection: sqlite3.Connection, question: str) -> Iterator[str]:
    """Answers of one column; that it is too torn to be asked is one, too."""
    try:
        for (text,) in connection.execute(question):
            yield text
    except sqlite3.Error as exc:
        if is_corrupt(exc):
            yield str(exc)
        elif not is_missing(exc):
            raise
