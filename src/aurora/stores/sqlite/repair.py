"""Repair of SQLite files: all readable rows of a damaged file are copied into a new one."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from aurora.errors import StoreFormatError
from aurora.files import OWNERS_FOLDER
from aurora.quick_classes import NamedTuple, dataclass, field
from aurora.stores.base import TRANSCRIPT_NOTES, Reclaimed
from aurora.stores.parts import NEXT, OF_FILES, USED, read_embedder
from aurora.stores.shared import PAGE, Row
from aurora.stores.sqlite.chunks import SQLiteChunks
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.database_file import (
    connect,
    connect_temporary,
    open_apart,
    open_bare,
    open_foreign,
    require_tables,
    translated,
    work_lock,
)
from aurora.stores.sqlite.integrity import find_torn
from aurora.stores.sqlite.schema import (
    CHECKSUMS,
    EVERY_ROW,
    HANGING,
    LIST_SYMBOLS,
    MIGRATIONS,
    TEXT_INDEXES,
    is_damaged,
)
from aurora.text import pluralize
from aurora.types import Chunk

_LAST = 1 << 40  # above any row number
_PROBES = 20_000  # queries per table, so that an unreadable table does not take forever
_HEADER, _PAGE_SIZE = 100, 4096  # bytes
_MOST_MISSING = 100  # how many times larger than now the file may have been
# So that all files are read again. What is known of sessions stays: their files may be gone.
_READ_AGAIN = f"""
    DELETE FROM files
    WHERE {OF_FILES} OR substr(path, 1, {len(TRANSCRIPT_NOTES)}) = '{TRANSCRIPT_NOTES}'"""
_IDS = """
    SELECT rowid, CAST(id AS BLOB) FROM main.chunks INDEXED BY sqlite_autoindex_chunks_1"""


def repair(database: Database) -> list[str]:
    """Repair a file in place, or rebuild it; returns the ids of removed chunks."""
    path = database.path
    with translated(path):
        database.require_known()
    with work_lock(path):
        removed = _mend_unless_torn(database)
        problems = database.integrity.check()
        if problems:
            removed += [*_rebuild(database), *_mend(database)]
            problems = database.integrity.check()
    if problems:
        raise StoreFormatError(
            f"{path} cannot be repaired: {problems[0]}",
            hint="`aur mem export` writes all that can be read to a file",
        )
    return removed


def _mend_unless_torn(database: Database) -> list[str]:
    """A torn file is not written: SQLite could take pages with rows for free pages."""
    with open_apart(database.path) as connection:
        is_torn = any(find_torn(connection))
    try:
        return [] if is_torn else _mend(database)
    except StoreFormatError:  # some indexes cannot even be rebuilt
        return []


def _mend(database: Database) -> list[str]:
    """Rebuild all indexes and remove damaged rows; returns the ids of removed chunks."""
    with database.writing():
        database.execute("REINDEX")
        if database.execute(f"DELETE FROM facts WHERE {is_damaged('facts')}"):
            _start_over(database)
        bad = database.rows(
            f"SELECT rowid, CAST(id AS BLOB) FROM main.chunks WHERE {is_damaged('chunks')}"
        )
        for table in CHECKSUMS.keys() - {"chunks", "facts"}:
            database.write(f"DELETE FROM {table} WHERE {is_damaged(table)}")
        for row, _ in bad:
            database.write("DELETE FROM main.chunks WHERE rowid = ?", (row,))
        for table in HANGING:
            database.write(
                f"DELETE FROM {table} WHERE chunk NOT IN (SELECT rowid FROM main.chunks)"
            )
        if bad:  # the file of a damaged chunk is unknown, so that all are read again
            database.execute(_READ_AGAIN)
        database.execute("DELETE FROM symbols")
        database.execute(LIST_SYMBOLS)
        for table in TEXT_INDEXES:
            database.rows_if_any(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
    return [id_.decode(errors="replace") for _, id_ in bad]


def _start_over(database: Database) -> None:
    """Make a new identity after a loss of facts. Indexes of the old memory do not match it."""
    [(newest,)] = database.rows("SELECT max(generation) FROM chunks")
    database.set_fact("identity", os.urandom(16).hex())
    database.set_fact("generation", str(max(newest or 0, database.generation())))
    database.draw_generation()
    for table in (USED, NEXT):
        if read_embedder(database, table) is None:  # the embedder of these vectors is unknown
            database.execute(f"DELETE FROM {table}")


def _rebuild(database: Database) -> list[str]:
    """Replace the content of a file by all its readable rows, in one transaction."""
    path = database.path
    with (
        _scratch(path) as folder,
        translated(path),
        closing(Database(folder / path.name)) as new,
    ):
        with open_apart(path) as torn:
            lost = _take_in(new, torn)
        new.connection.backup(database.connection)
    return lost


def _take_in(new: Database, torn: sqlite3.Connection) -> list[str]:
    """Copy all readable rows; returns the ids of lost chunks."""
    new.execute("PRAGMA foreign_keys = OFF")
    with new.writing():
        lost = salvage(torn, new.connection)
        new.execute(_READ_AGAIN)
        _start_over(new)
    return lost.ids


def reclaim(path: Path) -> Reclaimed | None:
    """Rebuild a file that SQLite cannot open. A file that opens is not changed."""
    try:
        connect(path).close()
    except StoreFormatError as exc:
        if not isinstance(exc.__cause__, sqlite3.DatabaseError):
            raise  # written by a newer Aurora or another program
    else:
        return None
    with work_lock(path), _scratch(path) as folder:
        with (
            translated(path),
            _forced_open(path, folder) as torn,
            closing(Database(folder / path.name)) as new,
        ):
            lost = _take_in(new, torn)
        kept = _free_name(path)
        for end in ("-wal", ""):
            with suppress(FileNotFoundError):
                path.with_name(f"{path.name}{end}").rename(f"{kept}{end}")
        (folder / path.name).rename(path)
    return Reclaimed(kept, lost)


def copy_readable(database: Database) -> tuple[Database, str]:
    """A read-only temporary copy of all readable rows, and a sentence about the lost ones."""
    with open_apart(database.path) as torn:
        copy = Database(database.path, only=connect_temporary())
        copy.execute("BEGIN")  # without an end, because the copy is only read
        lost = salvage(torn, copy.connection)
        generation = None
        if lost.facts:
            _start_over(copy)
            generation = copy.draw_generation()
        elif not lost.is_nothing:
            # A generation that only these rows have, so that their index can be reused and never
            # passes for an index of all rows.
            rows = repr(copy.rows("SELECT rowid FROM chunks ORDER BY rowid"))
            generation = copy.generation() + 1 + zlib.crc32(rows.encode())
        if generation is not None:
            copy.set_fact("generation", str(generation))
        copy.waiting = database.waiting
        copy.use_checkout(database.used_checkout)
        copy.hide_waiting(copy.connection)
        copy.execute("PRAGMA query_only = ON")
    return copy, str(lost)


class ForeignCopy(NamedTuple):
    """The rows of a file that the user has not adopted."""

    waiting: list[Chunk]
    foreign: list[str]  # objects that Aurora never makes
    put_in_place: Callable[[], None]  # replaces the file by a copy of the rows alone


@contextmanager
def copy_foreign(path: Path) -> Iterator[ForeignCopy]:
    """Copy the intact rows of a file with foreign objects, none of which is run."""
    with open_foreign(path) as (torn, foreign), closing(connect_temporary()) as connection:
        if torn.execute("PRAGMA user_version").fetchone() != (len(MIGRATIONS),):
            raise StoreFormatError(
                f"{path} cannot be adopted: it is of another version, and has what Aurora "
                "never makes",
                hint=f"keep it elsewhere (`mv {path} {path}.foreign`) and index again",
            )
        copy = Database(path, only=connection)
        connection.execute("BEGIN")
        salvage(torn, connection)
        copy.set_fact("identity", os.urandom(16).hex())
        copy.waiting = EVERY_ROW
        waiting = list(SQLiteChunks(copy).iter_waiting())
        connection.execute("COMMIT")

        def put_in_place() -> None:
            with open_foreign(path, writing=True) as (file, _):
                connection.backup(file)

        yield ForeignCopy(waiting, foreign, put_in_place)


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """A folder for a new file, beside the old one. Removes what a killed process left there."""
    from shutil import rmtree  # noqa: PLC0415 - a start should not wait for it

    folder = path.with_name(f"{path.name}-salvage")
    rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)


def _free_name(path: Path) -> Path:
    """An unused name for the damaged file."""
    kept, count = path.with_name(f"{path.name}.damaged"), 1
    while kept.exists():
        count += 1
        kept = path.with_name(f"{path.name}.damaged-{count}")
    return kept


@contextmanager
def _forced_open(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """A copy of a file that SQLite refuses, with a valid header. Missing pages at its end are
    zeros, and no page is free."""
    from shutil import copyfile  # noqa: PLC0415 - as above

    folder.mkdir(mode=OWNERS_FOLDER)
    copy = folder / "torn.db"
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            copyfile(path.with_name(f"{path.name}{end}"), copy.with_name(f"torn.db{end}"))
    with closing(connect_temporary()) as new:
        header = bytearray(new.serialize()[:_HEADER])
    with copy.open("r+b") as file:
        pages = _count_pages(file.read(_HEADER), path.stat().st_size)
        header[28:32] = pages.to_bytes(4)
        header[32:40] = bytes(8)  # free pages
        header[92:96] = header[24:28]  # marks the page count as valid
        file.seek(0)
        file.write(header)
        file.truncate(pages * _PAGE_SIZE)
    with closing(open_bare(copy)) as torn:
        require_tables(torn, path)
        torn.execute("SELECT rowid FROM chunks LIMIT 0")  # an error if the table is unknown
        yield torn


def _count_pages(header: bytes, size: int) -> int:
    """The page count in the header if it is plausible, else that of the file size."""
    present = -(-size // _PAGE_SIZE)
    noted = int.from_bytes(header[28:32]) if header.startswith(b"SQLite format 3\0") else 0
    return noted if present < noted <= present * _MOST_MISSING else present


@dataclass(slots=True)
class Lost:
    """Rows that could not be copied."""

    ids: list[str] = field(default_factory=list)  # of chunks, as the index of ids names them
    more: bool = False  # there may be chunks that no index names
    facts: bool = False

    @property
    def is_nothing(self) -> bool:
        return not (self.ids or self.more)

    def __str__(self) -> str:
        if self.is_nothing:
            return "All of its chunks can be read"
        least = "At least " if self.more else ""
        count = f"{least}{pluralize(len(self.ids), 'chunk')}" if self.ids else "Some of its pages"
        return f"{count} cannot be read, so that answers may be incomplete"


def salvage(torn: sqlite3.Connection, new: sqlite3.Connection) -> Lost:
    """Copy every intact row that can be read, inside a transaction of `new`.

    A caller that replaces the file must drop the file states, so that the files of lost chunks are
    read again.
    """
    lost = Lost(facts=not _copy_whole(torn, new, "facts"))
    for table in ("chunks", *HANGING):
        reader = _Reader(torn, table)
        _copy(new, table, reader)
        if table == "chunks":
            lost.ids, is_complete = _find_missing(torn, new)
            lost.more = reader.is_torn or not is_complete
    for table in HANGING:
        new.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT rowid FROM chunks)")
    _copy_whole(torn, new, "files")
    return lost


def _copy_whole(torn: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Copy the intact rows of a table without row numbers; returns whether these are all."""
    try:
        _copy(new, table, torn.execute(f"SELECT * FROM {table} WHERE NOT {is_damaged(table)}"))
        bad = torn.execute(f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}").fetchone()[0]
    except sqlite3.DatabaseError:
        return False
    return not bad


