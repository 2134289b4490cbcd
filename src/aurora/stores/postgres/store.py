"""A memory in PostgreSQL with pgvector: one for a whole team, with any number of readers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from aurora.errors import StoreBusyError
from aurora.stores import shared
from aurora.stores.base import Embedder, Record, RecordCounts
from aurora.stores.postgres import transfer
from aurora.stores.postgres.address import DEFAULT_SCHEMA, Address, parse_address
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.connection import (
    BUSY_SECONDS,
    Connection,
    Connections,
    Database,
    no_memory,
)
from aurora.stores.postgres.migrate import LOCK, WORDS, current_version, migrate, require_known
from aurora.stores.postgres.ranking_sql import PostgresRanking, table_bytes
from aurora.stores.postgres.search import PostgresSearch
from aurora.stores.postgres.vectors import PostgresVectors
from aurora.text import pluralize
from aurora.types import Listener

_INDEXING = LOCK + 1  # the index lock

# Tables with words or names of chunks. Vectors have none.
_WORDY = ("chunks", "words", "terms", "totals", "reasoning", "files")
_QUICK = 16 << 20  # bytes that are rewritten in about a second
_PAUSE = 0.02  # seconds
_READERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid() AND age(backend_xmin) >= age(%s::xid)"""
_OWNS = """
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) AND (
        SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database())
    FROM pg_class WHERE oid = ANY(%s::regclass[])"""
_CHECKS = (
    (
        "SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid "
        "WHERE relnamespace = current_schema()::regnamespace AND NOT indisvalid",
        "{count} indexes are not valid",
    ),
    (
        'SELECT count(*) FROM chunks FULL JOIN words USING ("row", namespace) '
        "WHERE coalesce(is_found, false) <> (words.length IS NOT NULL)",
        "{count} chunks have words that they should not have, or lack theirs",
    ),
    (
        """SELECT count(*) FROM
               (SELECT term, sum(chunks) AS chunks FROM terms GROUP BY term) AS kept
               FULL JOIN (SELECT lexeme AS term, count(*) AS chunks FROM words, unnest(tsv)
                   GROUP BY lexeme) AS there USING (term)
           WHERE coalesce(kept.chunks, 0) <> coalesce(there.chunks, 0)""",
        "{count} words are counted wrong",
    ),
    (
        """SELECT count(*) FROM (SELECT coalesce(sum(chunks), 0) AS chunks,
               coalesce(sum(tokens), 0) AS tokens FROM totals) AS kept,
               (SELECT count(*) AS chunks, coalesce(sum(length), 0) AS tokens FROM words) AS there
           WHERE (kept.chunks, kept.tokens) <> (there.chunks, there.tokens)""",
        "the number of chunks and words is counted wrong",
    ),
)


class PostgresStore:
    """`Store` in one schema of a database."""

    def __init__(
        self, address: Address, *, newest: bool = True, database: Database | None = None
    ) -> None:
        """`newest`: refuse tables or words of another version."""
        self.address = address
        self.database = database or Database(address, newest=newest)
        self.chunks = PostgresChunks(self.database)
        self.vectors = PostgresVectors(self.database)
        self.search = PostgresSearch(self.database)
        self.ranking = PostgresRanking(self.database)
        self.maintenance = PostgresMaintenance(self.database)

    @classmethod
    def open(cls, url: str, schema: str = DEFAULT_SCHEMA) -> Self:
        """An existing memory; `NoMemoryError` if there is none."""
        return cls(parse_address(url, schema))

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
        if version.words != WORDS:
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
        return nullcontext()  # the server checks its pages

    @contextmanager
    def snapshot(self) -> Iterator[PostgresStore]:
        """Uses a connection of its own, so that this thread can write meanwhile."""
        with self.database.snapshot() as database:
            yield PostgresStore(self.address, database=database)

    def alone(self) -> AbstractContextManager[None]:
        return _index_lock(self.database)

    def close(self) -> None:
        self.database.close()


@contextmanager
def _index_lock(database: Database) -> Iterator[None]:
    """A lock of the connection, not of a transaction. The server releases it with the process."""
    address, connections = database.address, database.connections
    with connections.translated(), connections.connect(to_write=True) as connection:
        row = connection.execute(
            "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_INDEXING, address.schema)
        ).fetchone()
        if row is None or not row[0]:
            raise StoreBusyError(
                f"{address.shown} is being indexed by another process",
                hint="wait until the other `aur mem index` has finished, then try again",
            )
        yield


class PostgresMaintenance:
    """`Maintenance` of one schema."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def iter_records(self) -> Iterator[Record]:
        return transfer.iter_records(self._database)

    def count_records(self) -> RecordCounts:
        return transfer.count_records(self._database)

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        chunks, vectors = PostgresChunks(self._database), PostgresVectors(self._database)
        with self._database.transaction():
            return shared.put_records(chunks, vectors, records, embedder)

    def scrub(self) -> None:
        """Rewrite tables, because VACUUM leaves words in the pages that it frees.

        A rewrite blocks readers, so that large tables are left to `rewrite`.
        """
        with self._database.transaction():
            for table in ("terms", "totals"):
                self._database.execute(f"DELETE FROM {table} WHERE chunks = 0")
        if table_bytes(self._database, *_WORDY) > _QUICK:
            raise StoreBusyError(
                f"What was removed is still in the files of {self._database.address.shown}: "
                "it is large",
                hint="`aur db scrub` rewrites them, which blocks searches meanwhile",
            )
        self.rewrite(patience=1)

    def rewrite(self, *, patience: int = BUSY_SECONDS) -> None:
        """Rewrite all tables that hold words, and the server's statistics of their values.

        Removed text is then in none of the server's files, except its log and its backups.
        """
        self._require_owner()
        connections = self._database.connections
        with connections.translated(), connections.writing() as connection:
            self._await_readers(connection, patience)
            connection.execute(f"SET lock_timeout = '{patience}s'")
            try:
                connection.execute(f"VACUUM (FULL, ANALYZE) {', '.join(_WORDY)}")
                connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")
            finally:
                connection.execute("RESET lock_timeout")

    def _await_readers(self, connection: Connection, patience: int) -> None:
        """Wait for open transactions, because rows that they may still see are copied too."""
        until = time.monotonic() + patience
        now = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        while (readers := connection.execute(_READERS, now).fetchone()) and readers[0]:
            if time.monotonic() > until:
                raise StoreBusyError(
                    f"{self._database.address.shown} is being read by another process: what was "
                    "removed is still in its files",
                    hint="`aur db scrub` removes it, once that has ended its transaction",
                )
            time.sleep(_PAUSE)

    def _require_owner(self) -> None:
        """To other users a server only gives a warning."""
        [(owns,)] = self._database.rows(_OWNS, (list(_WORDY),))
        if not owns:
            raise StoreBusyError(
                f"What was removed is still in the files of {self._database.address.shown}: only "
                "the owner of the tables and of the database may rewrite them",
                hint="have the owner run `aur db scrub`",
            )

    def check(self) -> list[str]:
        counts = ((self._database.rows(sql)[0][0], problem) for sql, problem in _CHECKS)
        return [problem.format(count=count) for count, problem in counts if count]

    def damage(self, *, look: bool = False) -> str:  # noqa: ARG002
        """A server refuses to read a damaged page by itself."""
        return ""

    def repair(self) -> list[str]:
        """Rebuild the words: pages are protected by the server's own checksums."""
        with _index_lock(self._database):
            PostgresRanking(self._database).rebuild_words()
        return []
