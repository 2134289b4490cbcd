"""Where the user's conversation logs lie: `YYYY/MM/*.md` below one folder (seed 000, FR-3.2).

A log may be of any size (Q3): a large one is never held in memory whole.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from aurora.sources.reading import open_file
from aurora.sources.walk import Skipped, SourceFile, identity_of, is_utf8

_YEAR, _MONTH, _LOG = re.compile("[0-9]{4}"), re.compile("[0-9]{2}"), re.compile(r".*\.md", re.S)
_BLOCK = 1 << 20


def find_logs(folder: Path) -> list[SourceFile | Skipped]:
    """All logs, oldest month first. Links are not followed, as everywhere.

    What cannot be looked at is told: it may be there another time.
    """
    found: list[SourceFile | Skipped] = []
    for year in _inside(folder, _YEAR, found):
        for month in _inside(year, _MONTH, found):
            found += filter(None, map(_look_at, _inside(month, _LOG, found)))
    return found


def _inside(folder: Path, name: re.Pattern[str], shut: list[SourceFile | Skipped]) -> list[Path]:
    """What a folder holds under such a name; a folder that cannot be read is added to `shut`."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_symlink())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as exc:
        shut.append(Skipped(folder, f"unreadable: {exc.strerror}"))
        return []
    return [folder / each for each in names if name.fullmatch(each)]


def _look_at(path: Path) -> SourceFile | Skipped | None:
    """A log without opening it. Neither size nor words in its name leave out what the user said."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None  # deleted since it was listed
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return None
    if not is_utf8(str(path)):
        return Skipped(path, "file name is not UTF-8")
    return SourceFile(
        path, status.st_size, status.st_mtime_ns, is_log=True, identity=identity_of(status)
    )


def hash_log(path: Path) -> str | Skipped:
    """The digest of a log's bytes, or why it is not text."""
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    try:
        with open_file(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    except UnicodeDecodeError:
        return Skipped(path, "not UTF-8")
    return digest.hexdigest()


def read_lines(path: Path) -> Iterator[str]:
    """A log line by line, as `iter_chunks` wants it."""
    with (
        open_file(path) as file,
        io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="\n") as lines,
    ):
        yield from lines
