"""Vectors by content, which all memories of a user share: no text is embedded twice.

A folder holds one SQLite file for each embedder. A row has a digest of the embedded text, the
vector with a checksum, and a digest of the file or document that the text is from, so that
forgetting reaches the vectors of earlier versions. It holds no text.

All of it is derived: whatever goes wrong here, vectors are made by the model again. After a failure
the cache is not used until the next run; a damaged file is deleted.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from aurora.errors import AuroraError
from aurora.files import digest_of, make_file, make_folder, require_own
from aurora.stores.base import Embedder
from aurora.stores.shared import Row

logger = logging.getLogger(__name__)

MOST_BYTES = 1 << 30  # of all files: about 1.7 million vectors of 256 numbers
_SECONDS = 2.0  # to wait for another process
_KEYS = 500  # in one statement
_PART = 16  # of a full file, what is dropped at once
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS vectors (
        id INTEGER PRIMARY KEY,  -- the oldest has the lowest
        key BLOB NOT NULL UNIQUE,
        origin INTEGER NOT NULL,
        checksum INTEGER NOT NULL,  -- CRC-32 of key and vector
        vector BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS vectors_by_origin ON vectors (origin);
"""


class VectorCache:
    """The folder of all embedders' files."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self.folder, self._most_bytes = folder, most_bytes

    @contextmanager
    def open(self, embedder: Embedder) -> Iterator[CachedVectors]:
        """The vectors of one embedder, for one thread."""
        name = digest_of("\0".join(map(str, embedder)).encode())[:16]
        cached = CachedVectors(self.folder / f"{name}.db", 2 * embedder.dimension, self._most_bytes)
        try:
            yield cached
        finally:
            cached.close()

    def forget(self, keys: Sequence[bytes], origins: Sequence[int]) -> None:
        """Overwrite the vectors of these texts, and all from these files and documents.

        A file from which they cannot be removed is deleted.
        """
        for path in self._files():
            try:
                require_own(self.folder)
                with closing(_connect(path)) as connection:
                    connection.execute("PRAGMA synchronous = NORMAL")
                    connection.execute("BEGIN IMMEDIATE")
                    for column, values in (("key", keys), ("origin", origins)):
                        sql = f"DELETE FROM vectors WHERE {column} = ?"
                        connection.executemany(sql, [(value,) for value in set(values)])
                    connection.execute("COMMIT")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except (sqlite3.Error, OSError, AuroraError) as exc:
                logger.warning("%s is deleted: %s", path, exc)
                _delete(path)

    def size(self) -> int:
        """Bytes on disk."""
        return sum(map(_size, self._files()))

    def _files(self) -> list[Path]:
        try:
            return sorted(self.folder.glob("*.db"))
        except OSError:
            return []


class CachedVectors:
    """The vectors of one embedder. No method raises; after a failure nothing is found or kept."""

    def __init__(self, path: Path, length: int, most_bytes: int) -> None:
        """`length` is that of a vector in bytes."""
        self._path, self._length, self._most_bytes = path, length, most_bytes
        self._connection: sqlite3.Connection | None = None
        with self._or_nothing():
            make_folder(path.parent)
            require_own(path.parent)
            make_file(path)
            self._connection = _connect(path)
            self._connection.executescript(_SCHEMA)

    @property
    def is_empty(self) -> bool:
        rows: list[Row] = []
        with self._or_nothing():
            rows = self._rows("SELECT 1 FROM vectors LIMIT 1")
        return not rows

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The vectors that are known and whole, by key."""
        found: dict[bytes, bytes] = {}
        with self._or_nothing():
            for at in range(0, len(keys) if self._connection else 0, _KEYS):
                part = keys[at : at + _KEYS]
                marks = ", ".join("?" * len(part))
                sql = f"SELECT key, checksum, vector FROM vectors WHERE key IN ({marks})"
                rows = self._rows(sql, part)
                found |= {
                    key: vector
                    for key, checksum, vector in rows
                    if self._is_whole(key, checksum, vector)
                }
        return found

    def put(self, vectors: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Keep vectors: key, origin, vector. Over the limit of size, the oldest are dropped."""
        if self._connection is None:
            return
        with self._or_nothing():
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors (key, origin, checksum, vector) "
                "VALUES (?, ?, ?, ?)",
                ((key, from_, _checksum(key, vector), vector) for key, from_, vector in vectors),
            )
            self._connection.execute("COMMIT")
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """First other embedders' files, then the oldest rows."""
        files = [path for path in self._path.parent.glob("*.db") if path != self._path]
        rest = self._most_bytes - self._used_bytes()
        for path in sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            rest -= _size(path)
            if rest < 0:
                _delete(path)
        if self._used_bytes() > self._most_bytes:
            [(first, last)] = self._rows("SELECT min(id), max(id) FROM vectors")
            sql = "DELETE FROM vectors WHERE id <= ?"
            self._rows(sql, (first + (last - first) // _PART,))

    def _used_bytes(self) -> int:
        names = ("page_count", "freelist_count", "page_size")
        [[(pages,)], [(free,)], [(size,)]] = [self._rows(f"PRAGMA {name}") for name in names]
        return int((pages - free) * size)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        if self._connection is None:
            return []
        return self._connection.execute(sql, values).fetchall()

    def _is_whole(self, key: bytes, checksum: object, vector: object) -> bool:
        if not isinstance(vector, bytes) or len(vector) != self._length:
            return False
        return checksum == _checksum(key, vector)

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Log what goes wrong, and go on without a cache."""
        try:
            yield
        except (sqlite3.Error, OSError, AuroraError) as exc:
            logger.warning("the vector cache %s is not used: %s", self._path, exc)
            self.close()
            if not isinstance(exc, sqlite3.OperationalError | OSError | AuroraError):
                _delete(self._path)  # damaged

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
    try:
        with suppress(sqlite3.OperationalError):  # another process is just doing it
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # all of it can be made again
        connection.execute("PRAGMA secure_delete = ON")  # removed data is overwritten
    except BaseException:
        connection.close()
        raise
    return connection


def _checksum(key: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(key))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _delete(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + end).unlink(missing_ok=True)
