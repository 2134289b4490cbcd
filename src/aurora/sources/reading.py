"""Opening files and listing folders that somebody else may have made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

# Windows lacks the first two, and has no links without a privilege.
_AS_IT_WAS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)


def open_file(path: Path) -> BinaryIO:
    """Open a file, but never follow a link or wait for a pipe that has taken its place."""
    return os.fdopen(os.open(path, _AS_IT_WAS), "rb")


def walk_folders(
    top: Path, onerror: Callable[[OSError], object] = lambda _: None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk`, from the top down, links not followed, but without recursion.

    That of Python 3.11 fails in a tree of a thousand levels.
    """
    waiting = [top]
    while waiting:
        here = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else files).append(entry.name)
        except OSError as exc:
            onerror(exc)
            continue
        yield here, folders, files
        below = (here / name for name in reversed(folders))
        waiting += (folder for folder in below if not is_link(folder))


def is_link(path: Path) -> bool:
    """False also in a folder that is shut: each of its files will be told as unreadable."""
    return os.path.islink(path)  # noqa: PTH114 - `Path.is_symlink` raises there


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # as `os.walk` does
        return False
