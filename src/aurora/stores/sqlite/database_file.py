"""Opening of SQLite files: recognised, migrated, read-only where needed, with errors translated.

Nothing is written to a file before it is known to be Aurora's.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from aurora.errors import ForeignSchemaError, StoreBusyError, StoreError, StoreFormatError
from aurora.files import make_file, open_file, require_plain
from aurora.package_manager import upgrade_command
from aurora.platforms import free_bytes, lock
from aurora.quick_classes import dataclass
from aurora.stores.base import Work
from aurora.stores.sqlite.integrity import (
    LONG,
    Stamp,
    access_checksum,
    checksum,
    damaged,
    has_log,
    is_corrupt,
)
from aurora.stores.sqlite.schema import APPLICATION_ID, CHECKSUMS, MIGRATIONS, find_foreign
from aurora.types import Progress

# The library


@dataclass(frozen=True, slots=True)
class SQLiteLibrary:
    """The version of Python's SQLite library, and whether it has what a memory needs."""

    version: str
    has_fts5: bool
    has_trigrams: bool


def describe_library() -> SQLiteLibrary:
    """Try the features, because a library may be built without any of them."""
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


# Locks and errors

_LOCK_BYTES = 100


@contextmanager
def work_lock(path: Path, work: Work = Work.INDEX) -> Iterator[Callable[[Progress], None]]:
    """Hold the lock of a database file for some work, or fail at once with the holder's number.

    The operating system releases the lock of a killed process. The file holds the process id and,
    once the holder has shown it, the progress.
    """
    lock_path = path.with_name(f"{path.name}-{work}")
    try:
        make_file(lock_path)
        file = open_file(lock_path, "r+b")
    except OSError as exc:
        raise StoreError(
            f"Cannot open {lock_path}: {exc.strerror}",
            hint="check that the folder exists and is writable",
        ) from exc
    with file:
        try:
            lock(file)
        except OSError as exc:
            file.seek(0)
            owner = file.read(20).decode("ascii", "replace").partition("\t")[0].strip() or "unknown"
            raise work.busy(str(path.parent), f" ({owner})") from exc

        def write(*words: object) -> None:
            line = "\t".join(map(str, words)).encode()[:_LOCK_BYTES].ljust(_LOCK_BYTES)
            # It is only for messages: a full disk is no reason to fail. Unbuffered: close writes
            # nothing.
            with suppress(OSError):
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                os.write(file.fileno(), line)

        write(os.getpid())
        try:
            yield lambda progress: write(os.getpid(), *progress)
        finally:
            write(os.getpid())


def read_progress(path: Path, work: Work) -> Progress | None:
    """The progress in the lock file, if its writer still holds the lock."""
    try:
        with open_file(path.with_name(f"{path.name}-{work}")) as file:
            _, *words = file.read(_LOCK_BYTES).decode("ascii", "replace").rstrip().split("\t")
            if len(words) != len(Progress._fields):
                return None  # usually nothing is indexed now, and the lock is left alone
            try:
                lock(file, shared=True)
            except OSError:
                return Progress(words[0], int(words[1]), int(words[2]))
    except (OSError, ValueError):
        pass
    return None


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into Aurora's, with the file's name and the next step."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _explained(exc, path) from exc
    except UnicodeEncodeError as exc:
        raise StoreError(f"{exc.object!r} is not UTF-8", hint="a memory holds only text") from exc


def _explained(exc: sqlite3.Error, path: Path) -> StoreError:
    text = str(exc)
    if "locked" in text or "busy" in text:
        return StoreBusyError(
            f"{path} is in use by another process (waited {BUSY_MS // 1000} s)",
            hint="wait until the other `aur` has finished, then try again",
        )
    if "decode to UTF-8" in text:  # without the text itself, which may be anything
        return damaged(str(path), "a text in it is not valid UTF-8")
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
    return StoreError(f"{path}: {text}", hint="`aur doctor` shows problems such as a full disk")


# Opening

BUSY_MS = 10_000  # how long a writer waits for another writer
_PAUSE = 0.01  # seconds
_SHOWN = 3  # foreign objects named in a message
_LEAST_ROOM = 64 * 1024  # bytes of disk: SQLite needs half of it to read beside other processes
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",  # a committed write survives a power cut
    "PRAGMA secure_delete = ON",  # removed data is overwritten
    "PRAGMA wal_autocheckpoint = 0",  # `shorten_log` does it
    f"PRAGMA journal_size_limit = {LONG}",
)
_BESIDE = ("", "-wal", "-shm", "-journal")  # files that SQLite opens by their names
# The end of a rollback journal that names another file, which SQLite would delete.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


class Connection(sqlite3.Connection):
    """A connection that ends with its thread: it can be referenced weakly and closes itself."""

    stamp: Stamp | None = None  # of a file that SQLite takes for immutable

    def is_outdated(self, path: Path) -> bool:
        """Whether a file that was opened as immutable changed all the same."""
        if self.stamp is None or self.in_transaction:
            return False
        return self.stamp != Stamp.of(path) or has_log(path)

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # a connection that could not be opened
            self.close()


