"""A memory in PostgreSQL with pgvector: one for a whole team, with any number of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from aurora.stores.base import Work
from aurora.stores.checkouts import CheckoutPart
from aurora.stores.postgres.address import DEFAULT_SCHEMA, Address, parse_address
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.connection import (
    Connections,
    Database,
    no_memory,
    read_progress,
    work_lock,
)
from aurora.stores.postgres.maintenance import PostgresMaintenance
from aurora.stores.postgres.migrate import WORDS, current_version, migrate, require_known
from aurora.stores.postgres.ranking_sql import PostgresRanking
from aurora.stores.postgres.search import PostgresSearch
from aurora.stores.postgres.vectors import PostgresVectors
from aurora.text import pluralize
from aurora.types import Listener, Progress


class PostgresStore:
    """`Store` in one schema of a database."""

    def __init__(
        self,
        address: Address,
        *,
        newest: bool = True,
        read_only: bool = False,
        database: Database | None = None,
    ) -> None:
        """`newest`: refuse tables or words of another version. `read_only`: writes fail."""
        self.address, self.is_read_only = address, read_only
        self.database = database or Database(address, newest=newest, read_only=read_only)
        self.chunks = PostgresChunks(self.database)
        self.checkouts = CheckoutPart(self.database, self.chunks)
        self.vectors = PostgresVectors(self.database)
        self.search = PostgresSearch(self.database)
        self.ranking = PostgresRanking(self.database)
        self.maintenance = PostgresMaintenance(self.database, self.chunks, self.vectors)

    @classmethod
    def open(cls, url: str, schema: str = DEFAULT_SCHEMA, *, read_only: bool = False) -> Self:
        """An existing memory; `NoMemoryError` if there is none."""
        return cls(parse_address(url, schema), read_only=read_only)

    @classmethod
    def create(cls, url: str, schema: str = DEFAULT_SCHEMA, *, partitions: int = 0) -> Self:
        """A memory, which is created if there is none."""
        address = parse_address(url, schema)
        if current_version(Connections(address)).schema == 0:
            migrate(Connections(address), partitions=partitions)
        return cls(address)

    @classmethod
    def migrate(cls, url: str, schema: str = DEFAULT_SCHEMA, *, listen: Listener) -> list[str]:
        """Bring tables and words of a memory up to date; returns the steps taken."""
        address = parse_address(url, schema)
        connections = Connections(address)
        version = current_version(connections)
        require_known(version, address.shown)
        if version.schema == 0:
            raise no_memory(address.shown)
        done = migrate(connections)
        if current_version(connections).words != WORDS:
            store = cls(address, newest=False)
            try:
                with store.alone():  # an interrupted run is repeated from the start
                    count = store.ranking.rebuild_words(listen)
                done.append(f"words of {pluralize(count, 'chunk')}")
            finally:
                store.close()
        return done

    @property
    def identity(self) -> str:
        return self.database.identity

    def generation(self) -> int:
        return self.database.generation()

    def transaction(self) -> AbstractContextManager[None]:
        return self.database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        return self.database.reading()

    def impatient(self) -> AbstractContextManager[None]:
        return self.database.impatient()

    @contextmanager
    def snapshot(self) -> Iterator[PostgresStore]:
        """Uses a connection of its own, so that this thread can write meanwhile."""
        with self.database.snapshot() as database:
            database.use_checkout(self.database.used_checkout)
            yield PostgresStore(self.address, read_only=self.is_read_only, database=database)

    def alone(self, work: Work = Work.INDEX) -> AbstractContextManager[Callable[[Progress], None]]:
        return work_lock(self.database, work)

    def run_progress(self, work: Work = Work.INDEX) -> Progress | None:
        return read_progress(self.database, work)

    def close(self) -> None:
        self.database.close()
