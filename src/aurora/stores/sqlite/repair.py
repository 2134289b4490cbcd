"""Rows of a SQLite file whose trees are torn: all that can still be read is written anew."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from aurora.files import OWNERS_FOLDER
from aurora.stores.shared import PAGE
from aurora.stores.sqlite.connection import connect_temporary, open_bare, require_tables
from aurora.stores.sqlite.rows import Row
from aurora.stores.sqlite.schema import HANGING, is_damaged
from aurora.text import pluralize

_LAST = 1 << 40  # more rows than any file has
_PROBES = 20_000  # of a table: where nothing can be read, nobody asks for every row
_HEADER, _PAGE_SIZE = 100, 4096  # bytes
_MOST_MISSING = 100  # times what is left
_IDS = """
    SELECT rowid, CAST(id AS BLOB) FROM main.chunks INDEXED BY sqlite_autoindex_chunks_1"""


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A folder beside the file, for the new one. What a killed process left there goes first."""
    folder = path.with_name(f"{path.name}-salvage")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def forced_open(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """A copy of a file that SQLite refuses, with a header that it accepts. What is missing at its
    end is zeros, and no page is free."""
    folder.mkdir(mode=OWNERS_FOLDER)
    copy = folder / "torn.db"
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(path.with_name(f"{path.name}{end}"), copy.with_name(f"torn.db{end}"))
    with closing(connect_temporary()) as new:
        header = bytearray(new.serialize()[:_HEADER])
    with copy.open("r+b") as file:
        pages = _count_pages(file.read(_HEADER), path.stat().st_size)
        header[28:32] = pages.to_bytes(4)
        header[32:40] = bytes(8)  # free pages
        header[92:96] = header[24:28]  # the length is meant
        file.seek(0)
        file.write(header)
        file.truncate(pages * _PAGE_SIZE)
    with closing(open_bare(copy)) as torn:
        require_tables(torn, path)
        torn.execute("SELECT rowid FROM chunks LIMIT 0")  # an error where no table is known
        yield torn


def _count_pages(header: bytes, size: int) -> int:
    """As many as the file had, if it tells, and that is no nonsense."""
    there = -(-size // _PAGE_SIZE)
    told = int.from_bytes(header[28:32]) if header.startswith(b"SQLite format 3\0") else 0
    return told if there < told <= there * _MOST_MISSING else there


@dataclass(slots=True)
class Lost:
    """What a file had that could not be copied."""

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
    """Copy every whole row that can be read, inside a transaction of `new`.

    Files of lost chunks must be read again: where the copy takes the file's place, what is
    remembered of files is left to the caller to drop.
    """
    lost = Lost(facts=not _copy_whole(torn, new, "facts"))
    for table in ("chunks", *HANGING):
        reader = _Reader(torn, table)
        _copy(new, table, reader)
        if table == "chunks":
            lost.ids, is_known = _find_missing(torn, new)
            lost.more = reader.is_torn or not is_known
    for table in HANGING:
        new.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT rowid FROM chunks)")
    _copy_whole(torn, new, "files")
    return lost


def _copy_whole(torn: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """The whole rows of a table without row numbers; whether these are all."""
    try:
        _copy(new, table, torn.execute(f"SELECT * FROM {table} WHERE NOT {is_damaged(table)}"))
        bad = torn.execute(f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}").fetchone()[0]
    except sqlite3.DatabaseError:  # what is lost of it is made anew
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
    """Whole rows of a table. Ranges are halved until what cannot be read is alone."""

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
            most = min(PAGE, last - first + 1)  # or SQLite would look for more, in the next page
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
