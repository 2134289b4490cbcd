"""A lock that is a file: held by one process or thread, let go even by one that is killed.

What the SQLite library of this Python can do.

Opening a SQLite file safely: pragmas, migrations, transactions, and errors a person can read.

What the tables mean is left to `sqlite`; here is only what any use of the file needs.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aurora.errors import ForeignSchemaError, StoreBusyError, StoreError, StoreFormatError
from aurora.files import lock, make_file, open_file, require_plain
from aurora.stores.sqlite.integrity import LONG, Stamp, access_checksum, checksum, damaged, has_log
from aurora.stores.sqlite.schema import APPLICATION_ID, CHECKSUMS, MIGRATIONS, find_foreign


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock, or fail at once with the number of the process that does."""
    try:
        file = open_file(path, "a+b")
    except OSError as exc:
        raise StoreError(
            f"Cannot open {path}: {exc.strerror}",
            hint="check that the folder exists and is writable",
        ) from exc
    with file:
        try:
            lock(file)
        except OSError as exc:
            file.seek(0)
            owner = file.read(20).decode("ascii", "replace").strip() or "unknown"
            raise StoreBusyError(
                f"{path.parent} is being indexed by another process ({owner})",
                hint="wait until the other `aur mem index` has finished, then try again",
            ) from exc
        _sign(file)
        yield


def _sign(file: BinaryIO) -> None:
    """Only to be named by those who wait: the lock is the operating system's, not the text."""
    try:
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())  # nothing that closing would write again
    except OSError:  # a full disk must not keep anyone from indexing
        pass


@dataclass(frozen=True, slots=True)
class SQLiteLibrary:
    """Its version, and whether it has what a memory is made of."""

    version: str
    has_fts5: bool
    has_trigrams: bool


