"""The default store: one SQLite file in WAL mode, with one writer and many readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from aurora.stores.base import Ranking, Work
from aurora.stores.checkouts import CheckoutPart
from aurora.stores.sqlite.chunks import SQLiteChunks
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.database_file import read_progress, work_lock
from aurora.stores.sqlite.maintenance import SQLiteMaintenance
from aurora.stores.sqlite.search import SQLiteSearch
from aurora.stores.sqlite.vectors import SQLiteVectors
from aurora.types import Progress


class SQLiteStore:
    """`Store` in one file. Rows up to `waiting` are hidden, except those of files."""

    ranking: Ranking | None = None

    def __init__(
        self,
        path: Path,
        *,
        waiting: int = 0,
        read_only: bool = False,
        database: Database | None = None,
    ) -> None:
        self.path = path
        self.database = database or Database(path, waiting=waiting, read_only=read_only)
        self.chunks = SQLiteChunks(self.database)
        self.checkouts = CheckoutPart(self.database, self.chunks)
        self.vectors = SQLiteVectors(self.database)
        self.search = SQLiteSearch(self.database)
        self.maintenance = SQLiteMaintenance(self.database, self.chunks, self.vectors)

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
    def is_read_only(self) -> bool:
        return self.database.read_only

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

    def impatient(self) -> AbstractContextManager[None]:
        return self.database.impatient()

    @contextmanager
    def snapshot(self) -> Iterator[SQLiteStore]:
        """Uses a connection of its own, so that this thread can write meanwhile."""
        if self.database.is_damaged():
            yield SQLiteStore(self.path, database=self.database.readable_copy()[0])
            return
        still = Database(self.path, waiting=self.waiting, read_only=self.is_read_only)
        try:
            still.use_checkout(self.database.used_checkout)
            still.begin_reading()
            yield SQLiteStore(self.path, database=still)
        finally:
            still.close()

    @contextmanager
    def alone(self, work: Work = Work.INDEX) -> Iterator[Callable[[Progress], None]]:
        """Also checks the whole file weekly."""
        with work_lock(self.path, work) as tell:
            self.database.integrity.examine_if_due()
            self.database.integrity.require_whole()
            yield tell

    def run_progress(self, work: Work = Work.INDEX) -> Progress | None:
        return read_progress(self.path, work)

    def close(self) -> None:
        self.database.close()

    # Adoption of a file that came from elsewhere

    def count_waiting(self) -> int:
        """The number of rows that are hidden until the user adopts them."""
        return len(self.database.waiting_rows())

    def take_over(self) -> int:
        """Give the file a new identity, known only to this user; returns its last row number."""
        with self.transaction():
            self.database.set_fact("identity", os.urandom(16).hex())
            self.database.draw_generation()
            [(last,)] = self.database.rows("SELECT coalesce(max(rowid), 0) FROM main.chunks")
        return int(last)
