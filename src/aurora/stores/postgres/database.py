"""One memory's tables as the parts of the store use them: transactions, facts, generation.

Readers never wait. One writes at a time, by a lock that goes with its transaction: so generations
grow, and an id is given once.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeAlias

from psycopg import IsolationLevel

from aurora.errors import NoMemoryError
from aurora.stores.postgres.address import Address
from aurora.stores.postgres.connection import BUSY_SECONDS, Connection, Connections
from aurora.stores.postgres.migrate import LOCK, require_newest, require_same

Row: TypeAlias = tuple[Any, ...]  # what the server returns has no static type
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

# A generation lies a random step above the last: see `sqlite_database`.
_STEPS = 1 << 32


class PostgresDatabase:
    """One schema of a database. Opening it makes nothing: that is for `migrating.migrate`."""

    def __init__(self, address: Address, *, newest: bool = True) -> None:
        """`newest`: refuse what another program's words or tables are in."""
        self.address = address
        self._connections = Connections(address)
        self._local = threading.local()
        try:
            identity = self._opened(newest=newest)
        except BaseException:
            self._connections.close()
            raise
        self.identity = identity

    def _opened(self, *, newest: bool) -> str:
        if newest:
            require_newest(self._connections)
        identity = self._fact("identity")
        if identity is None:
            raise NoMemoryError(
                f"There is no memory yet at {self.address.shown}",
                hint="make one with `aur db init`",
            )
        return identity

    @property
    def _own(self) -> Connection | None:
        """This thread's connection, while it is in a transaction."""
        connection: Connection | None = getattr(self._local, "connection", None)
        return connection

    @property
    def _changing(self) -> Connection:
        if self._own is None:
            raise RuntimeError("a change outside a transaction")
        return self._own

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._own is not None:
            with self._connections.translated():
                yield
            return
        with self._connections.translated(), self._connections.writing() as connection:
            with connection.transaction():
                # Not sent again where the way breaks: only who calls knows what was under way.
                connection.execute(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
                connection.execute(
                    "SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, self.address.schema)
                )
                require_same(connection, self.address.shown)
                with self._joining(connection):
                    yield
                    if self._local.drawn is not None:
                        self._set_fact("generation", str(self._local.drawn))
            self._connections.has_written(connection)

    @contextmanager
    def _joining(self, connection: Connection) -> Iterator[None]:
        """All that this thread asks goes over this connection."""
        self._local.connection, self._local.drawn = connection, None
        try:
            yield
        finally:
            self._local.connection = None

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """On a connection of its own: this thread may go on writing beside it."""
        still = type(self)(self.address)
        try:
            with still._connections.translated(), still._connections.reading() as connection:
                connection.isolation_level = IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                try:
                    with connection.transaction(), still._joining(connection):
                        still.generation()  # the moment is that of the first reading
                        yield still
                finally:
                    connection.isolation_level = connection.read_only = None
        finally:
            still.close()

    def _rows(self, sql: str, values: Parameters = ()) -> list[Row]:
        own = self._own

        def ask() -> list[Row]:
            if own is not None:
                return self._run(own, sql, values)
            with self._connections.reading() as connection:
                return self._run(connection, sql, values)

        with self._connections.translated():
            return ask() if own is not None else self._connections.again(ask)

    @staticmethod
    def _run(connection: Connection, sql: str, values: Parameters) -> list[Row]:
        cursor = connection.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    def _without_transaction(self, sql: str) -> None:
        """What cannot be part of one, such as an index that is made while others write."""
        with self._connections.translated(), self._connections.writing() as connection:
            connection.execute(sql)

    def _row_numbers(self, which: str, values: Parameters = ()) -> set[int]:
        """The numbers of the chunks that may be found and fit `which`, an `AND …`."""
        rows = self._rows(f'SELECT array_agg("row") FROM chunks WHERE is_found {which}', values)
        return set(rows[0][0] or ())

    def _execute(self, sql: str, values: Parameters = ()) -> int:
        """Run one change inside a transaction; returns the rows changed."""
        return self._changing.execute(sql, values).rowcount

    def _for_each(self, sql: str, values: Iterable[Parameters]) -> None:
        """The same change with one row of values after the other, sent together."""
        self._changing.cursor().executemany(sql, list(values))

    def _write(self, sql: str, values: Parameters = ()) -> int:
        """The same of what can be found."""
        count = self._execute(sql, values)
        if count:
            self._draw_generation()
        return count

    def _draw_generation(self) -> int:
        """What the generation will be when this transaction has made its changes."""
        if self._local.drawn is None:
            self._local.drawn = self.generation() + 1 + secrets.randbelow(_STEPS)
        drawn: int = self._local.drawn
        return drawn

    def _fact(self, name: str) -> str | None:
        return self._facts([name]).get(name)

    def _facts(self, names: Sequence[str]) -> dict[str, str]:
        rows = self._rows("SELECT name, value FROM facts WHERE name = ANY(%s)", (list(names),))
        return dict(rows)

    def _set_fact(self, name: str, value: str) -> None:
        self._execute(
            "INSERT INTO facts AS known VALUES (%s, %s) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value WHERE known.value <> excluded.value",
            (name, value),
        )

    def _forget_facts(self, names: Iterable[str]) -> None:
        self._execute("DELETE FROM facts WHERE name = ANY(%s)", (list(names),))

    def generation(self) -> int:
        return int(self._fact("generation") or 0)
