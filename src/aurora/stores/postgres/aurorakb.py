"""Reading the table of AuroraKB (seed 004): documents with metadata and a vector. Never writing.

Only `id` and `content` must be there. All is of one moment, read in pages by the id.
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
    """The documents of one table, as they are at one moment."""

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
        """What its vectors are, such as `vector(1536)`; empty where it has none."""
        return self._types.get(_VECTOR, "")

    @property
    def key_space(self) -> str:
        """In which ids are unique: everywhere, or only in this table."""
        if self._types["id"] == "uuid":
            return ""
        return f"{self._connection.info.dbname}.{self._table.as_string(self._connection)}"

    def count(self) -> int:
        statement = sql.SQL("SELECT count(*) FROM {}").format(self._table)
        row = self._connection.execute(statement).fetchone()
        return int(row[0]) if row else 0

    def pages(self) -> Iterator[list[ForeignDocument]]:
        """By ascending id, as the server orders them."""
        columns = [
            sql.SQL("{}::text").format(sql.Identifier(name))
            if name in self._types
            else sql.SQL("NULL")
            for name in _TAKEN
        ]
        # The type is the server's own word for it, and no input.
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
    """Errors are of the source: that it is away is not our memory's trouble."""
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
    """None for what Python has no date for, such as infinity."""
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
    except ValueError:  # a column of plain text may hold anything
        return written
    # Halves of characters can be written in JSON, and nowhere else.
    whole: Json = json.loads(json.dumps(read, ensure_ascii=False).encode(errors="replace"))
    return whole


def _number(written: str) -> Any:
    """Numbers that no float holds stay as they are written."""
    try:
        value = int(written) if written.lstrip("-").isdecimal() else float(written)
    except ValueError:
        return written
    return written if value in (float("inf"), float("-inf")) else value