def describe_library() -> SQLiteLibrary:
    """Found out by trying: a library may be built without anything."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return SQLiteLibrary(
            sqlite3.sqlite_version,
            has_fts5=_can_make(connection, "unicode61"),
            has_trigrams=_can_make(connection, "trigram"),
        )


def _can_make(connection: sqlite3.Connection, tokenizer: str) -> bool:
    try:
        connection.execute(
            f"CREATE VIRTUAL TABLE {tokenizer} USING fts5(content, tokenize='{tokenizer}')"
        )
    except sqlite3.Error:
        return False
    return True


BUSY_MS = 10_000  # how long a writer waits for another one before it gives up
_PAUSE = 0.01
_SHOWN = 3  # foreign objects named
_LEAST_ROOM = 64 * 1024  # bytes on the disk: SQLite takes half of it to read beside others
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",  # what was acknowledged survives a power cut, too
    "PRAGMA secure_delete = ON",  # what was forgotten is overwritten, not only let go
    "PRAGMA wal_autocheckpoint = 0",  # `shorten_log` does it
    f"PRAGMA journal_size_limit = {LONG}",  # by which it knows a long one
)
_BESIDE = ("", "-wal", "-shm", "-journal")  # files that SQLite opens by their names
# How a rollback journal ends that names another file, which SQLite would delete. Ours never do.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_CORRUPT = ("malformed", "not a database", "corrupt", "disk image", "vtable constructor failed")


class Connection(sqlite3.Connection):
    """A connection that goes with its thread: it can be referred to weakly and closes itself."""

    stamp: Stamp | None = None  # of a file that counts as unchanging, for SQLite does not look

    def is_outdated(self, path: Path) -> bool:
        """Somebody has changed it all the same."""
        if self.stamp is None or self.in_transaction:
            return False
        return self.stamp != Stamp.of(path) or has_log(path)

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # one that could not be opened is none
            self.close()


def connect(path: Path) -> Connection:
    """Open the file, make or migrate its tables, and refuse what is not ours."""
    with translated(path):
        try:
            return _connect(path)
        except sqlite3.OperationalError:
            if _cannot_change(path) and schema_of(path):  # one just made has nothing to read
                return connect_unchanging(path)
            raise


def connect_unchanging(path: Path) -> Connection:
    """Open a file that cannot be written here, without the files that SQLite would lay beside it.

    Where somebody else's lie there, because he has it open, they are used.
    """
    with translated(path):
        stamp = None if has_log(path) else Stamp.of(path)
        connection = _open(path, _read_only(path))
        connection.stamp = stamp
        try:
            version = _recognise(connection, path)
        except BaseException:
            connection.close()
            raise
    if version < len(MIGRATIONS):
        connection.close()
        raise StoreFormatError(
            f"{path} was written by an older Aurora, and cannot be brought up to date here",
            hint="copy the memory to a disk that can be written",
        )
    return connection


def connect_temporary() -> Connection:
    """A database that no other connection sees, with our tables. SQLite gives its file no name, so
    that a killed process leaves nothing behind."""
    connection = _connected("")
    _migrate(connection)
    return connection


def open_bare(path: Path) -> Connection:
    """A file that is not asked whose it is."""
    return _open(path)


def schema_of(path: Path) -> int:
    """The schema version of a file of ours, which stays as it is, however old."""
    with translated(path), closing(_open(path, _unwritten(path))) as connection:
        return _recognise(connection, path)


@contextmanager
def open_foreign(path: Path, *, writing: bool = False) -> Iterator[tuple[Connection, list[str]]]:
    """Open a file whatever its schema, with what Aurora never makes in it. Opening runs nothing."""
    options = "mode=rw" if writing else _unwritten(path)
    with translated(path), closing(_open(path, options)) as connection:
        yield connection, require_tables(connection, path)


def require_tables(connection: sqlite3.Connection, path: Path) -> list[str]:
    """What Aurora never makes in a file, such as a trigger. Raises where its tables are no tables:
    reading them could run anything."""
    objects = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    foreign = list(find_foreign(tuple(objects)))
    if any(name.split()[1] in CHECKSUMS for name in foreign):
        raise StoreFormatError(
            f"{path} cannot be read: its tables are not Aurora's",
            hint=f"keep it elsewhere (`mv {path} {path}.foreign`) and index again",
        )
    return foreign


def identity_of(path: Path) -> str | None:
    """The identity of a file of ours, which stays as it is; None where it has none yet, or damage
    hides it."""
    try:
        with translated(path), closing(_open(path, _unwritten(path))) as connection:
            if not _recognise(connection, path):
                return None
            row = connection.execute("SELECT value FROM facts WHERE name = 'identity'").fetchone()
    except StoreFormatError as exc:
        if isinstance(exc.__cause__, sqlite3.DatabaseError):
            return None
        raise
    return str(row[0]) if row else None


def _unwritten(path: Path) -> str:
    return _read_only(path) if _cannot_change(path) else "mode=ro"


def _read_only(path: Path) -> str:
    return "mode=ro" if has_log(path) else "mode=ro&immutable=1"


def _cannot_change(path: Path) -> bool:
    """Without permission, on a disk mounted read-only, or on one that is full to the brim."""
    acting = os.access in os.supports_effective_ids  # as whom we act, not who started us
    if not all(os.access(each, os.W_OK, effective_ids=acting) for each in (path, path.parent)):
        return os.access(path, os.F_OK)  # no error, whatever the name
    is_full = False
    if sys.platform != "win32":  # which cannot tell
        disk = os.statvfs(path)
        is_full = disk.f_bavail * disk.f_frsize < _LEAST_ROOM
    return is_full


def _open(path: Path, options: str = "") -> Connection:
    """Open the file with options of SQLite's addresses. No link is followed."""
    for ending in _BESIDE:
        require_plain(path.with_name(f"{path.name}{ending}"))
    _require_own_journal(path.with_name(f"{path.name}-journal"))
    return _connected(f"{path.absolute().as_uri()}?{options}" if options else path)


def _connected(where: Path | str) -> Connection:
    connection = sqlite3.connect(
        where, isolation_level=None, check_same_thread=False, factory=Connection, uri=True
    )
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function("access_checksum", 2, access_checksum, deterministic=True)
    return connection


def _require_own_journal(journal: Path) -> None:
    try:
        with open_file(journal) as file:
            file.seek(-len(_NAMES_ANOTHER), os.SEEK_END)
            ending = file.read()
    except OSError:  # nearly always: there is none
        return
    if ending == _NAMES_ANOTHER:
        raise StoreFormatError(
            f"{journal} names another file that SQLite would delete: Aurora does not use it",
            hint="it may have come with a clone or an archive: look at it, then delete it",
        )


