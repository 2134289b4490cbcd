"""The default store: one SQLite file in WAL mode, one writer and many readers."""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

from aurora.errors import StoreBusyError, StoreFormatError
from aurora.stores.base import Reclaimed
from aurora.stores.sqlite.chunks import SQLiteFiles
from aurora.stores.sqlite.connection import (
    BUSY_MS,
    connect,
    connect_temporary,
    hold,
    open_foreign,
    translated,
)
from aurora.stores.sqlite.database import find_torn
from aurora.stores.sqlite.rows import COLUMNS, count_levels
from aurora.stores.sqlite.schema import (
    CHECKSUMS,
    EVERY_ROW,
    HANGING,
    MIGRATIONS,
    TEXT_INDEXES,
    is_damaged,
)
from aurora.stores.sqlite.search import SQLiteCriteria, SQLiteSignals
from aurora.stores.sqlite.transfer import SQLiteTransfer
from aurora.types import Chunk

_LOOK_EVERY = 7 * 24 * 3600  # seconds
_STRUCTURE, _MANY_LEVELS = 10, 500  # where FTS5 keeps what it is made of
_READERS_MS = 1000  # how long forgetting waits for who reads; many who do never pause together


class ForeignCopy(NamedTuple):
    """Rows of a file that are not the user's, what else it has, and how they take its place."""

    waiting: list[Chunk]
    foreign: list[str]
    put_in_place: Callable[[], None]


