"""Connections to one server, or to a primary and its replicas, shared by all threads.

Of several hosts the connection string says which are read (`target_session_attrs`,
`load_balance_hosts`); writes always find the primary. Who has written reads from the primary until
the replica has what was written.

PostgreSQL's errors as ours: what happened, where, and the next step. Never a password.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from aurora.errors import (
    NoMemoryError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnreachableError,
)
from aurora.stores.postgres.address import Address
from aurora.stores.postgres.rows import ADAPTERS

BUSY_SECONDS = 10  # how long a writer waits for another one before it gives up
_AWAY = (
    PoolTimeout,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.ConnectionFailure,
    errors.ConnectionDoesNotExist,
    errors.ConnectionException,
    errors.IdleInTransactionSessionTimeout,
)
_SECRET = re.compile(r"(password\s*=\s*)\S+|(//[^:/@\s]*:)[^@\s]*@", re.IGNORECASE)


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Turn the driver's errors into ours, with the server's name and the next step."""
    try:
        yield
    except psycopg.Error as exc:
        raise explained(exc, shown) from exc
    except UnicodeEncodeError as exc:
        raise StoreError(f"{exc.object!r} is not UTF-8", hint="a memory holds only text") from exc


def is_away(exc: BaseException) -> bool:
    """Whether the server, or the way to it, is what failed: the same may work in a moment."""
    if isinstance(exc, _AWAY):
        return True
    return isinstance(exc, psycopg.OperationalError) and exc.sqlstate is None


def explained(exc: psycopg.Error, shown: str) -> StoreError:
    text = plain(exc)
    for words, message, hint in _REFUSALS if exc.sqlstate is None else ():
        if re.search(words, text):
            return StoreError(message.format(shown=shown, text=text), hint=hint)
    if is_away(exc):
        return StoreUnreachableError(
            f"Cannot reach {shown}: {text}",
            hint="check that the server runs and that host and port are right, then try again; "
            "what was not kept is done again",
        )
    for kinds, message, hint in _EXPLANATIONS:
        if isinstance(exc, kinds):
            error = _CLASSES.get(kinds, StoreError)
            return error(message.format(shown=shown, text=text), hint=hint)
    return StoreError(f"{shown}: {text}", hint="`aur db status` tells how the server is")


def plain(exc: psycopg.Error) -> str:
    """The server's own first words, without what must not be seen."""
    said = (exc.diag.message_primary if exc.diag else None) or str(exc)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Is the server running")] or lines
    return _SECRET.sub(r"\1\2…@", told[-1] if told else type(exc).__name__)


# The driver has no code for what happens while it connects; the words say it.
_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        "does not support SSL|root certificate file|certificate verify failed",
        "{shown} cannot be reached as sslmode in store.url wants it: {text}",
        "have the server speak TLS (`ssl = on`), name its certificate by sslrootcert=FILE, or on a "
        "network that you trust write sslmode=prefer",
    ),
    (
        "password authentication failed|no password supplied",
        "{shown} refuses the password: {text}",
        "set PGPASSWORD, or a line HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass (chmod 600)",
    ),
    (
        "database .* does not exist",
        "{shown}: {text}",
        "make the database first (`createdb NAME`), or correct store.url",
    ),
    (
        "role .* (does not exist|is not permitted)|permission denied for database",
        "{shown} does not let this user in: {text}",
        "correct the user in store.url, or have an administrator make one who may connect",
    ),
    (
        "no pg_hba.conf entry",
        "{shown} lets nobody in from here: {text}",
        "have its administrator add a line for you to pg_hba.conf, or use sslmode=require",
    ),
    (
        "translate host name|name resolution|Name or service not known",
        "{shown} cannot be found: {text}",
        "correct the host in store.url (`aur config get store.url`)",
    ),
)


_Kinds = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_LOCKED = errors.LockNotAvailable
_DISK = (errors.DiskFull, errors.OutOfMemory)
_READ_ONLY = errors.ReadOnlySqlTransaction
_MISSING = (errors.UndefinedTable, errors.InvalidSchemaName)
_EXPLANATIONS: tuple[tuple[_Kinds, str, str], ...] = (
    (
        _LOCKED,
        f"{{shown}} is in use by another process (waited {BUSY_SECONDS} s)",
        "wait until the other `aur` has finished, then try again",
    ),
    (
        _DISK,
        "{shown} cannot write: {text}",
        "free some space on the server, then try again; nothing half was kept",
    ),
    (
        _READ_ONLY,
        "{shown} can only be read: it is a replica, or set to read-only",
        "name the primary in store.url, too: HOST1,HOST2/… finds it by itself",
    ),
    (
        errors.InsufficientPrivilege,
        "{shown}: {text}",
        "ask its owner for the right: docs/guide/postgresql.md has the exact GRANTs",
    ),
    (_MISSING, "There is no memory yet at {shown}", "make one with `aur db init`"),
    (
        errors.InvalidCatalogName,
        "{shown}: {text}",
        "make the database first (`createdb NAME`), or correct store.url",
    ),
    (
        errors.InvalidPassword,
        "{shown} refuses the password",
        "set PGPASSWORD, or a line HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass (chmod 600)",
    ),
    (
        (errors.InvalidAuthorizationSpecification, psycopg.OperationalError),
        "{shown}: {text}",
        "check user, password and database in store.url; PGPASSWORD and ~/.pgpass work, too",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        "{shown} is damaged: {text}",
        "restore it from a backup; `REINDEX` mends an index",
    ),
)
_CLASSES: dict[_Kinds, type[StoreError]] = {
    _LOCKED: StoreBusyError,
    _MISSING: NoMemoryError,
    (errors.DataCorrupted, errors.IndexCorrupted): StoreFormatError,
}


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
