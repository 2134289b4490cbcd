"""Whether a SQLite file is as Aurora left it.

Rows have checksums. What leads to them, SQLite's trees and indexes, has none: a page that was torn,
restored or edited could hide rows from a search without a word. So who changes the file seals it:
he notes its size and its times, which the system changes with every write. Who finds the seal
broken, by a killed process or by anything else, looks at the whole file before he believes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self, TextIO

from aurora.locks import lock
from aurora.private import opener

_PATIENCE, _PAUSE = 0.1, 0.005  # seconds that who changes the file waits for another one
_LONGEST = 200  # bytes of a seal


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
    """A small file beside the database. Whoever holds its lock changes or examines the database."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.with_name(f"{path.name}-seal")
        self._whole: Stamp | None = None  # how the file was when it was last known to be whole

    def holds(self) -> bool:
        stamp = Stamp.of(self._path)
        if stamp in (self._whole, None):  # what is gone from its folder can be read all the same
            return True
        if self._read()[0] != stamp:
            return False
        self._whole = stamp
        return True

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
        """False if somebody else changes or examines the file, after so many seconds."""
        try:
            file = open(self._file, "a+", encoding="ascii", opener=opener)  # noqa: SIM115
        except OSError:
            file = None
        if file is None:  # where nobody can write there is nothing to arrange
            yield True
            return
        with file:
            yield _obtain(file, patience)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around what may write to the file: what we make of a sealed one is sealed. Who cannot
        have his turn goes on without: at worst the whole file is looked at once more."""
        with self.turn(_PATIENCE) as is_ours:
            before, (sealed, examined_at) = Stamp.of(self._path), self._read()
            yield
            after = Stamp.of(self._path)
            if is_ours and sealed == before != after:
                self._keep(after, examined_at)

    def doubt(self) -> Stamp | None:
        """Break the seal, until somebody who has his turn has looked at the file as it is now."""
        self._keep(None, 0)
        return Stamp.of(self._path)

    def put(self, stamp: Stamp | None) -> None:
        """The file was whole then. If somebody has changed it since, the seal is broken again."""
        self._keep(stamp, time.time())

    def believe(self, stamp: Stamp | None) -> None:
        """The same without a seal that others would see."""
        self._whole = stamp

    def _read(self) -> tuple[Stamp | None, float]:
        try:
            words = self._file.read_bytes()[:_LONGEST].split()
            return Stamp(*map(int, words[:3])), float(words[3])
        except (OSError, ValueError, TypeError, IndexError):
            return None, 0

    def _keep(self, stamp: Stamp | None, examined_at: float) -> None:
        self._whole = stamp
        text = f"{' '.join(map(str, stamp))} {examined_at:.0f}\n" if stamp else ""
        with suppress(OSError), open(self._file, "r+b", opener=opener) as file:
            file.write(text.encode())  # in its place: the lock is that of this file
            file.truncate()


def _obtain(file: TextIO, patience: float) -> bool:
    until = time.monotonic() + patience
    while True:
        try:
            lock(file)
        except (BlockingIOError, PermissionError):  # the latter on Windows
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)
        except OSError:  # where there are no locks, nobody has one
            return True
        else:
            return True
