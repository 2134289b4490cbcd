"""The default store: one SQLite file in WAL mode, with one writer and many readers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from aurora.errors import StoreBusyError
from aurora.stores import shared
from aurora.stores.base import Embedder, Ranking, Reclaimed, Record, RecordCounts
from aurora.stores.sqlite import transfer
from aurora.stores.sqlite.chunks import SQLiteChunks
from aurora.stores.sqlite.connection import BUSY_MS, Database, index_lock
from aurora.stores.sqlite.repair import ForeignCopy, copy_foreign, reclaim, repair
from aurora.stores.sqlite.rows import count_levels
from aurora.stores.sqlite.schema import TEXT_INDEXES
from aurora.stores.sqlite.search import SQLiteSearch
from aurora.stores.sqlite.vectors import SQLiteVectors
from aurora.types import Chunk

_STRUCTURE, _MANY_LEVELS = 10, 500  # the row of FTS5's structure record, and its levels
_READERS_MS = 1000  # how long scrubbing waits for readers; many readers never pause together


class SQLiteStore:
    """`Store` in one file. Rows up to `waiting` are hidden, except those of files."""

    ranking: Ranking | None = None

    def __init__(self, path: Path, *, waiting: int = 0, database: Database | None = None) -> None:
        self.database = database or Database(path, waiting=waiting)
        self.chunks = SQLiteChunks(self.database)
        self.vectors = SQLiteVectors(self.database)
        self.search = SQLiteSearch(self.database)
        self.maintenance = SQLiteMaintenance(self.database)

    @property
    def path(self) -> Path:
        return self.database.path

    @property
    def waiting(self) -> int:
        """The last hidden row. Set to 0 if no row is hidden: its indexes are those of all rows."""
        return self.database.waiting

    @waiting.setter
    def waiting(self, last: int) -> None:
        self.database.waiting = last

    @property
    def identity(self) -> str:
        return self.database.identity

    @property
    def is_sealed(self) -> bool:
        """Whether the file is as Aurora left it. If not, the first read checks all of it."""
        return self.database.integrity.seal.holds()

    def generation(self) -> int:
        return self.database.generation()

    def transaction(self) -> AbstractContextManager[None]:
        return self.database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        return self.database.reading()

    @contextmanager
    def snapshot(self) -> Iterator[SQLiteStore]:
        """Uses a connection of its own, so that this thread can write meanwhile."""
        if self.database.is_damaged():
            yield SQLiteStore(self.path, database=self.database.readable_copy()[0])
            return
        still = Database(self.path, waiting=self.waiting)
        try:
            still.begin_reading()
            yield SQLiteStore(self.path, database=still)
        finally:
            still.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Also checks the whole file weekly."""
        with index_lock(self.path):
            self.database.integrity.examine_if_due()
            self.database.integrity.require_whole()
            yield

    def close(self) -> None:
        self.database.close()

    # Adoption of a file that came from elsewhere

    def count_waiting(self) -> int:
        """The number of rows that are hidden until the user adopts them."""
        return len(self.database.waiting_rows())

    def iter_waiting(self) -> Iterator[Chunk]:
        """The chunks that are hidden until the user adopts them."""
        return self.chunks.iter_waiting()

    def take_over(self) -> int:
        """Give the file a new identity, known only to this user; returns its last row number."""
        with self.transaction():
            self.database.set_fact("identity", os.urandom(16).hex())
            self.database.draw_generation()
            [(last,)] = self.database.rows("SELECT coalesce(max(rowid), 0) FROM main.chunks")
        return int(last)

    @staticmethod
    def copy_foreign(path: Path) -> AbstractContextManager[ForeignCopy]:
        """Copy the intact rows of a file with foreign objects, none of which is run."""
        return copy_foreign(path)

    @staticmethod
    def reclaim(path: Path) -> Reclaimed | None:
        """Rebuild a file that SQLite cannot open. A file that opens is not changed."""
        return reclaim(path)


class SQLiteMaintenance:
    """`Maintenance` of one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def iter_records(self) -> Iterator[Record]:
        return transfer.iter_records(self._database)

    def count_records(self) -> RecordCounts:
        return transfer.count_records(self._database)

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        chunks, vectors = SQLiteChunks(self._database), SQLiteVectors(self._database)
        with self._database.transaction():
            return shared.put_records(chunks, vectors, records, embedder)

    def scrub(self) -> None:
        """Merge text indexes, which keep removed words, and empty the log, which keeps whole pages.

        Everything else is overwritten by `secure_delete`.
        """
        database = self._database
        self.merge_words()
        database.rows(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            with database.integrity.seal.changing():
                [(busy, *_)] = database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.rows(f"PRAGMA busy_timeout = {BUSY_MS}")
        if busy:
            raise StoreBusyError(
                f"{database.path} is being read by another process: "
                "what was removed is still in it",
                hint="it is overwritten with the next `aur mem forget`",
            )

    def merge_words(self) -> None:
        """Merge each text index, or rebuild it after some hundred merges.

        Every merge adds levels, without limit in SQLite 3.40, which takes 2,000 levels for damage.
        """
        database = self._database
        with database.transaction():
            for table in TEXT_INDEXES:
                record = f"SELECT block FROM {table}_data WHERE id = {_STRUCTURE}"
                levels = [count_levels(block) for (block,) in database.rows_if_any(record) or ()]
                how = "rebuild" if max(levels, default=0) >= _MANY_LEVELS else "optimize"
                database.rows_if_any(f"INSERT INTO {table}({table}) VALUES ('{how}')")

    def check(self) -> list[str]:
        return self._database.integrity.check()

    def damage(self, *, look: bool = False) -> str:
        if look:
            self._database.integrity.look()
        return self._database.readable_copy()[1] if self._database.is_damaged() else ""

    def repair(self) -> list[str]:
        return repair(self._database)
