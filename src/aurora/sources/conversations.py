"""Conversation logs: `YYYY/MM/*.md` below one folder.

A log may be of any size. Large logs are read in blocks or lines and never held in memory.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from aurora.files import open_no_follow
from aurora.sources.reading import Skipped
from aurora.sources.walk import SourceFile, look_at

_YEAR, _MONTH, _LOG = re.compile("[0-9]{4}"), re.compile("[0-9]{2}"), re.compile(r".*\.md", re.S)
_BLOCK = 1 << 20


def find_logs(folder: Path) -> list[SourceFile | Skipped]:
    """List all logs, oldest month first. Links are not followed; unreadable paths are reported."""
    files: list[SourceFile | Skipped] = []
    for year in _entries(folder, _YEAR, files):
        for month in _entries(year, _MONTH, files):
            logs = (look_at(path, is_log=True) for path in _entries(month, _LOG, files))
            files += filter(None, logs)
    return files


def _entries(folder: Path, name: re.Pattern[str], files: list[SourceFile | Skipped]) -> list[Path]:
    """List the entries with such a name. A folder that cannot be read is added to `files`."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_symlink())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as exc:
        files.append(Skipped(folder, f"unreadable: {exc.strerror}"))
        return []
    return [folder / each for each in names if name.fullmatch(each)]


def hash_log(path: Path) -> str | Skipped:
    """Return the digest of a log's bytes, or why it is not text."""
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    try:
        with open_no_follow(path) as file:
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
    """Yield the lines of a log."""
    with (
        open_no_follow(path) as file,
        io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="\n") as lines,
    ):
        yield from lines
