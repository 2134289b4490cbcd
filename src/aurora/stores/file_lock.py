"""A lock that is a file: held by one process or thread, let go even by one that is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aurora.errors import StoreBusyError, StoreError
from aurora.locks import lock
from aurora.private import open_file


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