class SQLiteStore(SQLiteFiles, SQLiteTransfer, SQLiteCriteria, SQLiteSignals):
    """`Store` in one file, put together of its parts."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Also looks at the whole file now and then: a bit that flips below the file system breaks
        no seal."""
        with self._turn():
            age = time.time() - self._seal.examined_at
            if not 0 <= age <= _LOOK_EVERY:  # a clock that was ahead tells of no look
                with self._seal.turn(BUSY_MS / 1000):
                    self._examine()
            self._require_whole()
            yield

    def _turn(self) -> AbstractContextManager[None]:
        return hold(self.path.with_name(f"{self.path.name}-indexing"))

    def scrub(self) -> None:
        """Text indexes keep words of deleted rows until they are merged, and the log whole pages
        until they are written to the file. Elsewhere `secure_delete` has overwritten them."""
        self._merge_words()
        self._rows(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            with self._seal.changing():
                [(busy, *_)] = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._rows(f"PRAGMA busy_timeout = {BUSY_MS}")
        if busy:
            raise StoreBusyError(
                f"{self.path} is being read by another process: what was removed is still in it",
                hint="it is overwritten with the next `aur mem forget`",
            )

    def count_waiting(self) -> int:
        """How many rows are hidden until the user adopts them."""
        return len(self._waiting_rows())

    def take_over(self) -> int:
        """Give the file an identity that only this user knows; the number of its last row."""
        with self.transaction():
            self._set_fact("identity", os.urandom(16).hex())
            self._draw_generation()
            [(last,)] = self._rows("SELECT coalesce(max(rowid), 0) FROM main.chunks")
        return int(last)

    def _merge_words(self) -> None:
        """Every merge of all adds levels to a text index. SQLite 3.40 adds them without end, and
        takes 2,000 for damage: long before that, after some hundred merges, it is made anew."""
        with self.transaction():
            for table in TEXT_INDEXES:
                record = f"SELECT block FROM {table}_data WHERE id = {_STRUCTURE}"
                levels = [count_levels(block) for (block,) in self._ask_index(record, ()) or ()]
                how = "rebuild" if max(levels, default=0) >= _MANY_LEVELS else "optimize"
                self._ask_index(f"INSERT INTO {table}({table}) VALUES ('{how}')", ())

    def repair(self) -> list[str]:
        with translated(self.path):
            self._require_known()
        with self._turn():
            gone = self._mend_in_place()
            left = self.check()
            if left:
                gone += [*self._salvage(), *self._mend()]
                left = self.check()
        if left:
            raise StoreFormatError(
                f"{self.path} cannot be repaired: {left[0]}",
                hint="`aur mem export` writes all that can be read to a file",
            )
        return gone

    def _mend_in_place(self) -> list[str]:
        """Nothing is written to a torn file: it may take pages for free that hold rows."""
        with self._apart() as connection:
            is_torn = any(find_torn(connection))
        try:
            return [] if is_torn else self._mend()
        except StoreFormatError:  # there are trees that cannot even be made anew
            return []

    def _mend(self) -> list[str]:
        """Make all indexes anew, and take out what is damaged."""
        with self._writing():
            self._connection.execute("REINDEX")
            self._repair_facts()
            bad = self._rows(
                f"SELECT rowid, CAST(id AS BLOB) FROM main.chunks WHERE {is_damaged('chunks')}"
            )
            for table in CHECKSUMS.keys() - {"chunks", "facts"}:
                self._write(f"DELETE FROM {table} WHERE {is_damaged(table)}")
            for row, _ in bad:
                self._write("DELETE FROM main.chunks WHERE rowid = ?", (row,))
            for table in HANGING:
                self._write(
                    f"DELETE FROM {table} WHERE chunk NOT IN (SELECT rowid FROM main.chunks)"
                )
            if bad:  # which file a chunk was of is lost: all are read again
                self._connection.execute("DELETE FROM files")
            for table in TEXT_INDEXES:
                self._ask_index(f"INSERT INTO {table}({table}) VALUES ('rebuild')", ())
        return [id_.decode(errors="replace") for _, id_ in bad]

    def _salvage(self) -> list[str]:
        """Put a file of all that can be read in the place of this one, in one transaction; the ids
        of chunks that are lost."""
        from aurora.stores.sqlite.repair import scratch  # noqa: PLC0415 - few need it

        with (
            scratch(self.path) as folder,
            translated(self.path),
            closing(type(self)(folder / self.path.name)) as new,
        ):
            with self._apart() as torn:
                lost = new._take_in(torn)
            new._connection.backup(self._connection)
        return lost

    def _take_in(self, torn: sqlite3.Connection) -> list[str]:
        """All that can be read of another file; the ids of chunks that are lost."""
        from aurora.stores.sqlite.repair import salvage  # noqa: PLC0415 - few need it

        self._connection.execute("PRAGMA foreign_keys = OFF")
        with self._writing():
            lost = salvage(torn, self._connection)
            self._connection.execute("DELETE FROM files")  # so that all are read again
            self._start_anew()
        return lost.ids

    @classmethod
    def reclaim(cls, path: Path) -> Reclaimed | None:
        """Put a file of all that can be read in the place of one that SQLite cannot even open.
        Nothing is done to one that opens."""
        from aurora.stores.sqlite.repair import forced_open, scratch  # noqa: PLC0415

        try:
            connect(path).close()
        except StoreFormatError as exc:
            if not isinstance(exc.__cause__, sqlite3.DatabaseError):
                raise  # a newer program's, or another's
        else:
            return None
        with hold(path.with_name(f"{path.name}-indexing")), scratch(path) as folder:
            with (
                translated(path),
                forced_open(path, folder) as torn,
                closing(cls(folder / path.name)) as new,
            ):
                lost = new._take_in(torn)
            kept = _free_name(path)
            for end in ("-wal", ""):
                with suppress(FileNotFoundError):
                    path.with_name(f"{path.name}{end}").rename(f"{kept}{end}")
            (folder / path.name).rename(path)
        return Reclaimed(kept, lost)

    def _rescue(self) -> tuple[Self, str]:
        from aurora.stores.sqlite.repair import salvage  # noqa: PLC0415 - few need it

        with self._apart() as torn:
            new = type(self)(self.path, only=connect_temporary())
            new._local.drawn = None
            new._connection.execute("BEGIN")  # for good: nobody writes to it again
            lost = salvage(torn, new._connection)
            if lost.facts:
                new._start_anew()
            elif not lost.is_nothing:
                new._local.drawn = new.generation() + 1 + new._sum_up_rows()
            if new._local.drawn is not None:
                new._set_fact("generation", str(new._local.drawn))
            new.waiting = self.waiting
            new._hide(new._connection)
            new._connection.execute("PRAGMA query_only = ON")
        return new, str(lost)

    def iter_waiting(self) -> Iterator[Chunk]:
        """The chunks that are hidden until the user adopts them."""
        columns = f"SELECT {COLUMNS} FROM main.chunks WHERE rowid"
        for row in sorted(self._waiting_rows()):
            yield from self._chunks(f"{columns} = ?", (row,))

    @classmethod
    @contextmanager
    def copy_foreign(cls, path: Path) -> Iterator[ForeignCopy]:
        """Copy the whole rows of a file that has what Aurora never makes. None of that is run."""
        from aurora.stores.sqlite.repair import salvage  # noqa: PLC0415 - few need it

        with open_foreign(path) as (torn, foreign), closing(connect_temporary()) as connection:
            if torn.execute("PRAGMA user_version").fetchone() != (len(MIGRATIONS),):
                raise StoreFormatError(
                    f"{path} cannot be adopted: it is of another version, and has what Aurora "
                    "never makes",
                    hint=f"keep it elsewhere (`mv {path} {path}.foreign`) and index again",
                )
            copy = cls(path, waiting=0, only=connection)
            connection.execute("BEGIN")
            salvage(torn, connection)
            copy._set_fact("identity", os.urandom(16).hex())
            copy.waiting = EVERY_ROW
            waiting = list(copy.iter_waiting())
            connection.execute("COMMIT")
            yield ForeignCopy(waiting, foreign, copy._put_in_place)

    def _put_in_place(self) -> None:
        """Put a copy in the place of the file that it was made of."""
        with open_foreign(self.path, writing=True) as (file, _):
            self._connection.backup(file)

    def _sum_up_rows(self) -> int:
        """A step to a generation that only these rows have: an index of them is found again, and
        never passes for one of all rows."""
        return zlib.crc32(repr(self._rows("SELECT rowid FROM chunks ORDER BY rowid")).encode())

    def _repair_facts(self) -> None:
        if self._connection.execute(f"DELETE FROM facts WHERE {is_damaged('facts')}").rowcount:
            self._start_anew()

    def _start_anew(self) -> None:
        """Another memory, as far as indexes know: some facts are lost."""
        [(newest,)] = self._rows("SELECT max(generation) FROM chunks")
        self._set_fact("identity", os.urandom(16).hex())
        self._set_fact("generation", str(max(newest or 0, self.generation())))
        self._draw_generation()
        if self.embedder() is None:  # nobody knows whose vectors these are
            self._connection.execute("DELETE FROM embeddings")
        if self.next_embedder() is None:
            self._empty_next()


def _free_name(path: Path) -> Path:
    """Where a damaged file is kept: no other is overwritten."""
    kept, count = path.with_name(f"{path.name}.damaged"), 1
    while kept.exists():
        count += 1
        kept = path.with_name(f"{path.name}.damaged-{count}")
    return kept
