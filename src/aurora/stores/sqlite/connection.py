"""One SQLite file in use: reads, transactions, facts and generation.

Each thread has its own connection, so that readers never wait for each other or for the writer.
The meaning of the tables is left to the parts of the store.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from weakref import WeakSet, finalize

from aurora.errors import StoreError
from aurora.files import make_folder
from aurora.stores import shared
from aurora.stores.shared import Parameters, Row, ThreadState
from aurora.stores.sqlite.database_file import (
    BUSY_MS,
    Connection,
    connect,
    open_apart,
    require_known,
    transaction,
    translated,
)
from aurora.stores.sqlite.integrity import Damage, Integrity, Seal, checksum, damaged, is_missing
from aurora.stores.sqlite.rows import as_no_text, batches, fact_from
from aurora.stores.sqlite.schema import FOLDED_NAME, SEARCHABLE, hide_waiting, list_waiting

_GENERATION = """
    SELECT facts.*, (SELECT user_version FROM pragma_user_version) FROM facts
    WHERE name = 'generation'"""


class _ThreadState(ThreadState):
    connection: Connection | None = None
    is_checked = False  # inside `Database.reading`
    known_facts: Mapping[str, str] | None = None  # read inside it

    def open(self, path: Path, *, read_only: bool) -> Connection:
        self.connection = connect(path, read_only=read_only)
        self._closing = _Closing(self.connection)
        return self.connection


class _Closing:
    """Closes the connection when its thread ends.

    A connection is part of a reference cycle and would otherwise wait for the garbage collector.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __del__(self) -> None:
        self._connection.close()


