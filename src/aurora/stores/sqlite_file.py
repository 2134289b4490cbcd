"""One SQLite file: connections, transactions, and a look at all of it when it is not as we left it.

Each thread has its own connection, so readers never wait for each other or for the writer.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Self
from weakref import WeakSet, finalize

from aurora.errors import StoreBusyError, StoreError
from aurora.private import make_folder
from aurora.stores.sqlite_checksums import damaged
from aurora.stores.sqlite_connection import (
    BUSY_MS,
    Connection,
    connect,
    is_refused_write,
    transaction,
    translated,
)
from aurora.stores.sqlite_log import shorten_log
from aurora.stores.sqlite_problems import find_problems, find_stray_words
from aurora.stores.sqlite_rows import Row, as_no_text
from aurora.stores.sqlite_schema import hide_waiting
from aurora.stores.sqlite_seal import Seal, Stamp
from aurora.text import many

logger = logging.getLogger(__name__)

_PATIENCE, _PAUSE = BUSY_MS / 1000, 0.01  # seconds


class _Closing:
    """Goes with its thread, and closes the connection then: that refers to itself by its cache of
    statements, and would wait for the collector."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __del__(self) -> None:
        self._connection.close()


class _Damage(NamedTuple):
    """What is wrong with a file, and how the file was when that was found."""

    stamp: Stamp | None
    problem: str


