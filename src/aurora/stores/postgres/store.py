"""A memory in PostgreSQL with pgvector: one for a whole team, with any number of readers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from aurora.errors import NoMemoryError, StoreBusyError
from aurora.stores.base import Revision
from aurora.stores.postgres.address import DEFAULT_SCHEMA, parse_address
from aurora.stores.postgres.chunks import PostgresFiles
from aurora.stores.postgres.connection import BUSY_SECONDS, Connection, Connections
from aurora.stores.postgres.migrate import (
    LOCK,
    WORDS,
    current_version,
    migrate,
    require_known,
)
from aurora.stores.postgres.ranking_sql import PostgresRanking
from aurora.stores.postgres.search import PostgresCriteria, PostgresSignals
from aurora.stores.postgres.transfer import PostgresTransfer
from aurora.stores.shared import PAGE
from aurora.text import pluralize
from aurora.types import Chunk, Listener, Progress, ignore_events

_INDEXING = LOCK + 1  # the lock of who indexes


class PostgresStore(
    PostgresFiles, PostgresTransfer, PostgresCriteria, PostgresSignals, PostgresRanking
):
    """`Store` in one schema of a database, put together of its parts."""

    @classmethod
    def open(cls, url: str, schema: str = DEFAULT_SCHEMA) -> Self:
        """The memory that is there; `NoMemoryError` where there is none."""
        return cls(parse_address(url, schema))

    @classmethod
    def create(cls, url: str, schema: str = DEFAULT_SCHEMA, *, partitions: int = 0) -> Self:
        """The same, made where there is none."""
        address = parse_address(url, schema)
        if current_version(Connections(address)).schema == 0:
            migrate(Connections(address), partitions=partitions)
        return cls(address)

    @classmethod
    def migrate(cls, url: str, schema: str = DEFAULT_SCHEMA, *, listen: Listener) -> list[str]:
        """Bring a memory up to date: first its tables, then its words; tells what was done."""
        address = parse_address(url, schema)
        connections = Connections(address)
        version = current_version(connections)
        require_known(version, address.shown)
        if version.schema == 0:
            raise NoMemoryError(
                f"There is no memory yet at {address.shown}", hint="make one with `aur db init`"
            )
        done = migrate(connections)
        if version.words != WORDS:
            store = cls(address, newest=False)
            try:
                done.append(f"words of {pluralize(store.renew_words(listen), 'chunk')}")
            finally:
                store.close()
        return done

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A lock of the connection's, not of a transaction: a process that dies lets go."""
        with self._connections.translated(), self._connections.connect(to_write=True) as connection:
            row = connection.execute(
                "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_INDEXING, self.address.schema)
            ).fetchone()
            if row is None or not row[0]:
                raise StoreBusyError(
                    f"{self.address.shown} is being indexed by another process",
                    hint="wait until the other `aur mem index` has finished, then try again",
                )
            yield

    def renew_words(self, listen: Listener = ignore_events) -> int:
        """As this program makes words; killed midway, it is all done again."""
        with self.alone():
            return self.rebuild_words(listen)

    def rebuild_words(self, listen: Listener = ignore_events) -> int:
        """In pages, each whole: searches go on meanwhile. Then all is counted anew."""
        count, last = 0, 0
        total = sum(self.count_chunks().values())
        while page := self._renew_page(last):
            count, last = count + len(page), page[-1][0].row
            listen(Progress("Making words", count, max(total, count)))
        with self.transaction():
            for statement in _COUNT_ANEW:
                self._execute(statement)
            self._set_fact("words", WORDS)
        return count

    def _renew_page(self, last: int) -> list[tuple[Revision, Chunk]]:
        """Read and written under one lock: a text replaced in between has its own words."""
        with self.transaction():
            page = self._revised('"row" > %s ORDER BY "row" LIMIT %s', (last, PAGE))
            self._remove_words([chunk.id for _, chunk in page])
            self._add_words(chunk for _, chunk in page)
        return page

    def scrub(self) -> None:
        """VACUUM leaves words in the pages that it frees, so that tables are written anew. Nobody
        reads them meanwhile: those of a large memory wait for `rewrite`."""
        with self.transaction():
            for table in ("terms", "totals"):
                self._execute(f"DELETE FROM {table} WHERE chunks = 0")
        if self._bytes(*_WORDY) > _QUICK:
            raise StoreBusyError(
                f"What was removed is still in the files of {self.address.shown}: it is large",
                hint="`aur db scrub` writes them anew, while nobody can search",
            )
        self.rewrite(patience=1)

    def rewrite(self, *, patience: int = BUSY_SECONDS) -> None:
        """Write all tables that hold words anew, and what the server noted of their values. What
        was removed is in none of its files then, except in its log and its backups."""
        self._require_owner()
        with self._connections.translated(), self._connections.writing() as connection:
            self._await_readers(connection, patience)
            connection.execute(f"SET lock_timeout = '{patience}s'")
            try:
                connection.execute(f"VACUUM (FULL, ANALYZE) {', '.join(_WORDY)}")
                connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")
            finally:
                connection.execute("RESET lock_timeout")

    def _await_readers(self, connection: Connection, patience: int) -> None:
        """Rows that an open transaction may still see are copied, too."""
        until = time.monotonic() + patience
        now = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        while (readers := connection.execute(_READERS, now).fetchone()) and readers[0]:
            if time.monotonic() > until:
                raise StoreBusyError(
                    f"{self.address.shown} is being read by another process: what was removed is "
                    "still in its files",
                    hint="`aur db scrub` removes it, once that has ended its transaction",
                )
            time.sleep(_PAUSE)

    def _require_owner(self) -> None:
        """To others a server refuses it by a warning alone."""
        [(owns,)] = self._rows(_OWNS, (list(_WORDY),))
        if not owns:
            raise StoreBusyError(
                f"What was removed is still in the files of {self.address.shown}: only the owner "
                "of the tables and of the database may write them anew",
                hint="have the owner run `aur db scrub`",
            )

    def repair(self) -> list[str]:
        """Only words can be wrong: pages have checksums of the server's own."""
        self.renew_words()
        return []

    def damage(self, *, look: bool = False) -> str:  # noqa: ARG002
        """A server refuses to read a damaged page by itself."""
        return ""

    def check(self) -> list[str]:
        counts = ((self._rows(sql)[0][0], problem) for sql, problem in _CHECKS)
        return [problem.format(count=count) for count, problem in counts if count]


# What has words of chunks, or names of theirs. Vectors have none.
_WORDY = ("chunks", "words", "terms", "totals", "reasoning", "files")
_PAUSE = 0.02  # seconds
_READERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid() AND age(backend_xmin) >= age(%s::xid)"""
_QUICK = 16 << 20  # bytes that are written anew in about a second
_OWNS = """
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) AND (
        SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database())
    FROM pg_class WHERE oid = ANY(%s::regclass[])"""
_COUNT_ANEW = (
    "DELETE FROM terms",
    "INSERT INTO terms SELECT lexeme, namespace, count(*) FROM words, unnest(tsv) "
    "GROUP BY lexeme, namespace",
    "DELETE FROM totals",
    "INSERT INTO totals SELECT namespace, count(*), sum(length) FROM words GROUP BY namespace",
)
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
