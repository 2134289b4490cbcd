"""One schema of a PostgreSQL database: connections, errors, transactions, facts and generation.

With several hosts, the connection string says which of them are read (`target_session_attrs`,
`load_balance_hosts`). Writes always go to the primary. After a write, this process reads from the
primary until the replica has caught up. Readers never wait. Writers take turns by a lock that ends
with the transaction, so that generations grow and ids are unique. No message contains a password.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import Any, TypeVar

import psycopg
from psycopg import IsolationLevel, errors, sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from aurora.errors import (
    NoMemoryError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnreachableError,
)
from aurora.stores import shared
from aurora.stores.base import Work
from aurora.stores.postgres.address import Address
from aurora.stores.postgres.binary import HEADER, TRAILER
from aurora.stores.postgres.migrate import LOCK, require_newest, require_same
from aurora.stores.postgres.rows import ADAPTERS
from aurora.stores.shared import PAGE, Parameters, Row, ThreadState, portions
from aurora.text import is_text
from aurora.types import Progress

# Errors

BUSY_SECONDS = 10  # how long a writer waits for another writer
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
    """Turn the driver's errors into Aurora's, with the server's name and the next step."""
    try:
        yield
    except psycopg.Error as exc:
        raise explained(exc, shown) from exc
    except UnicodeEncodeError as exc:
        raise StoreError(f"{exc.object!r} is not UTF-8", hint="a memory holds only text") from exc


def is_away(exc: BaseException) -> bool:
    """Whether the server or the network failed, so that a retry may succeed."""
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
            "the next run repeats what was not saved",
        )
    for kinds, error, message, hint in _EXPLANATIONS:
        if isinstance(exc, kinds):
            return error(message.format(shown=shown, text=text), hint=hint)
    return StoreError(f"{shown}: {text}", hint="`aur db status` shows the state of the server")


def no_memory(shown: str) -> NoMemoryError:
    message, hint = _NO_MEMORY
    return NoMemoryError(message.format(shown=shown), hint=hint)


def plain(exc: psycopg.Error) -> str:
    """The server's main message without secrets."""
    message = (exc.diag.message_primary if exc.diag else None) or str(exc)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith("Is the server running")] or lines
    return _SECRET.sub(r"\1\2…@", useful[-1] if useful else type(exc).__name__)


_NO_MEMORY = ("There is no memory yet at {shown}", "make one with `aur db init`")
_MAKE_DATABASE = "make the database first (`createdb NAME`), or correct store.url"
_SIGN_IN = "set PGPASSWORD, or a line HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass (chmod 600)"
# Errors while connecting have no code, so that their text is matched.
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
        _SIGN_IN,
    ),
    ("database .* does not exist", "{shown}: {text}", _MAKE_DATABASE),
    (
        "role .* (does not exist|is not permitted)|permission denied for database",
        "{shown} does not let this user in: {text}",
        "correct the user in store.url, or have an administrator allow the user to connect",
    ),
    (
        "no pg_hba.conf entry",
        "{shown} accepts no connection from this machine: {text}",
        "have its administrator add a line for you to pg_hba.conf, or use sslmode=require",
    ),
    (
        "translate host name|name resolution|Name or service not known",
        "{shown} cannot be found: {text}",
        "correct the host in store.url (`aur config get store.url`)",
    ),
)


_Kinds = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_EXPLANATIONS: tuple[tuple[_Kinds, type[StoreError], str, str], ...] = (
    (
        errors.LockNotAvailable,
        StoreBusyError,
        f"{{shown}} is in use by another process (waited {BUSY_SECONDS} s)",
        "wait until the other `aur` has finished, then try again",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        StoreError,
        "{shown} cannot write: {text}",
        "free some space on the server, then try again; nothing was saved in part",
    ),
    (
        errors.ReadOnlySqlTransaction,
        StoreError,
        "{shown} can only be read: it is a replica, or set to read-only",
        "name the primary in store.url, too: HOST1,HOST2/… finds it by itself",
    ),
    (
        errors.InsufficientPrivilege,
        StoreError,
        "{shown}: {text}",
        "have its owner do this, or give you the right: `aur db grant writer ROLE`, or `reader` to "
        "search",
    ),
    ((errors.UndefinedTable, errors.InvalidSchemaName), NoMemoryError, *_NO_MEMORY),
    (errors.InvalidCatalogName, StoreError, "{shown}: {text}", _MAKE_DATABASE),
    (errors.InvalidPassword, StoreError, "{shown} refuses the password", _SIGN_IN),
    (
        (errors.InvalidAuthorizationSpecification, psycopg.OperationalError),
        StoreError,
        "{shown}: {text}",
        "check user, password and database in store.url; PGPASSWORD and ~/.pgpass work, too",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreFormatError,
        "{shown} is damaged: {text}",
        "restore it from a backup; `REINDEX` repairs an index",
    ),
)

# Connections

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

