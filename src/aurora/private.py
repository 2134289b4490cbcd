"""Files and folders that only their owner may read: what a memory is made of, and what it logs.

A file takes another's place in one step, and what a killed process left of one is taken away by the
next who writes it.
"""

from __future__ import annotations

import glob
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

OWNER_ONLY = 0o600
OWNERS_FOLDER = 0o700
_SCRATCH = re.compile(r"(?:\.[0-9]+)?\.(?P<process>[0-9]+)\.tmp")  # behind a file's name
_making = threading.Lock()


def opener(path: str, flags: int) -> int:
    """For `open`: a file that it makes is its owner's. One that is there keeps its mode."""
    return os.open(path, flags, OWNER_ONLY)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing: `Path.mkdir` leaves those open to all."""
    for missing in reversed([each for each in folder.parents if not each.exists()]):
        missing.mkdir(mode=OWNERS_FOLDER, exist_ok=True)
    folder.mkdir(mode=OWNERS_FOLDER, exist_ok=True)  # an error where it is a file


def make_file(path: Path) -> None:
    """Make an empty file, unless there is one: for libraries that open files by themselves.

    One that is there is not even opened: who closes a file lets go of all locks that this process
    has on it, SQLite's too. Nor is one that another thread is just making.
    """
    with _making, suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


@contextmanager
def replacing(
    path: Path, *, durable: bool = False, keep_mode: bool = False, only_new: bool = False
) -> Iterator[BinaryIO]:
    """Write a file under another name; it has its own when all is written, and not at all if not.

    `durable` waits for the disk: what is not derived from anything must outlive a power cut.
    `keep_mode` leaves a file that is there open to whom it was open. `only_new` replaces none: it
    raises FileExistsError where there is one.
    """
    remove_leftovers(path)
    scratch = path.with_name(f"{path.name}.{threading.get_ident()}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb", opener=opener) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if keep_mode and path.exists():
            scratch.chmod(path.stat().st_mode & 0o777)
        if only_new:
            os.link(scratch, path)
        else:
            scratch.replace(path)
        if durable:
            _sync_folder(path.parent)
    finally:
        scratch.unlink(missing_ok=True)  # a full disk leaves half of it


def _sync_folder(folder: Path) -> None:
    """A new name is on the disk when its folder is."""
    if os.name == "nt":  # which opens no folder, and keeps names by itself
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def remove_leftovers(path: Path) -> None:
    """Delete what processes that are gone left: a kill between write and rename.

    Only what has a name of ours: an export may be written into any folder of the user's.
    """
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*.tmp"):
        ours = _SCRATCH.fullmatch(leftover.name, len(path.name))
        if ours and not _is_running(int(ours["process"])):
            leftover.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # where asking would interrupt it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's: leave it alone
    return True
