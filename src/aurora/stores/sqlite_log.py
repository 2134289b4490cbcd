"""The log beside a SQLite file: what was committed stands there until somebody moves it over."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

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
