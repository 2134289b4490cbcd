"""Whether a SQLite file is intact: checksums of rows, the seal of the file, damage, and the log.

SQLite has no checksums, so every row has one. It is made when the row is written and compared when
the row is read. The pages that lead to the rows have none: a torn, restored or edited page could
hide rows silently. Therefore every change by Aurora seals the file: it notes size and times, which
the system changes with every write. While the seal holds, the file is trusted. After a killed
process or a foreign write it does not hold, and the whole file is checked before it is read.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Self

from aurora.errors import StoreBusyError, StoreFormatError
from aurora.files import open_file, read_file
from aurora.platforms import lock
from aurora.quick_classes import NamedTuple
from aurora.stores.sqlite.schema import CHECKSUMS, STRAY_SYMBOLS, TEXT_INDEXES, is_damaged
from aurora.text import pluralize

logger = logging.getLogger(__name__)

# Checksums

_ACCESS = struct.Struct("<qd")


def checksum(*values: object) -> int:
    """CRC-32 of a row's values: texts as UTF-8, `None` and numbers as Python writes them."""
    if bytes not in map(type, values):  # the usual case, three times as fast
        return zlib.crc32("\x1f".join(map(str, values)).encode())
    raw = [value if isinstance(value, bytes) else str(value).encode() for value in values]
    return zlib.crc32(b"\x1f".join(raw))


def history_checksum(row: int, tracking: str, commits: bytes, uncommitted: int) -> int:
    """The `checksum` of these values, in a fifth of the time: a search reads hundreds."""
    try:
        return zlib.crc32(b"%d\x1f%b\x1f%b\x1f%d" % (row, tracking.encode(), commits, uncommitted))
    except (AttributeError, TypeError):
        return -1  # values that Aurora never writes


def access_checksum(row: int, at: float) -> int:
    """The checksum of an access: a faster formula, because a search reads thousands."""
    try:
        return zlib.crc32(_ACCESS.pack(row, at))
    except struct.error:
        return -1  # values that Aurora never writes


def damaged(what: str, reason: object = "it is not as it was written") -> StoreFormatError:
    return StoreFormatError(
        f"{what} is damaged: {reason}",
        hint="`aur mem repair` keeps all that can be read, and files are read again",
    )


# SQLite's errors

_CORRUPT = ("malformed", "not a database", "corrupt", "disk image", "vtable constructor failed")
_MISSING = ("no such table", "no such module")


def is_corrupt(exc: sqlite3.Error) -> bool:
    return any(word in str(exc) for word in _CORRUPT)


def is_missing(exc: BaseException | None) -> bool:
    """Whether a table is missing, or FTS5 itself in this build of SQLite."""
    return isinstance(exc, sqlite3.OperationalError) and any(word in str(exc) for word in _MISSING)


def is_refused_write(exc: sqlite3.Error) -> bool:
    """Whether another process is writing, or the file is read-only here. Neither is damage."""
    primary = exc.sqlite_errorcode & 0xFF  # without the extended code
    return primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY)


# The check of a whole file


