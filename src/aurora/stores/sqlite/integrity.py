"""Checksums of rows. SQLite keeps none: a bit that flips on the disk would be another answer.

Every row has one, made when it is written and compared when it is read. A state of a file that is
damaged counts as none: its file is read again.

Whether a SQLite file is as Aurora left it.

Rows have checksums. What leads to them, SQLite's trees and indexes, has none: a page that was torn,
restored or edited could hide rows from a search without a word. So who changes the file seals it:
he notes its size and its times, which the system changes with every write. Who finds the seal
broken, by a killed process or by anything else, looks at the whole file before he believes it.

The log beside a SQLite file: what was committed stands there until somebody moves it over.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from aurora.errors import StoreFormatError
from aurora.files import lock, open_file, read_file

_ACCESS = struct.Struct("<qd")


def checksum(*values: object) -> int:
    """CRC-32 of a row's values. `None` and numbers count as Python writes them, texts as bytes."""
    if bytes not in map(type, values):  # as nearly always, and then three times as quick
        return zlib.crc32("\x1f".join(map(str, values)).encode())
    raw = (value if isinstance(value, bytes) else str(value).encode() for value in values)
    return zlib.crc32(b"\x1f".join(raw))


def access_checksum(row: int, at: float) -> int:
    """The same for an access: a search reads thousands, and this formula is quicker."""
    try:
        return zlib.crc32(_ACCESS.pack(row, at))
    except struct.error:
        return -1  # of values that nobody writes


def damaged(what: str, reason: object = "it is not as it was written") -> StoreFormatError:
    return StoreFormatError(
        f"{what} is damaged: {reason}",
        hint="`aur mem repair` keeps all that can be read, and files are read again",
    )


_PATIENCE, _PAUSE = 0.02, 0.002  # seconds that who changes the file waits for who examines it
_OFTEN = 3  # times it is sealed: another may have left meanwhile, and his seal was the newer one
_LONGEST = 200  # bytes of a seal
_NOT_ADOPTED = " not-adopted"  # the last word of a seal under what the user has not made


class Stamp(NamedTuple):
    """How a file is, as far as the system tells without reading it."""

    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> Self | None:
        try:
            status = os.stat(path)  # noqa: PTH116 - before every reading: Path takes twice as long
        except OSError:
            return None
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Seal:
    """A small file beside the database. Who changes that shares its lock, who examines it holds it
    alone."""

    def __init__(self, path: Path, *, is_adopted: bool = True) -> None:
        self._path, self._file = path, path.with_name(f"{path.name}-seal")
        self._end = "" if is_adopted else _NOT_ADOPTED
        self._whole: Stamp | None = None  # how the file was when it was last known to be whole
        self._refuted: tuple[Stamp | None, float] | None = None  # what could not be broken on disk

    def holds(self) -> bool:
        stamp = Stamp.of(self._path)
        if stamp in (self._whole, None):  # what is gone from its folder can be read all the same
            return True
        sealed = self._read()
        if sealed[0] != stamp or sealed == self._refuted:
            return False
        self._whole = stamp
        return True

    @property
    def exists(self) -> bool:
        return self._file.exists()

    def proves_own(self) -> bool:
        """Whether Aurora wrote the file last, here and for this user.

        A copy, a clone or an archive has another change time (`st_ctime`), which no program can
        choose: its seal does not hold.
        """
        try:
            words = read_file(self._file, most=_LONGEST).split()
        except OSError:
            return False
        return len(words) == len(Stamp._fields) + 1 and self._read()[0] == Stamp.of(self._path)

    @property
    def in_doubt(self) -> bool:
        """Nobody has found the file whole, or somebody is just looking."""
        return self._read()[0] is None

    @property
    def examined_at(self) -> float:
        """When the whole file was last looked at; 0 if nobody knows."""
        return self._read()[1]

    @contextmanager
    def turn(self, patience: float = 0) -> Iterator[bool]:
        """To examine the file. False if somebody else is at it, also after so many seconds."""
        with self._opened() as file:
            yield file is None or _obtain(file, patience)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around what may write to the file: what we make of a sealed one is sealed.

        Several may be at it, and none waits for another, for he may hold a lock that the other
        waits for. Who comes first looks whether the seal holds; whoever leaves seals it anew.
        """
        with self._opened() as file:
            if file is not None and _obtain(file) and self._read()[0] != Stamp.of(self._path):
                self.doubt()
            is_ours = file is not None and _obtain(file, _PATIENCE, shared=True)
            yield
            for _ in range(_OFTEN if is_ours else 0):
                (sealed, examined_at), stamp = self._read(), Stamp.of(self._path)
                if sealed in (None, stamp):
                    break
                self._keep(stamp, examined_at)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO | None]:
        """To be locked; None where nobody can write, and nothing is to be arranged."""
        try:
            file = open_file(self._file, "a+b")
        except OSError:
            file = None
        with file or nullcontext():
            yield file

    def doubt(self) -> Stamp | None:
        """Break the seal, until somebody who has his turn has looked at the file as it is now."""
        self._keep(None, 0)
        self._refuted = self._read()
        return Stamp.of(self._path)

    def put(self, stamp: Stamp | None) -> None:
        """The file was whole then. If somebody has changed it since, the seal is broken again."""
        self._keep(stamp, time.time())

    def believe(self, stamp: Stamp | None) -> None:
        """The same without a seal that others would see."""
        self._whole = stamp

    def _read(self) -> tuple[Stamp | None, float]:
        try:
            words = read_file(self._file, most=_LONGEST).split()
            return Stamp(*map(int, words[:3])), float(words[3])
        except (OSError, ValueError, TypeError, IndexError):
            return None, 0

    def _keep(self, stamp: Stamp | None, examined_at: float) -> None:
        self._whole = stamp
        text = f"{' '.join(map(str, stamp))} {int(examined_at)}{self._end}\n" if stamp else ""
        with suppress(OSError), open_file(self._file, "r+b") as file:
            file.write(text.encode())  # in its place: the lock is that of this file
            file.truncate()


def _obtain(file: BinaryIO, patience: float = 0, *, shared: bool = False) -> bool:
    until = time.monotonic() + patience
    while True:
        try:
            lock(file, shared=shared)
        except (BlockingIOError, PermissionError):  # the latter on Windows
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)
        except OSError:  # where there are no locks, nobody has one
            return True
        else:
            return True


# Bytes: SQLite's own measure. A log that is begun anew is cut to it, and written over rather than
# emptied, which would be slower; so one that is longer has grown since then.
LONG = 4 * 1024 * 1024


def has_log(path: Path) -> bool:
    return _size(path) > 0


def shorten_log(connection: sqlite3.Connection, path: Path) -> None:
    """Write a long log into the file, so that who writes next begins it anew.

    SQLite would do it while another commits, and before 3.51.3 that can lose what he wrote
    (sqlite.org/wal.html, "the WAL-reset bug"). Here nobody commits meanwhile; and if somebody is
    just writing, it is left to him.
    """
    if _size(path) <= LONG:
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as guard:
        guard.execute("BEGIN IMMEDIATE")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _size(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0