def connect(path: Path, *, read_only: bool = False) -> Connection:
    """Open the file, create or migrate its tables, and refuse foreign files."""
    if read_only:
        return connect_unchanging(path)
    with translated(path):
        try:
            return _connect(path)
        except sqlite3.OperationalError:
            if _cannot_change(path) and schema_of(path):  # a new file has nothing to read
                return connect_unchanging(path)
            raise


def _connect(path: Path) -> Connection:
    with suppress(OSError):  # SQLite reports the problem; its other files take on this mode
        make_file(path)
    if has_log(path):  # closing a foreign file that was opened for writing would apply its log
        schema_of(path)
    connection = open_bare(path)
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


def connect_unchanging(path: Path) -> Connection:
    """Open a file that cannot be written here, without creating SQLite's files beside it.

    If another process has the file open, its files beside it are used.
    """
    with translated(path):
        stamp = None if has_log(path) else Stamp.of(path)
        connection = open_bare(path, f"mode=ro{'&immutable=1' if stamp else ''}")
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
    """An empty database with all tables. Its file has no name: a killed process leaves nothing."""
    connection = _connected("")
    _migrate(connection)
    return connection


@contextmanager
def open_apart(path: Path, *, read_only: bool = False) -> Iterator[Connection]:
    """A connection that shares no cached pages with others."""
    with translated(path), closing(connect(path, read_only=read_only)) as connection:
        yield connection


def schema_of(path: Path) -> int:
    """The schema version of one of Aurora's files, which is not changed, even if it is old."""
    with translated(path), closing(open_bare(path, _unwritten(path))) as connection:
        return _recognise(connection, path)


@contextmanager
def open_foreign(path: Path, *, writing: bool = False) -> Iterator[tuple[Connection, list[str]]]:
    """A file with foreign objects in its schema, and their names. Opening runs none of them."""
    options = "mode=rw" if writing else _unwritten(path)
    with translated(path), closing(open_bare(path, options)) as connection:
        yield connection, require_tables(connection, path)


def require_tables(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Names of foreign objects such as a trigger. Raises if Aurora's tables are not plain tables:
    reading them could run anything."""
    objects = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    foreign = list(find_foreign(tuple(objects)))
    if any(name.split()[1] in CHECKSUMS for name in foreign):
        raise StoreFormatError(
            f"{path} cannot be read: its tables are not Aurora's",
            hint=f"keep it elsewhere (`mv {path} {path}.foreign`) and index again",
        )
    return foreign


def identity_of(path: Path, *, read_only: bool = False) -> str | None:
    """The identity of one of Aurora's files, which is not changed; None if it has none, or if
    damage hides it."""
    try:
        options = _unwritten(path, read_only=read_only)
        with translated(path), closing(open_bare(path, options)) as connection:
            if not _recognise(connection, path):
                return None
            row = connection.execute("SELECT value FROM facts WHERE name = 'identity'").fetchone()
    except StoreFormatError as exc:
        if isinstance(exc.__cause__, sqlite3.DatabaseError):
            return None
        raise
    return str(row[0]) if row else None


def _unwritten(path: Path, *, read_only: bool = False) -> str:
    """Options that change nothing. Immutable: SQLite creates no files beside it."""
    is_still = (read_only or _cannot_change(path)) and not has_log(path)
    return "mode=ro&immutable=1" if is_still else "mode=ro"


def _cannot_change(path: Path) -> bool:
    """Whether the permission is missing, or the disk is read-only or full."""
    acting = os.access in os.supports_effective_ids  # the effective user, not the real one
    if not all(os.access(each, os.W_OK, effective_ids=acting) for each in (path, path.parent)):
        return os.access(path, os.F_OK)  # False instead of an error for an invalid name
    return free_bytes(path) < _LEAST_ROOM


def open_bare(path: Path, options: str = "") -> Connection:
    """Open a file without a check of its owner and schema, with options of a SQLite URI.

    Links are refused.
    """
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
    except OSError:  # the usual case: there is no journal
        return
    if ending == _NAMES_ANOTHER:
        raise StoreFormatError(
            f"{journal} names another file that SQLite would delete: Aurora does not use it",
            hint="it may have come with a clone or an archive: look at it, then delete it",
        )


def _recognise(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version of one of Aurora's files. Nothing is written before this check."""
    connection.execute("BEGIN")  # one moment for all three: another process may be creating it
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
    """Raise if a newer Aurora wrote the file, even after this process opened it."""
    if version > len(MIGRATIONS):
        raise StoreFormatError(
            f"{path} was written by a newer Aurora "
            f"(schema {version}, this one knows {len(MIGRATIONS)})",
            hint=f"upgrade with `{upgrade_command()}`, or start a server again "
            "that ran meanwhile; the file was not touched",
        )


def _enter_wal_mode(connection: sqlite3.Connection) -> None:
    """Switch a new file to WAL mode. Retries, because SQLite does not wait for other processes."""
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
    """Bring the file to the newest schema, all steps or none."""
    with transaction(connection):
        # Read inside the write lock: another process may have migrated meanwhile.
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
    """Take the write lock, then commit or roll back. A failed rollback hides no earlier error."""
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