def _connect(path: Path) -> Connection:
    with suppress(OSError):  # SQLite says what is wrong; its other files take on this mode
        make_file(path)
    if has_log(path):  # of another's file, too: opened to write, closing it would write the log
        schema_of(path)
    connection = _open(path)
    try:
        version = _recognise(connection, path)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        _enter_wal_mode(connection)
        if version < len(MIGRATIONS):
            _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _recognise(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version of a file of ours. Nothing is written before it is known to be ours."""
    connection.execute("BEGIN")  # one moment for all three: another process may just be making it
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    objects = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    connection.execute("COMMIT")
    if owner != APPLICATION_ID and objects:
        raise StoreFormatError(
            f"{path} is a SQLite database of another program",
            hint=f"it was not touched; keep it elsewhere (`mv {path} {path}.old`) and index again",
        )
    require_known(version, path)
    foreign = list(find_foreign(tuple(objects)))
    if foreign:
        raise ForeignSchemaError(
            f"{path} has what Aurora never makes: {', '.join(foreign[:_SHOWN])}",
            hint="it may have come with a clone or an archive; `aur adopt` shows what is in it, "
            "and takes over its rows without the rest",
        )
    return version


def require_known(version: int, path: Path) -> None:
    """Raise where a newer program has been at work, even since we opened the file."""
    if version > len(MIGRATIONS):
        raise StoreFormatError(
            f"{path} was written by a newer Aurora "
            f"(schema {version}, this one knows {len(MIGRATIONS)})",
            hint="upgrade with `pip install --upgrade aurora-memory`, or start a server again "
            "that ran meanwhile; the file was not touched",
        )


def _enter_wal_mode(connection: sqlite3.Connection) -> None:
    """A new file is switched once; those who meet over it try again, for SQLite does not wait."""
    patience = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(_PAUSE)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest schema, all steps or none: a failure leaves it as it was."""
    with transaction(connection):
        # Asked inside the write lock: another process may have migrated while we waited.
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        for migration in MIGRATIONS[version:]:
            for statement in migration.statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")


@contextmanager
def transaction(
    connection: sqlite3.Connection,
    committing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[None]:
    """Take the write lock, then commit or roll back; cleaning up never hides the first error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        with committing():
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the file's name and the next step."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _explained(exc, path) from exc
    except UnicodeEncodeError as exc:
        raise StoreError(f"{exc.object!r} is not UTF-8", hint="a memory holds only text") from exc


def is_corrupt(exc: sqlite3.Error) -> bool:
    return any(word in str(exc) for word in _CORRUPT)


def is_missing(exc: BaseException | None) -> bool:
    """A table is not there, or what makes it: a library may be built without FTS5."""
    words = ("no such table", "no such module")
    return isinstance(exc, sqlite3.OperationalError) and any(word in str(exc) for word in words)


def is_refused_write(exc: sqlite3.Error) -> bool:
    """Another process is writing, or the file cannot be written here: nothing is wrong with it."""
    primary = exc.sqlite_errorcode & 0xFF  # there are several kinds of each
    return primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY)


def _explained(exc: sqlite3.Error, path: Path) -> StoreError:
    text = str(exc)
    if "locked" in text or "busy" in text:
        return StoreBusyError(
            f"{path} is in use by another process (waited {BUSY_MS // 1000} s)",
            hint="wait until the other `aur` has finished, then try again",
        )
    if "decode to UTF-8" in text:  # the text itself is not told: it may be anything
        return damaged(str(path), "a text in it is no text any more")
    if is_corrupt(exc):
        return StoreFormatError(
            f"{path} is not a usable database: {text}",
            hint="`aur mem repair` keeps all that can be read; if it cannot be opened, keep it "
            f"(`mv {path} {path}.damaged`) and put a backup in its place, or index again and "
            "`aur mem import` an export",
        )
    if "unable to open" in text or "readonly" in text:
        return StoreError(
            f"Cannot open {path}: {text}",
            hint="check that the folder exists and is writable, and that the disk is not full",
        )
    if "full" in text:
        return StoreError(f"Cannot write {path}: {text}", hint="free some space, then try again")
    return StoreError(
        f"{path}: {text}", hint="`aur doctor` tells what is wrong, such as a full disk"
    )
