"""`Maintenance` in PostgreSQL: records for export and import, scrubbing, checks and repair."""

from __future__ import annotations

import time

from aurora.errors import StoreBusyError
from aurora.stores.base import Record, RecordCounts
from aurora.stores.parts import MaintenancePart
from aurora.stores.postgres.connection import BUSY_SECONDS, Connection, Database, work_lock
from aurora.stores.postgres.ranking_sql import PostgresRanking, table_bytes
from aurora.stores.postgres.rows import COLUMNS, chunk_from, history_from, moment, reasoning_from
from aurora.stores.postgres.vectors import from_text
from aurora.stores.shared import Row

_RECORDS = f"""
    SELECT {", ".join(f"chunks.{name}" for name in COLUMNS.split(", "))},
        chunks."row", vector::text, tracking, commits, uncommitted,
        pattern_type, success_score, usage_count, reasoning.created_at,
        (SELECT array_agg(at ORDER BY at) FROM accesses
         WHERE accesses."row" = chunks."row" AND accesses.namespace = chunks.namespace)
    FROM chunks LEFT JOIN reasoning USING ("row", namespace)
        LEFT JOIN histories USING ("row", namespace) LEFT JOIN used_vectors USING ("row", namespace)
    WHERE chunks."row" > %s ORDER BY chunks."row" LIMIT %s"""
_ROW = 13  # position of the row number; attached data follows

_COUNTED = ", ".join(
    f"(SELECT count(*) FROM {table})"
    for table in ("chunks", "accesses", "reasoning", "used_vectors")
)

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


class PostgresMaintenance(MaintenancePart[Database]):
    """`Maintenance` of one schema."""

    def records_page(self, last: int, limit: int) -> list[tuple[int, Record]]:
        return [(row[_ROW], _record(row)) for row in self._database.rows(_RECORDS, (last, limit))]

    def count_records(self) -> RecordCounts:
        return RecordCounts(*self._database.rows(f"SELECT {_COUNTED}")[0])

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
        with work_lock(self._database):
            PostgresRanking(self._database).rebuild_words()
        return []


def _record(row: Row) -> Record:
    vector, *rest = row[_ROW + 1 :]
    history, reasoning, accesses = rest[:3], rest[3:7], rest[7]
    return Record(
        chunk_from(row),
        None if reasoning[0] is None else reasoning_from(tuple(reasoning)),
        tuple(map(moment, accesses or ())),
        None if history[0] is None else history_from((*history, None)),
        None if vector is None else from_text(vector),
    )
