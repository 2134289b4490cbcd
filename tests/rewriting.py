"""Rows of a memory in a file that a test writes itself, as true as if Aurora had written them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from aurora.stores.sqlite.integrity import Seal, checksum
from aurora.stores.sqlite.schema import CHECKSUMS


def seal(path: Path) -> None:
    """As if what was changed had changed below the file system."""
    own = Seal(path)
    own.put(own.doubt())


def rewrite(path: Path, table: str, change: str) -> None:
    """`UPDATE table SET change`, with the checksums of what comes of it."""
    with closing(sqlite3.connect(path)) as file, file:
        file.create_function("checksum", -1, checksum, deterministic=True)
        assert file.execute(f"UPDATE {table} SET {change}").rowcount != 0
        file.execute(f"UPDATE {table} SET checksum = {CHECKSUMS[table]}")