def find_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Damage in pages, references and rows. Only the pages if these are torn."""
    torn = list(find_torn(connection))
    if torn:
        yield from torn
        return
    try:
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            yield f"dangling reference in {table}"
        for table in CHECKSUMS:
            wrong = f"SELECT count(*) FROM {table} WHERE {is_damaged(table)}"
            [(count,)] = connection.execute(wrong)
            if count:
                yield f"damage in {pluralize(count, 'row')} of {table}"
        [(count,)] = connection.execute(STRAY_SYMBOLS)
        if count:
            yield f"{pluralize(count, 'name')} in symbols that no chunk has, or that is missing"
    except sqlite3.DatabaseError as exc:
        if not is_corrupt(exc):
            raise
        yield str(exc)


def find_torn(connection: sqlite3.Connection) -> Iterator[str]:
    """Damage in pages, which may have lost rows."""
    for text in _answers(connection, "PRAGMA integrity_check"):
        if text != "ok":
            yield " ".join(text.removeprefix("*** in database main ***").split())


def find_stray_words(connection: sqlite3.Connection) -> Iterator[str]:
    """Text indexes that differ from their rows. Takes the write lock, which may be refused."""
    for table in TEXT_INDEXES:
        # Rank 1 compares the index with its rows, not only with itself.
        compare = f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)"
        for problem in _answers(connection, compare):
            yield f"text index {table}: {problem}"


def _answers(connection: sqlite3.Connection, statement: str) -> Iterator[str]:
    """Answers of one column. If the file is too damaged to answer, the error is the answer."""
    try:
        for (text,) in connection.execute(statement):
            yield text
    except sqlite3.Error as exc:
        if is_corrupt(exc):
            yield str(exc)
        elif not is_missing(exc):
            raise


# The seal

_PATIENCE, _PAUSE = 0.02, 0.002  # seconds that a writer waits for a process that checks the file
_SEALINGS = 3  # another writer may have sealed the file meanwhile, and its seal is newer
_LONGEST = 200  # bytes of a seal
_NOT_ADOPTED = " not-adopted"  # the last word of a seal for a file that the user has not adopted


class Stamp(NamedTuple):
    """The state of a file as far as the system reports it without reading it."""

    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> Self | None:
        try:
            status = os.stat(path)  # noqa: PTH116 - checked often: Path is half as fast
        except OSError:
            return None
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Seal:
    """A small file beside the database. Writers share its lock; a full check holds it alone."""

    def __init__(self, path: Path, *, is_adopted: bool = True, read_only: bool = False) -> None:
        """`read_only`: the seal is read, and never written."""
        self._read_only = read_only
        self._path, self._file = path, path.with_name(f"{path.name}-seal")
        self._end = "" if is_adopted else _NOT_ADOPTED
        self._whole: Stamp | None = None  # of the file when it was last known to be intact
        self._refuted: tuple[Stamp | None, float] | None = None  # a false seal on a read-only disk

    def holds(self) -> bool:
        stamp = Stamp.of(self._path)
        if stamp in (self._whole, None):  # an open file can be read after it was deleted
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
        """Whether Aurora wrote the file last, on this machine and for this user.

        A copy, a clone or an archive has another change time (`st_ctime`), which no program can
        choose, so its seal does not hold.
        """
        try:
            words = read_file(self._file, most=_LONGEST).split()
        except OSError:
            return False
        return len(words) == len(Stamp._fields) + 1 and self._read()[0] == Stamp.of(self._path)

    @property
    def in_doubt(self) -> bool:
        """No seal: the file was never checked, or another process checks it right now."""
        return self._read()[0] is None

    @property
    def examined_at(self) -> float:
        """When the whole file was last checked; 0 if unknown."""
        return self._read()[1]

    @contextmanager
    def turn(self, patience: float = 0) -> Iterator[bool]:
        """Lock the seal for a full check. False if another process holds it after `patience`."""
        with self._opened() as file:
            yield file is None or _obtain(file, patience)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wrap a write: a file that was sealed before is sealed again afterwards.

        Writers share the lock. Blocking here could deadlock, because a writer may hold another
        lock. The first writer checks that the seal holds, and every writer renews it.
        """
        with self._opened() as file:
            if file is not None and _obtain(file) and self._read()[0] != Stamp.of(self._path):
                self.doubt()
            is_ours = file is not None and _obtain(file, _PATIENCE, shared=True)
            yield
            for _ in range(_SEALINGS if is_ours else 0):
                (sealed, examined_at), stamp = self._read(), Stamp.of(self._path)
                if sealed in (None, stamp):
                    break
                self._keep(stamp, examined_at)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO | None]:
        """The file to lock; None where it cannot be written, and no process writes."""
        try:
            file = None if self._read_only else open_file(self._file, "a+b")
        except OSError:
            file = None
        with file or nullcontext():
            yield file

    def doubt(self) -> Stamp | None:
        """Break the seal before a full check; returns the stamp of the file now."""
        self._keep(None, 0)
        self._refuted = self._read()
        return Stamp.of(self._path)

    def put(self, stamp: Stamp | None) -> None:
        """Seal a file that was intact at `stamp`. If it changed since, the seal does not hold."""
        self._keep(stamp, time.time())

    def believe(self, stamp: Stamp | None) -> None:
        """Trust the file in this process only, without a seal on disk."""
        self._whole = stamp

    def _read(self) -> tuple[Stamp | None, float]:
        try:
            words = read_file(self._file, most=_LONGEST).split()
            return Stamp(*map(int, words[:3])), float(words[3])
        except (OSError, ValueError, TypeError, IndexError):
            return None, 0

    def _keep(self, stamp: Stamp | None, examined_at: float) -> None:
        self._whole = stamp
        if self._read_only:
            return
        text = f"{' '.join(map(str, stamp))} {int(examined_at)}{self._end}\n" if stamp else ""
        with suppress(OSError), open_file(self._file, "r+b") as file:
            file.write(text.encode())  # in place, because the lock belongs to this file
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
        except OSError:  # a file system without locks
            return True
        else:
            return True


# The log

# Bytes, SQLite's default. A log that starts over is cut to this size and overwritten, which is
# faster than truncating it. A longer log has grown since then.
LONG = 4 * 1024 * 1024