class Database(shared.Database):
    """One file, which is created with its folder if missing.

    A damaged file is not written. It is read from a copy of all undamaged rows, because its own
    pages could hide some of them. Rows up to `waiting` are hidden, except those of files: the user
    has not adopted them.
    """

    row, searchable, folded_name, like = "chunks.rowid", SEARCHABLE, FOLDED_NAME, "LIKE"
    metadata_text = "metadata"

    def __init__(
        self,
        path: Path,
        *,
        waiting: int = 0,
        read_only: bool = False,
        only: Connection | None = None,
    ) -> None:
        """`read_only`: nothing is written, and no file beside it. `only`: a single connection for
        all threads, to a database without a named file."""
        self.path, self.waiting, self.read_only = path, waiting, read_only
        apart = partial(open_apart, read_only=read_only)
        self.integrity = Integrity(path, apart, is_adopted=not waiting, read_only=read_only)
        self._local: _ThreadState = _ThreadState()
        self.connections: WeakSet[Connection] = WeakSet()
        self._lock, self._copying = threading.Lock(), threading.Lock()
        self._copy: tuple[Damage, Database, str] | None = None  # with the warning to show
        self._identity: tuple[int, str] | None = None  # with the number of repairs before
        self._only = only
        # SQL functions take Python's lock inside SQLite's lock, so two threads could deadlock.
        self._sole = nullcontext() if only is None else threading.Lock()
        if only is not None:
            self.hide_waiting(only)
            return
        try:
            if not read_only:
                make_folder(path.parent)
        except OSError as exc:
            raise StoreError(f"Cannot make the folder {path.parent}: {exc}") from exc
        _ = self.connection
        finalize(self, _close, self.connections, self.integrity.seal)

    @property
    def connection(self) -> Connection:
        """The connection of this thread."""
        if self._only is not None:
            return self._only
        connection = self._local.connection
        if connection is None or (not self._local.is_checked and connection.is_outdated(self.path)):
            connection = self._local.open(self.path, read_only=self.read_only)
            self.hide_waiting(connection)
            with self._lock:
                self.connections.add(connection)
        return connection

    def hide_waiting(self, connection: Connection) -> None:
        if self.waiting:
            connection.execute(hide_waiting(self.waiting))

    def waiting_rows(self) -> set[int]:
        """Rows that the user has not adopted. Text indexes include them."""
        return {row for (row,) in self.rows(list_waiting(self.waiting))} if self.waiting else set()

    def close(self) -> None:
        with self._lock:
            _close(self.connections, self.integrity.seal)
        self._local = _ThreadState()

    # Reading

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        connection = self.connection
        if not connection.in_transaction and self.is_damaged():
            return self.readable_copy()[0].rows(sql, values)
        with self._sole, translated(self.path):
            try:
                cursor = connection.execute(sql, values)
            except UnicodeEncodeError:
                cursor = connection.execute(sql, [*map(as_no_text, values)])
            with closing(cursor):
                return cursor.fetchall()

    def rows_in(self, sql: str, values: Iterable[object]) -> Iterator[Row]:
        for batch, marks in batches(values):
            yield from self.rows(sql.replace("IN ?", f"IN ({marks})"), batch)

    def rows_if_any(self, sql: str, values: Sequence[object] = ()) -> list[Row] | None:
        """Like `rows`; None if the text index is missing, or SQLite was built without FTS5."""
        try:
            return self.rows(sql, values)
        except StoreError as exc:
            if is_missing(exc.__cause__):
                return None
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reads of this thread inside share the facts and the check of the file, made now."""
        local = self._local
        if local.is_checked:
            yield
            return
        _ = self.connection, self.is_damaged()
        local.is_checked = True
        try:
            yield
        finally:
            local.is_checked, local.known_facts = False, None

    def is_damaged(self) -> bool:
        if self._local.is_checked:
            return self.integrity.damage is not None
        if self.integrity.find_damage():
            return True
        self._copy = None
        return False

    def readable_copy(self) -> tuple[Database, str]:
        """A copy of all undamaged rows, made once, and the warning to show with its answers."""
        from aurora.stores.sqlite.repair import copy_readable  # noqa: PLC0415 - only when damaged

        with self._copying:
            damage = self.integrity.damage
            if damage is None:  # another thread noticed a repair
                return self, ""
            if self._copy is None or self._copy[0] is not damage:
                copy, loss = copy_readable(self)
                warning = f"{self.path} is damaged: {damage.problem}. {loss}"
                self._copy = damage, copy, f"{warning}. `aur mem repair` keeps all that can be read"
            return self._copy[1:]

    def begin_reading(self) -> None:
        """Start a read-only transaction. Its moment is that of the first read."""
        with translated(self.path):
            self.connection.execute("PRAGMA query_only = ON")
            self.connection.execute("BEGIN")
        self.generation()

    # Writing

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Do not wait for another writer."""
        self.rows("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            self.rows(f"PRAGMA busy_timeout = {BUSY_MS}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self.connection.in_transaction:
            with translated(self.path):
                yield
            return
        self.integrity.require_whole()
        with self.writing():
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in a file that may be damaged."""
        connection = self.connection
        committing = partial(self.integrity.committing, connection)
        with translated(self.path), transaction(connection, committing):
            self.require_known()
            self._local.begin()
            self._local.known_facts = None
            yield
            if self._local.drawn is not None:
                self.set_fact("generation", str(self._local.drawn))

    def execute(self, sql: str, values: Parameters = ()) -> int:
        return self.connection.execute(sql, values).rowcount

    # Facts

    @property
    def identity(self) -> str:
        repairs = self.integrity.repairs
        if self._identity is None or self._identity[0] != repairs:
            identity = self.fact("identity")
            if identity is None:
                raise damaged(str(self.path), "it has lost its identity")
            # An index of the visible rows is not an index of all rows.
            self._identity = repairs, f"{identity}-{self.waiting}" if self.waiting else identity
        return self._identity[1]

    def generation(self) -> int:
        for *fact, version in self.rows(_GENERATION):
            require_known(version, self.path)
            try:
                return int(fact_from(tuple(fact))[1])
            except ValueError as exc:
                raise damaged(str(self.path), exc) from exc
        with translated(self.path):
            self.require_known()
        self.facts([])  # raises if it is not missing but damaged
        return 0

    def require_known(self) -> None:
        """Raise if a newer Aurora migrated the file, for example while a server runs."""
        require_known(int(self.connection.execute("PRAGMA user_version").fetchone()[0]), self.path)

    def fact(self, name: str) -> str | None:
        for row in self.rows("SELECT * FROM facts WHERE name = ?", (name,)):
            return fact_from(row)[1]
        return self.facts([name]).get(name)

    def facts(self, names: Sequence[str]) -> dict[str, str]:
        """Reads all facts, so that a damaged name is an error and not a missing fact."""
        facts = self._local.known_facts
        if facts is None:
            facts = dict(map(fact_from, self.rows("SELECT * FROM facts")))
            if self._local.is_checked and not self.connection.in_transaction:
                self._local.known_facts = facts
        return {name: facts[name] for name in names if name in facts}

    def set_fact(self, name: str, value: str) -> None:
        # Without the condition, an equal value would be a write too.
        self.execute(
            "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value, checksum = excluded.checksum "
            "WHERE value IS NOT excluded.value",
            (name, value, checksum(name, value)),
        )

    def remove_facts(self, names: Iterable[str]) -> None:
        for name in names:
            self.execute("DELETE FROM facts WHERE name = ?", (name,))


def _close(connections: WeakSet[Connection], seal: Seal) -> None:
    """The last connection that closes writes the log into the file, which changes it."""
    if connections:
        with seal.changing():
            for connection in connections:
                connection.close()
        connections.clear()
