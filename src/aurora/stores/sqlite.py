"""The default store: one SQLite file in WAL mode, one writer and many readers."""

from __future__ import annotations

from contextlib import AbstractContextManager

from aurora.errors import StoreFormatError
from aurora.stores.file_lock import hold
from aurora.stores.sqlite_criteria import SQLiteCriteria
from aurora.stores.sqlite_files import SQLiteFiles
from aurora.stores.sqlite_signals import SQLiteSignals
from aurora.stores.sqlite_transfer import SQLiteTransfer


class SQLiteStore(SQLiteFiles, SQLiteTransfer, SQLiteCriteria, SQLiteSignals):
    """`Store` in one file, put together of its parts."""

    def alone(self) -> AbstractContextManager[None]:
        return hold(self.path.with_name(f"{self.path.name}-indexing"))

    def check(self) -> list[str]:
        problems = [str(row[0]) for row in self._rows("PRAGMA quick_check") if row[0] != "ok"]
        problems += [
            f"dangling reference in {row[0]}" for row in self._rows("PRAGMA foreign_key_check")
        ]
        for table in ("chunks_words", "chunks_trigrams"):
            try:
                # rank 1 compares the index with the rows it was made of, not only with itself
                self._rows(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except StoreFormatError as exc:
                problems.append(f"text index {table}: {exc.message}")
        return problems