MOST = 10  # connections of one process
CONNECT_SECONDS = 5
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds before each retry; a restart takes about 2
_SETTINGS = (
    "SET jit = off",  # takes longer than any of Aurora's queries
    "SET random_page_cost = 1.1",  # solid-state disks
    "SET hnsw.ef_search = 400",  # candidates of an HNSW scan
    "SET hnsw.iterative_scan = strict_order",  # continue if a filter leaves too few of them
)
# No prepared statements: each is planned for its values and the current table sizes, and a pooler
# in front of the server may send each to another connection.
_KWARGS: dict[str, Any] = {"autocommit": True, "context": ADAPTERS, "prepare_threshold": None}
_READ_ONLY = "SET default_transaction_read_only = on"
_BEHIND = "SELECT pg_is_in_recovery() AND coalesce(pg_last_wal_replay_lsn() < %s::pg_lsn, true)"

# The pool's warnings repeat Aurora's errors and would go to the terminal.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
logging.getLogger("psycopg.pool").propagate = False


class Connections:
    """Pools of connections, shared by all threads and opened by the first query."""

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        self.address, self._read_only = address, read_only
        self._pools: dict[bool, ConnectionPool[Connection]] = {}
        self._written: str | None = None  # position of the primary's log after the last write
        self._lock = threading.Lock()

    def connect(self, *, to_write: bool = False) -> Connection:
        """A connection outside the pool. Errors are raised at once."""
        connection = psycopg.connect(self._conninfo(to_write=to_write), **_KWARGS)
        self._prepare(connection)
        return connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A replica's connection, unless the replica lacks a write of this process."""
        with self._pool(to_write=False).connection() as connection:
            if not self._is_behind(connection):
                yield connection
                return
        with self.writing() as connection:
            yield connection

    def writing(self) -> AbstractContextManager[Connection]:
        return self._pool(to_write=self.address.is_several).connection()

    def has_written(self, connection: Connection) -> None:
        """Note a commit, which replicas may lack for a moment."""
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

    def again(self, read: Callable[[], T]) -> T:
        """The result of `read`, which is retried if the connection was lost."""
        for pause in PAUSES:
            try:
                return read()
            except psycopg.Error as exc:
                if not is_away(exc):
                    raise
            time.sleep(pause)
            for pool in list(self._pools.values()):
                pool.check()  # other idle connections are lost too
        return read()

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
                    num_workers=2,  # an attempt to connect that hangs does not block the next
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
        """Send all settings in one message, because the server may be far away."""
        schema = self.address.schema
        first = sql.SQL("SET search_path = {}, public; SET aurora.schema = {}").format(
            sql.Identifier(schema), sql.Literal(schema)
        )
        settings = [*_SETTINGS, _READ_ONLY] if self._read_only else _SETTINGS
        connection.execute(sql.SQL("; ").join([first, *map(sql.SQL, settings)]))

    def close(self) -> None:
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def translated(self) -> AbstractContextManager[None]:
        return translated(self.address.shown)


# One schema

