"""Reads the table of AuroraKB: documents with metadata and a vector. Writes nothing.

Only the columns `id` and `content` are required. All pages are of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.conninfo import make_conninfo

from aurora.errors import SourceError
from aurora.stores.postgres.address import parse_address
from aurora.stores.postgres.connection import CONNECT_SECONDS, translated
from aurora.types import ForeignDocument, Json

_PAGE = 500
_NEEDED = ("id", "content")
_TAKEN = (*_NEEDED, "namespace", "document_type", "source", "created_at", "metadata_json")
_VECTOR = "embedding_vector"
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_STILL = "SET datestyle = 'ISO'; SET timezone = 'UTC'; SET statement_timeout = 0"


class AuroraKB:
    """The documents of one table at one moment."""

    def __init__(self, connection: psycopg.Connection[Any], table: str) -> None:
        self._connection = connection
        self._table = sql.Identifier(*table.split("."))
        named = self._table.as_string(connection)
        self._types: dict[str, str] = dict(connection.execute(_COLUMNS, (named,)).fetchall())
        if not self._types:
            raise SourceError(
                f"There is no table {table} in {connection.info.dbname}",
                hint="name it with --table, such as --table public.documents",
            )
        if missing := [name for name in _NEEDED if name not in self._types]:
            raise SourceError(
                f"The table {table} has no column {' and no column '.join(missing)}",
                hint="AuroraKB's documents have id and content at least; --table names another",
            )

    @property
    def vector_type(self) -> str:
        """The type of its vectors, such as `vector(1536)`; empty if it has none."""
        return self._types.get(_VECTOR, "")

    @property
    def key_space(self) -> str:
        """The scope of its ids: empty for UUIDs, else the table's name."""
        if self._types["id"] == "uuid":
            return ""
        return f"{self._connection.info.dbname}.{self._table.as_string(self._connection)}"

    def count(self) -> int:
        statement = sql.SQL("SELECT count(*) FROM {}").format(self._table)
        row = self._connection.execute(statement).fetchone()
        return int(row[0]) if row else 0

    def pages(self) -> Iterator[list[ForeignDocument]]:
        """Documents by ascending id in the server's order."""
        columns = [
            sql.SQL("{}::text").format(sql.Identifier(name))
            if name in self._types
            else sql.SQL("NULL")
            for name in _TAKEN
        ]
        # The type comes from the server's catalogue, not from a user.
        after = sql.SQL("WHERE id > %s::{}").format(sql.SQL(self._types["id"]))
        last: str | None = None
        while True:
            statement = sql.SQL("SELECT {} FROM {} {} ORDER BY {}.id LIMIT %s").format(
                sql.SQL(", ").join(columns),
                self._table,
                after if last is not None else sql.SQL("WHERE id IS NOT NULL"),
                self._table,
            )
            values = (_PAGE,) if last is None else (last, _PAGE)
            rows = self._connection.execute(statement, values).fetchall()
            if not rows:
                return
            yield [_document(row) for row in rows]
            last = rows[-1][0]


@contextmanager
def open_aurorakb(url: str, table: str) -> Iterator[AuroraKB]:
    """Open a table for reading. Errors name the source, not the memory."""
    address = parse_address(url)
    conninfo = make_conninfo(url, application_name="aurora", connect_timeout=CONNECT_SECONDS)
    with translated(address.shown), psycopg.connect(conninfo) as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(_STILL)
        yield AuroraKB(connection, table)


def _document(row: tuple[str | None, ...]) -> ForeignDocument:
    id_, content, namespace, document_type, source, created_at, metadata = row
    return ForeignDocument(
        id_ or "", content or "", namespace or "", document_type or "", source or "",
        _moment(created_at), _metadata(metadata),
    )  # fmt: skip


def _moment(written: str | None) -> datetime | None:
    """None for dates that Python does not have, such as infinity."""
    try:
        at = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _metadata(written: str | None) -> Json:
    if not written:
        return None
    try:
        read: Json = json.loads(written, parse_float=_number, parse_int=_number)
    except ValueError:  # a text column that is not JSON
        return written
    # JSON can contain lone surrogates, which no other format can.
    whole: Json = json.loads(json.dumps(read, ensure_ascii=False).encode(errors="replace"))
    return whole


def _number(written: str) -> Any:
    """Numbers beyond the range of floats stay texts."""
    try:
        value = int(written) if written.lstrip("-").isdecimal() else float(written)
    except ValueError:
        return written
    return written if value in (float("inf"), float("-inf")) else value