def _copy(new: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        new.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)


def _find_missing(torn: sqlite3.Connection, new: sqlite3.Connection) -> tuple[list[str], bool]:
    """Ids of chunks that are not in the copy, and whether all ids could be read."""
    rows = {row for (row,) in new.execute("SELECT rowid FROM chunks")}
    missing = []
    try:
        for row, id_ in torn.execute(_IDS):
            if row not in rows:
                missing.append(id_.decode(errors="replace"))
    except sqlite3.DatabaseError:
        return missing, False
    return missing, True


class _Reader:
    """The intact rows of a table. Unreadable ranges are halved until single rows remain."""

    def __init__(self, torn: sqlite3.Connection, table: str) -> None:
        self._torn = torn
        self._select = f"""
            SELECT {table}.rowid, {table}.* FROM main.{table} NOT INDEXED
            WHERE {table}.rowid BETWEEN ? AND ? AND NOT {is_damaged(table)}
            ORDER BY {table}.rowid LIMIT ?"""
        self.is_torn = False

    def __iter__(self) -> Iterator[Row]:
        ranges = [(0, _LAST)]
        for _ in range(_PROBES):
            if not ranges:
                return
            first, last = ranges.pop()
            most = min(PAGE, last - first + 1)  # else SQLite reads on into the next page
            try:
                rows = self._torn.execute(self._select, (first, last, most)).fetchall()
            except sqlite3.DatabaseError:
                self.is_torn = True
                if first < last:
                    middle = (first + last) // 2
                    ranges += [(middle + 1, last), (first, middle)]
                continue
            yield from (row[1:] for row in rows)
            if len(rows) == PAGE:
                ranges.append((rows[-1][0] + 1, last))
