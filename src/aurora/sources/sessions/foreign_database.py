"""Reads the SQLite files of other programs, which may be writing to them. Nothing is ever written.

The stores have SQL of their own; no other file of this package does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from aurora.types import Json

MAX_VALUE = 16 * 1024 * 1024  # bytes of a value: larger ones hold pictures
_PATIENCE = 5.0  # seconds to wait for another program
_SHORT = 200  # characters of a message

Row: TypeAlias = "tuple[Json | bytes, ...]"


class ForeignDatabaseError(Exception):
    """The database cannot be read, or not to its end."""


class ForeignDatabase:
    """A SQLite file, opened for reading only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> ForeignDatabase:
        self._connection = self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def rows(self, sql: str, *values: str | int) -> Iterator[Row]:
        """Yield the rows of a query. A text that is not UTF-8 has replacement characters."""
        try:
            with closing(self._connection.execute(sql, values)) as cursor:
                yield from cursor
        except sqlite3.Error as exc:
            raise ForeignDatabaseError(_reason(exc)) from exc

    def columns(self, table: str) -> set[str]:
        """The columns of a table; none if there is no such table."""
        rows = self.rows("SELECT name FROM pragma_table_info(?)", table)
        return {str(name) for (name,) in rows}

    def _open(self) -> sqlite3.Connection:
        """Open the file. In a folder that may not be written to, its log cannot be read either:
        then what is in the file itself is read."""
        if not self._path.is_file():
            raise ForeignDatabaseError("unreadable: there is no such file")
        try:
            return _connect(f"{self._path.absolute().as_uri()}?mode=ro")
        except sqlite3.Error as exc:
            if "unable to open" not in str(exc) and "readonly" not in str(exc):
                raise ForeignDatabaseError(_reason(exc)) from exc
        try:
            return _connect(f"{self._path.absolute().as_uri()}?mode=ro&immutable=1")
        except sqlite3.Error as exc:
            raise ForeignDatabaseError(_reason(exc)) from exc


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, check_same_thread=False)
    try:
        connection.text_factory = _decode
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _reason(exc: sqlite3.Error) -> str:
    return f"unreadable: {exc}"[:_SHORT]
