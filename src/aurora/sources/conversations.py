"""Where the user's conversation logs lie: `YYYY/MM/*.md` below one folder (seed 000, FR-3.2).

A log may be of any size (Q3): a large one is never held in memory whole.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from pathlib import Path

from aurora.sources.walk import Skipped, SourceFile

_PATTERN = "[0-9][0-9][0-9][0-9]/[0-9][0-9]/*.md"
_BLOCK = 1 << 20


def find_logs(folder: Path) -> list[SourceFile]:
    """All logs, oldest month first. Links are not followed, as everywhere."""
    return [_log(path) for path in sorted(folder.glob(_PATTERN)) if _is_real(path)]


def _log(path: Path) -> SourceFile:
    status = path.lstat()
    return SourceFile(path, status.st_size, status.st_mtime_ns)


def _is_real(path: Path) -> bool:
    linked = any(place.is_symlink() for place in (path, path.parent, path.parent.parent))
    return path.is_file() and not linked


def hash_log(path: Path) -> str | Skipped:
    """The digest of a log's bytes, or why it is not text."""
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
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
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        yield from file
