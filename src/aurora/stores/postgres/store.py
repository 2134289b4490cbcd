"""A memory in PostgreSQL with pgvector: one for a whole team, with any number of readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from aurora.errors import NoMemoryError, StoreBusyError
from aurora.stores.base import Revision
from aurora.stores.postgres.address import DEFAULT_SCHEMA, parse_address
from aurora.stores.postgres.connections import Connections
from aurora.stores.postgres.criteria import PostgresCriteria
from aurora.stores.postgres.files import PostgresFiles
from aurora.stores.postgres.migrating import (
    LOCK,
    WORDS,
    current_version,
    migrate,
    require_known,
)
from aurora.stores.postgres.ranking import PostgresRanking
from aurora.stores.postgres.signals import PostgresSignals
from aurora.stores.postgres.transfer import PostgresTransfer
from aurora.stores.replacing import PAGE
from aurora.text import many
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
                done.append(f"words of {many(store.renew_words(listen), 'chunk')}")
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
        """Words that no chunk has any more. What the server's disk keeps of removed rows goes with
        its own VACUUM."""
        with self.transaction():
            for table in ("terms", "totals"):
                self._execute(f"DELETE FROM {table} WHERE chunks = 0")

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
