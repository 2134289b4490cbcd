"""One SQLite file as the parts of the store use it: transactions, moments, facts, generation.

What is wrong with a SQLite file: all of its trees, references, rows and words are looked at.

One SQLite file: connections, transactions, and a look at all of it when it is not as we left it.

Each thread has its own connection, so readers never wait for each other or for the writer.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias
from weakref import WeakSet, finalize

from aurora.errors import StoreBusyError, StoreError
from aurora.files import make_folder
from aurora.stores.base import SEARCHABLE_SUCCESS
from aurora.stores.sqlite.connection import (
    BUSY_MS,
    Connection,
    connect,
    is_corrupt,
    is_missing,
    is_refused_write,
    require_known,
    transaction,
    translated,
)
from aurora.stores.sqlite.integrity import Seal, Stamp, checksum, damaged, shorten_log
from aurora.stores.sqlite.rows import Row, as_no_text, fact_from
from aurora.stores.sqlite.schema import CHECKSUMS, TEXT_INDEXES, hide_waiting, is_damaged
from aurora.text import pluralize

logger = logging.getLogger(__name__)


def find_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """In all but the words. Of torn trees nothing else: what they lead to cannot be counted."""
    torn = list(find_torn(connection))
    if torn:
        yield from torn
        return
    try:
        yield from _find_wrong_rows(connection)
    except sqlite3.DatabaseError as exc:
        if not is_corrupt(exc):
            raise
        yield str(exc)


def _find_wrong_rows(connection: sqlite3.Connection) -> Iterator[str]:
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"dangling reference in {table}"
    for table in CHECKSUMS:
        wrong = f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}"
        [(count,)] = connection.execute(wrong)
        if count:
            yield f"damage in {pluralize(count, 'row')} of {table}"


def find_torn(connection: sqlite3.Connection) -> Iterator[str]:
    """Of the trees alone: what is wrong there may have taken rows with it."""
    for text in _ask(connection, "PRAGMA integrity_check"):
        if text != "ok":
            yield " ".join(text.removeprefix("*** in database main ***").split())


def find_stray_words(connection: sqlite3.Connection) -> Iterator[str]:
    """In text indexes that are there. Takes the write lock for a moment, which may be refused."""
    for table in TEXT_INDEXES:
        # rank 1 compares the index with the rows it was made of, not only with itself
        compare = f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)"
        for problem in _ask(connection, compare):
            yield f"text index {table}: {problem}"


def _ask(connection: sqlite3.Connection, question: str) -> Iterator[str]:
    """Answers of one column; that it is too torn to be asked is one, too."""
    try:
        for (text,) in connection.execute(question):
            yield text
    except sqlite3.Error as exc:
        if is_corrupt(exc):
            yield str(exc)
        elif not is_missing(exc):
            raise


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
            more = f", and {pluralize(len(problems) - 1, 'problem')} more" if problems[1:] else ""
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


Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

# What is damaged may be found, too, and is refused when it is: hidden, nobody would hear of it.
MAY_BE_FOUND = f"""(
    reasoning.success_score IS NULL OR reasoning.success_score >= {SEARCHABLE_SUCCESS}
    OR {is_damaged("reasoning")})"""
# Follows a list of columns; what comes after it is `AND …`.
SEARCHABLE = f"""
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
    WHERE {MAY_BE_FOUND}"""

# A generation lies a random step above the last: a copy of a memory that goes its own way must not
# come to one that the original had with other chunks, or an index of those would pass for its own.
_STEP_BYTES = 4
_GENERATION = """
    SELECT facts.*, (SELECT user_version FROM pragma_user_version) FROM facts
    WHERE name = 'generation'"""


class SQLiteDatabase(SQLiteFile):
    """One file and what it knows of itself."""

    @cached_property
    def identity(self) -> str:
        identity = self._fact("identity")
        if identity is None:
            raise damaged(str(self.path), "it has lost its identity")
        # An index of what is shown now is not one of all rows.
        return f"{identity}-{self.waiting}" if self.waiting else identity

    def _be_mended(self) -> None:
        super()._be_mended()
        self.__dict__.pop("identity", None)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._connection.in_transaction:
            with translated(self.path):
                yield
            return
        self._require_whole()
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with super()._writing():
            self._require_known()
            self._local.drawn = None
            yield
            if self._local.drawn is not None:
                self._set_fact("generation", str(self._local.drawn))

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """On a connection of its own: this thread may go on writing beside it."""
        if self._find_damage():
            yield self._rescued()[0]
            return
        still = type(self)(self.path, waiting=self.waiting)
        try:
            with translated(self.path):
                still._connection.execute("PRAGMA query_only = ON")
                still._connection.execute("BEGIN")
            still._local.drawn = None
            still.generation()  # the moment is that of the first reading
            yield still
        finally:
            still.close()

    def _row_numbers(self, which: str, values: Sequence[object] = ()) -> set[int]:
        """The numbers of the chunks that may be found and fit `which`, an `AND …`.

        As one text: SQLite hands over fifty thousand single rows in twice the time.
        """
        numbers = self._rows(f"SELECT group_concat(chunks.rowid) {SEARCHABLE} {which}", values)
        return set(map(int, numbers[0][0].split(","))) if numbers[0][0] else set()

    def _write(self, sql: str, values: Parameters = ()) -> int:
        """Run one change of what can be found, inside a transaction; returns the rows changed."""
        count = self._connection.execute(sql, values).rowcount
        if count:
            self._draw_generation()
        return count

    def _drop_vectors(self, which: str, value: object) -> None:
        """Vectors of the chunks that fit `which`: what they were made of has changed."""
        for table in ("embeddings", "next_embeddings"):
            chunks = f"SELECT rowid FROM chunks WHERE {which}"
            self._write(f"DELETE FROM {table} WHERE chunk IN ({chunks})", (value,))

    def _draw_generation(self) -> int:
        """What the generation will be when this transaction has made its changes."""
        if self._local.drawn is None:
            step = int.from_bytes(os.urandom(_STEP_BYTES))
            self._local.drawn = self.generation() + 1 + step
        drawn: int = self._local.drawn
        return drawn

    def _fact(self, name: str) -> str | None:
        for row in self._rows("SELECT * FROM facts WHERE name = ?", (name,)):
            return fact_from(row)[1]
        return self._facts([name]).get(name)

    def _facts(self, names: Sequence[str]) -> dict[str, str]:
        """By reading all: one whose name is damaged must not pass for one that is missing."""
        facts = dict(map(fact_from, self._rows("SELECT * FROM facts")))
        return {name: facts[name] for name in names if name in facts}

    def _set_fact(self, name: str, value: str) -> None:
        # Writing what is there already would be a write all the same.
        self._connection.execute(
            "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value, checksum = excluded.checksum "
            "WHERE value IS NOT excluded.value",
            (name, value, checksum(name, value)),
        )

    def _forget_facts(self, names: Iterable[str]) -> None:
        for name in names:
            self._connection.execute("DELETE FROM facts WHERE name = ?", (name,))

    def _require_known(self) -> None:
        """A server runs on while its users upgrade."""
        require_known(int(self._connection.execute("PRAGMA user_version").fetchone()[0]), self.path)

    def generation(self) -> int:
        for *fact, version in self._rows(_GENERATION):
            require_known(version, self.path)
            try:
                return int(fact_from(tuple(fact))[1])
            except ValueError as exc:
                raise damaged(str(self.path), exc) from exc
        with translated(self.path):
            self._require_known()
        self._facts([])  # a damaged one must not pass for none
        return 0