def has_log(path: Path) -> bool:
    return _log_size(path) > 0


def shorten_log(connection: sqlite3.Connection, path: Path) -> None:
    """Copy a long log into the file, so that the next writer starts the log over.

    SQLite would do it while another process commits, which before 3.51.3 can lose that commit
    (sqlite.org/wal.html, "the WAL-reset bug"). The write lock taken here prevents commits. If
    another process is writing, that process does it.
    """
    if _log_size(path) <= LONG:
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as guard:
        guard.execute("BEGIN IMMEDIATE")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _log_size(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


# One open file

_CHECK_PATIENCE, _CHECK_PAUSE = 10, 0.01  # seconds that a reader waits for a check of the file
_CHECK_EVERY = 7 * 24 * 3600  # seconds


class Damage(NamedTuple):
    """A problem of a file, and the state of the file when it was found."""

    stamp: Stamp | None
    problem: str


class Integrity:
    """Decides whether a file may be read and written: `find_damage` before a read,
    `require_whole` before a write transaction, `committing` around its commit."""

    def __init__(
        self,
        path: Path,
        open_apart: Callable[[Path], AbstractContextManager[sqlite3.Connection]],
        *,
        is_adopted: bool,
        read_only: bool = False,
    ) -> None:
        """`open_apart` opens a new connection, because others cache pages that were intact."""
        self.path, self.seal = path, Seal(path, is_adopted=is_adopted, read_only=read_only)
        self.damage: Damage | None = None
        self.repairs = 0  # changes whenever damage is gone: cached data may be stale then
        self._open_apart = open_apart

    def find_damage(self) -> Damage | None:
        """None if the file is sealed, or after a check of the whole file without a problem."""
        if self.seal.holds():  # the usual case
            if self.damage is not None:
                self.damage, self.repairs = None, self.repairs + 1
            return None
        if self.damage is not None and self.damage.stamp == Stamp.of(self.path):
            return self.damage
        until = time.monotonic() + _CHECK_PATIENCE
        while not self.seal.holds():
            with self.seal.turn() as is_ours:
                if is_ours and not self.seal.holds():
                    self.examine()
                    return self.damage
            if not (is_ours or self.seal.in_doubt):
                return None  # a writer is changing the file and seals it in a moment
            if time.monotonic() > until:
                raise StoreBusyError(
                    f"{self.path} is being checked for damage by another process",
                    hint="wait until it has finished, then try again",
                )
            time.sleep(_CHECK_PAUSE)
        return None

    def require_whole(self) -> None:
        damage = self.find_damage()
        if damage is not None:
            raise damaged(str(self.path), damage.problem)

    @contextmanager
    def committing(self, connection: sqlite3.Connection) -> Iterator[None]:
        with self.seal.changing():
            yield
            shorten_log(connection, self.path)

    def examine(self) -> None:
        """Check the whole file. The caller holds the turn of the seal."""
        logger.debug("%s is checked for damage", self.path)
        with self._open_apart(self.path) as connection:
            stamp, put = self.seal.doubt(), self.seal.put
            problems = list(find_problems(connection))
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                problems += find_stray_words(connection)
            except sqlite3.OperationalError as exc:
                if not is_refused_write(exc):
                    raise
                put = self.seal.believe  # the current writer has checked the text indexes
        if problems:
            more = f", and {pluralize(len(problems) - 1, 'problem')} more" if problems[1:] else ""
            self.damage = Damage(stamp, f"{problems[0]}{more}")
        else:
            self.damage = None
            put(stamp)

    def examine_if_due(self) -> None:
        """Check the whole file weekly: a bit that flips on the disk breaks no seal."""
        age = time.time() - self.seal.examined_at
        if not 0 <= age <= _CHECK_EVERY:  # a time in the future counts as none
            with self.seal.turn(_CHECK_PATIENCE):
                self.examine()

    def look(self) -> None:
        """Check a file whose seal holds. It stays sealed meanwhile, so that others can read."""
        if self.find_damage():
            return
        with self._open_apart(self.path) as connection:
            has_problems = any(find_problems(connection))
        if has_problems:
            with self.seal.turn(_CHECK_PATIENCE):
                self.examine()

    def check(self) -> list[str]:
        """All problems of the file, which is sealed if there are none."""
        with self.seal.turn(_CHECK_PATIENCE), self._open_apart(self.path) as connection:
            stamp = self.seal.doubt()
            problems = [*find_problems(connection), *find_stray_words(connection)]
            if not problems:
                self.seal.put(stamp)
        return problems
