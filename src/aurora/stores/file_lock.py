"""A lock that is a file: held by one process or thread, let go even by one that is killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from aurora.errors import StoreBusyError, StoreError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: TextIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: TextIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock, or fail at once with the number of the process that does."""
    try:
        file = path.open("a+", encoding="ascii")
    except OSError as exc:
        raise StoreError(
            f"Cannot open {path}: {exc.strerror}",
            hint="check that the folder exists and is writable",
        ) from exc
    with file:
        try:
            _lock(file)
        except OSError as exc:
            file.seek(0)
            owner = file.read(20).strip() or "unknown"
            raise StoreBusyError(
                f"{path.parent} is being indexed by another process ({owner})",
                hint="wait until the other `aur mem index` has finished, then try again",
            ) from exc
        _sign(file)
        yield


def _sign(file: TextIO) -> None:
    """Only to be named by those who wait: the lock is the operating system's, not the text."""
    try:
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
    except OSError:  # a full disk must not keep anyone from indexing
        pass
