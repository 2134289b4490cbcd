"""Connections to one server, or to a primary and its replicas, shared by all threads.

Of several hosts the connection string says which are read (`target_session_attrs`,
`load_balance_hosts`); writes always find the primary. Who has written reads from the primary until
the replica has what was written.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool

from aurora.stores.postgres.address import Address
from aurora.stores.postgres.nul import ADAPTERS
from aurora.stores.postgres.trouble import is_away, translated

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

MOST = 10  # connections of one process
CONNECT_SECONDS = 5
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds before each further try; a restart takes about 2
# What HNSW offers at a time, and that it goes on when a filter leaves too few of those.
_SETTINGS = (
    "SET jit = off",  # it takes longer than any question of ours
    "SET random_page_cost = 1.1",  # disks do not turn any more
    "SET hnsw.ef_search = 400",
    "SET hnsw.iterative_scan = strict_order",
)
# Statements are planned for what is asked and how large the tables are now; and a pool between us
# and the server may hand each to another of its connections.
_KWARGS: dict[str, Any] = {"autocommit": True, "context": ADAPTERS, "prepare_threshold": None}
_BEHIND = "SELECT pg_is_in_recovery() AND coalesce(pg_last_wal_replay_lsn() < %s::pg_lsn, true)"

# Its warnings repeat what our errors say, and would go to the terminal.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
logging.getLogger("psycopg.pool").propagate = False


class Connections:
    """Nothing is opened before the first question."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._pools: dict[bool, ConnectionPool[Connection]] = {}
        self._written: str | None = None  # where the primary's log was when we last wrote
        self._lock = threading.Lock()

    def connect(self, *, to_write: bool = False) -> Connection:
        """One of its own, outside the pool; tells at once what is wrong."""
        connection = psycopg.connect(self._conninfo(to_write=to_write), **_KWARGS)
        self._prepare(connection)
        return connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A replica's, where there are some and this process has not just written."""
        with self._pool(to_write=False).connection() as connection:
            if not self._is_behind(connection):
                yield connection
                return
        with self.writing() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._pool(to_write=self.address.is_several).connection() as connection:
            yield connection

    def has_written(self, connection: Connection) -> None:
        """To be told after a commit; only replicas could lack what was written."""
        if self.address.is_several:
            row = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
            self._written = str(row[0]) if row else None

    def _is_behind(self, connection: Connection) -> bool:
        written = self._written
        if written is None:
            return False
        row = connection.execute(_BEHIND, (written,)).fetchone()
        is_behind = bool(row and row[0])
        if not is_behind:
            self._written = None
        return is_behind

    def again(self, ask: Callable[[], T]) -> T:
        """What `ask` answers; asked again where the connection was cut and nothing was changed."""
        for pause in PAUSES:
            try:
                return ask()
            except psycopg.Error as exc:
                if not is_away(exc):
                    raise
            time.sleep(pause)
            for pool in list(self._pools.values()):
                pool.check()  # of those that lie ready, others are cut as well
        return ask()

    def _pool(self, *, to_write: bool) -> ConnectionPool[Connection]:
        with self._lock:
            pool = self._pools.get(to_write)
            if pool is None:
                pool = ConnectionPool(
                    self._conninfo(to_write=to_write),
                    kwargs=_KWARGS,
                    configure=self._prepare,
                    min_size=0,
                    max_size=MOST,
                    num_workers=1,
                    timeout=CONNECT_SECONDS,
                    open=True,
                )
                self._pools[to_write] = pool
            return pool

    def _conninfo(self, *, to_write: bool) -> str:
        several = self.address.is_several and to_write
        return make_conninfo(
            self.address.url,
            connect_timeout=CONNECT_SECONDS,
            application_name="aurora",
            **({"target_session_attrs": "read-write"} if several else {}),
        )

    def _prepare(self, connection: Connection) -> None:
        """All in one message: a server may be far away."""
        schema = self.address.schema
        first = sql.SQL("SET search_path = {}, public; SET aurora.schema = {}").format(
            sql.Identifier(schema), sql.Literal(schema)
        )
        connection.execute(sql.SQL("; ").join([first, *map(sql.SQL, _SETTINGS)]))

    def close(self) -> None:
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    @contextmanager
    def translated(self) -> Iterator[None]:
        with translated(self.address.shown):
            yield