class SQLiteFile:
    """Opening it makes the file and its folder when they are missing.

    A damaged file is not written to. It is read from a copy of all rows that are whole: its own
    trees could hide some of them. Rows up to `waiting` are hidden but for those of files: the user
    has not adopted them.
    """

    def __init__(self, path: Path, *, waiting: int = 0, only: Connection | None = None) -> None:
        """`only`: the one connection of all threads, to a database that has no file of its own."""
        self.path, self.waiting = path, waiting
        self._local = threading.local()
        self._connections: WeakSet[Connection] = WeakSet()
        self._lock, self._rescuing = threading.Lock(), threading.Lock()
        self._seal = Seal(path, is_adopted=not waiting)
        self._damage: _Damage | None = None
        self._copy: tuple[_Damage, Self, str] | None = None  # with what to tell of it
        self._only = only
        # Our functions need Python's lock inside SQLite's: two threads would wait for each other.
        self._sole = nullcontext() if only is None else threading.Lock()
        if only is not None:
            self._hide(only)
            return
        try:
            make_folder(path.parent)
        except OSError as exc:
            raise StoreError(f"Cannot make the folder {path.parent}: {exc}") from exc
        _ = self._connection
        finalize(self, _close, self._connections, self._seal)  # for who forgets to

    @property
    def _connection(self) -> Connection:
        if self._only is not None:
            return self._only
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.is_outdated(self.path):
            connection = self._local.connection = connect(self.path)
            self._hide(connection)
            self._local.closing = _Closing(connection)
            with self._lock:
                self._connections.add(connection)
        return connection

    def _hide(self, connection: Connection) -> None:
        if self.waiting:
            connection.execute(hide_waiting(self.waiting))

    def close(self) -> None:
        with self._lock:
            _close(self._connections, self._seal)
        self._local = threading.local()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction in a file that may be damaged."""
        with translated(self.path), transaction(self._connection, self._committing):
            yield

    @contextmanager
    def _committing(self) -> Iterator[None]:
        with self._seal.changing():
            yield
            shorten_log(self._connection, self.path)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        connection = self._connection
        if not connection.in_transaction and self._find_damage():
            return self._rescued()[0]._rows(sql, values)
        with self._sole, translated(self.path):
            try:
                cursor = connection.execute(sql, values)
            except UnicodeEncodeError:
                cursor = connection.execute(sql, [*map(as_no_text, values)])
            with closing(cursor):
                return cursor.fetchall()

    @property
    def is_sealed(self) -> bool:
        """Whether the file is as Aurora left it. If not, the first reading checks all of it."""
        return self._seal.holds()

    def check(self) -> list[str]:
        """What is wrong with the file, which is sealed if nothing is."""
        with self._seal.turn(_PATIENCE), self._apart() as connection:
            stamp = self._seal.doubt()
            problems = [*find_problems(connection), *find_stray_words(connection)]
            if not problems:
                self._seal.put(stamp)
        return problems

    @contextmanager
    def _apart(self) -> Iterator[Connection]:
        """A connection of its own: the others have pages in their caches that were whole."""
        with translated(self.path), closing(connect(self.path)) as connection:
            yield connection

    def damage(self, *, look: bool = False) -> str:
        """What every answer must say while the file is damaged; nothing if it is whole.

        `look`: check all of the file, even if it is as Aurora left it.
        """
        if look and not self._find_damage() and self._has_problems():
            with self._seal.turn(_PATIENCE):
                self._examine()
        return self._rescued()[1] if self._find_damage() else ""

    def _has_problems(self) -> bool:
        """Whether rows or trees are damaged. The seal stays meanwhile: others go on reading."""
        with self._apart() as connection:
            return any(find_problems(connection))

    def _require_whole(self) -> None:
        """Before anything is written."""
        found = self._find_damage()
        if found is not None:
            raise damaged(str(self.path), found.problem)

    def _find_damage(self) -> _Damage | None:
        """Believe a file that is as Aurora left it; any other only after a look at all of it."""
        if self._seal.holds():  # as before nearly every reading
            if self._damage is not None:
                self._be_mended()
            return None
        if self._damage is not None and self._damage.stamp == Stamp.of(self.path):
            return self._damage
        until = time.monotonic() + _PATIENCE
        while not self._seal.holds():
            with self._seal.turn() as is_ours:
                if is_ours and not self._seal.holds():
                    self._examine()
                    return self._damage
            if not (is_ours or self._seal.in_doubt):
                return None  # somebody is just changing it, and seals it in a moment
            if time.monotonic() > until:
                raise StoreBusyError(
                    f"{self.path} is being checked for damage by another process",
                    hint="wait until it has finished, then try again",
                )
            time.sleep(_PAUSE)
        return None

    def _examine(self) -> None:
        """Look at all of the file. Who has his turn calls it."""
        logger.debug("%s is checked for damage", self.path)
        with self._apart() as connection:
            stamp, put = self._seal.doubt(), self._seal.put
            problems = list(find_problems(connection))
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                problems += find_stray_words(connection)
            except sqlite3.OperationalError as exc:
                if not is_refused_write(exc):
                    raise
                put = self._seal.believe  # who writes just now has looked at the words
        if problems:
            more = f", and {many(len(problems) - 1, 'problem')} more" if problems[1:] else ""
            self._damage = _Damage(stamp, f"{problems[0]}{more}")
        else:
            self._damage = None
            put(stamp)

    def _rescued(self) -> tuple[Self, str]:
        """A store of all rows that are whole, made once, and what to tell of it."""
        with self._rescuing:
            found = self._damage
            if found is None:  # another thread has seen that it was mended
                return self, ""
            if self._copy is None or self._copy[0] is not found:
                store, lost = self._rescue()
                told = f"{self.path} is damaged: {found.problem}. {lost}"
                self._copy = found, store, f"{told}. `aur mem repair` keeps all that can be read"
            return self._copy[1:]

    def _be_mended(self) -> None:
        """Somebody has mended the file: nothing that was read from the copy is true of it."""
        with self._rescuing:
            self._damage = self._copy = None

    def _rescue(self) -> tuple[Self, str]:
        """A store of all rows that are whole, and what is missing in it."""
        raise NotImplementedError


def _close(connections: WeakSet[Connection], seal: Seal) -> None:
    """The last who closes the file writes the log into it."""
    if connections:
        with seal.changing():
            for connection in connections:
                connection.close()
        connections.clear()