_WORK = {Work.INDEX: LOCK + 1, Work.VECTORS: LOCK + 2}  # the keys of the locks
_COPIED = 50  # rows sent at a time
_PROGRESS = "aurora"  # how the name of a connection with progress begins
_SEPARATOR = "|"  # PostgreSQL replaces control characters in names
_HOLDER = """
    SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = %s::int::oid AND objid = hashtext(%s)::oid
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class _ThreadState(ThreadState):
    connection: Connection | None = None  # of a transaction
    patience_ms = BUSY_SECONDS * 1000  # with another writer
    facts: Mapping[str, str] | None = None  # of a reading

    @contextmanager
    def using(self, connection: Connection) -> Iterator[None]:
        """Send all queries of this thread over this connection."""
        self.connection = connection
        self.begin()
        try:
            yield
        finally:
            self.connection = None


class Database(shared.Database):
    """One existing schema of a database. `migrate.migrate` creates it."""

    row, searchable = 'chunks."row"', "FROM chunks WHERE is_found"
    folded_name, like, metadata_text = "folded_name", "ILIKE", "metadata::text"

    def __init__(self, address: Address, *, newest: bool = True, read_only: bool = False) -> None:
        """`newest`: refuse tables or words of another version."""
        self.address = address
        self.connections = Connections(address, read_only=read_only)
        self._local: _ThreadState = _ThreadState()
        try:
            if newest:
                require_newest(self.connections)
            identity = self.fact("identity")
        except BaseException:
            self.connections.close()
            raise
        if identity is None:
            self.connections.close()
            raise no_memory(address.shown)
        self.identity = identity

    def close(self) -> None:
        self.connections.close()

    # Reading

    def rows(self, sql: str, values: Parameters = ()) -> list[Row]:
        """`?` stands for a bound value, as in SQLite."""
        own, sql = self._local.connection, sql.replace("?", "%s")

        def read() -> list[Row]:
            with self.connections.reading() as connection:
                return _fetch(connection, sql, values)

        with self.connections.translated():
            return self.connections.again(read) if own is None else _fetch(own, sql, values)

    def rows_in(self, sql: str, values: Iterable[object]) -> Iterator[Row]:
        known = (value for value in values if not isinstance(value, str) or is_text(value))
        for page in portions(known, PAGE):
            yield from self.rows(sql.replace("IN ?", "= ANY(?)"), (page,))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reads of this thread inside share the facts, which are read now."""
        local = self._local
        if local.facts is not None or local.connection is not None:
            yield
            return
        local.facts = dict(self.rows("SELECT name, value FROM facts"))
        try:
            yield
        finally:
            local.facts = None

    @contextmanager
    def snapshot(self) -> Iterator[Database]:
        """A second database whose reads in this thread are all of one moment."""
        still = Database(self.address)
        try:
            with still.connections.translated(), still.connections.reading() as connection:
                connection.isolation_level = IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                try:
                    with connection.transaction(), still._local.using(connection):
                        still.generation()  # the first read sets the moment
                        yield still
                finally:
                    connection.isolation_level = connection.read_only = None
        finally:
            still.close()

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._local.connection is not None:
            with self.connections.translated():
                yield
            return
        self._local.facts = None  # those of a reading may change
        with self.connections.translated(), self.connections.writing() as connection:
            with connection.transaction():
                # Not retried on a lost connection: only the caller knows what to repeat.
                connection.execute(f"SET LOCAL lock_timeout = '{self._local.patience_ms}ms'")
                connection.execute(
                    "SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, self.address.schema)
                )
                require_same(connection, self.address.shown)
                with self._local.using(connection):
                    yield
                    if self._local.drawn is not None:
                        self.set_fact("generation", str(self._local.drawn))
            self.connections.has_written(connection)

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Do not wait for another writer."""
        before, self._local.patience_ms = self._local.patience_ms, 1
        try:
            yield
        finally:
            self._local.patience_ms = before

    def run_alone(self, sql: str, settings: Mapping[str, str] | None = None) -> None:
        """Run a statement that cannot be part of a transaction, with these settings."""
        connections = self.connections
        with connections.translated(), connections.connect(to_write=True) as connection:
            for setting in (settings or {}).items():
                connection.execute("SELECT set_config(%s, %s, false)", setting)
            connection.execute(sql)

    def execute(self, sql: str, values: Parameters = ()) -> int:
        return self._own_connection().execute(sql.replace("?", "%s"), values).rowcount

    def execute_many(self, sql: str, values: Iterable[Parameters]) -> None:
        self._own_connection().cursor().executemany(sql, list(values))

    def copy(self, table: str, rows: Iterable[bytes]) -> None:
        """Add rows as `binary.row` makes them. The server stores some while others are made."""
        pages = map(b"".join, portions(rows, _COPIED))
        first = next(pages, None)
        if first is None:
            return
        statement = f"COPY {table} FROM STDIN (FORMAT BINARY)"
        with self._own_connection().cursor() as cursor, cursor.copy(statement) as copy:
            for page in chain((HEADER, first), pages, (TRAILER,)):
                copy.write(page)

    def _own_connection(self) -> Connection:
        if self._local.connection is None:
            raise RuntimeError("a change outside a transaction")
        return self._local.connection

    # Facts

    def generation(self) -> int:
        return int(self.fact("generation") or 0)

    def fact(self, name: str) -> str | None:
        return self.facts([name]).get(name)

    def facts(self, names: Sequence[str]) -> dict[str, str]:
        known = self._local.facts
        if known is not None:
            return {name: known[name] for name in names if name in known}
        return dict(self.rows("SELECT name, value FROM facts WHERE name = ANY(%s)", (list(names),)))

    def set_fact(self, name: str, value: str) -> None:
        self.execute(
            "INSERT INTO facts AS known VALUES (%s, %s) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value WHERE known.value <> excluded.value",
            (name, value),
        )

    def remove_facts(self, names: Iterable[str]) -> None:
        self.execute("DELETE FROM facts WHERE name = ANY(%s)", (list(names),))


def _fetch(connection: Connection, sql: str, values: Parameters) -> list[Row]:
    cursor = connection.execute(sql, values)
    return cursor.fetchall() if cursor.description else []


@contextmanager
def work_lock(database: Database, work: Work = Work.INDEX) -> Iterator[Callable[[Progress], None]]:
    """A lock of the connection, not of a transaction: the server releases it if the process ends.

    The progress is the connection's `application_name`, which all users of the server may read.
    """
    address, connections = database.address, database.connections
    with connections.translated(), connections.connect(to_write=True) as connection:
        key = (_WORK[work], address.schema)
        row = connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", key).fetchone()
        if row is None or not row[0]:
            raise work.busy(address.shown)

        def tell(progress: Progress) -> None:
            name = _SEPARATOR.join(map(str, (_PROGRESS, *progress)))
            connection.execute("SELECT set_config('application_name', %s, false)", (name,))

        try:
            yield tell
        finally:
            with suppress(psycopg.Error):  # the server also releases it with the connection, later
                connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", key)


def read_progress(database: Database, work: Work) -> Progress | None:
    """What the holder of the lock has shown."""
    for (name,) in database.rows(_HOLDER, (_WORK[work], database.address.schema)):
        begin, *words = str(name).split(_SEPARATOR)
        if begin == _PROGRESS and len(words) == len(Progress._fields):
            return Progress(words[0], int(words[1]), int(words[2]))
    return None
