"""The default store: one SQLite file in WAL mode, one writer and many readers."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from aurora.errors import StoreBusyError, StoreFormatError
from aurora.stores.file_lock import hold
from aurora.stores.sqlite_connection import BUSY_MS
from aurora.stores.sqlite_criteria import SQLiteCriteria
from aurora.stores.sqlite_files import SQLiteFiles
from aurora.stores.sqlite_schema import CHECKSUMS, is_damaged
from aurora.stores.sqlite_signals import SQLiteSignals
from aurora.stores.sqlite_transfer import SQLiteTransfer
from aurora.text import many

_READERS_MS = 1000  # how long forgetting waits for who reads; many who do never pause together
_TEXT_INDEXES = ("chunks_words", "chunks_trigrams")


class SQLiteStore(SQLiteFiles, SQLiteTransfer, SQLiteCriteria, SQLiteSignals):
    """`Store` in one file, put together of its parts."""

    def alone(self) -> AbstractContextManager[None]:
        return hold(self.path.with_name(f"{self.path.name}-indexing"))

    def scrub(self) -> None:
        """Text indexes keep words of deleted rows until they are merged, and the log whole pages
        until they are written to the file. Elsewhere `secure_delete` has overwritten them."""
        with self.transaction():
            for table in _TEXT_INDEXES:
                self._ask_index(f"INSERT INTO {table}({table}) VALUES ('optimize')", ())
        self._rows(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            [(busy, *_)] = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._rows(f"PRAGMA busy_timeout = {BUSY_MS}")
        if busy:
            raise StoreBusyError(
                f"{self.path} is being read by another process: what was removed is still in it",
                hint="it is overwritten with the next `aur mem forget`",
            )

    def repair(self) -> list[str]:
        with self.transaction():
            self._connection.execute("REINDEX")
            self._repair_facts()
            bad = self._rows(
                f"SELECT rowid, CAST(id AS BLOB) FROM chunks WHERE {is_damaged('chunks')}"
            )
            for table in CHECKSUMS.keys() - {"chunks", "facts"}:
                self._write(f"DELETE FROM {table} WHERE {is_damaged(table)}")
            for row, _ in bad:
                self._write("DELETE FROM chunks WHERE rowid = ?", (row,))
            if bad:  # which file a chunk was of may be what is damaged: all are read again
                self._connection.execute("DELETE FROM files")
            for table in _TEXT_INDEXES:
                self._ask_index(f"INSERT INTO {table}({table}) VALUES ('rebuild')", ())
        return [id_.decode(errors="replace") for _, id_ in bad]

    def _repair_facts(self) -> None:
        if not self._connection.execute(f"DELETE FROM facts WHERE {is_damaged('facts')}").rowcount:
            return
        [(newest,)] = self._rows("SELECT max(generation) FROM chunks")
        self._set_fact("identity", os.urandom(16).hex())  # so that all indexes are made anew
        self._set_fact("generation", str(max(newest or 0, self.generation())))
        self._draw_generation()
        if self.embedder() is None:  # nobody knows whose vectors these are
            self._connection.execute("DELETE FROM embeddings")
        if self.next_embedder() is None:
            self._empty_next()

    def check(self) -> list[str]:
        problems = [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [
            f"dangling reference in {row[0]}" for row in self._rows("PRAGMA foreign_key_check")
        ]
        for table in CHECKSUMS:
            [(count,)] = self._rows(f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}")
            if count:
                problems.append(f"damage in {many(count, 'row')} of {table}")
        for table in _TEXT_INDEXES:
            try:
                # rank 1 compares the index with the rows it was made of, not only with itself
                self._rows(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except StoreFormatError as exc:
                problems.append(f"text index {table}: {exc.message}")
        return problems
