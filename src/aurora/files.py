"""The only door to a memory's folder: its files are private, plain, and the user's own.

A clone, an archive or another user can prepare a folder `.aurora`: with links in the place of
files, with files of somebody else. So a folder is checked before it is used (`require_own`), and a
file in it is opened by `open_file` or `read_file`, which follow no link. `replacing` writes a file
in one step.

A lock on an open file, among processes and threads. Who dies lets go of it.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from aurora.errors import UnsafeFolderError

OWNER_ONLY = 0o600
OWNERS_FOLDER = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Windows lacks most of them, and has no links without a privilege. A pipe is not waited for.
_NO_LINK = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
_NO_LINKED_FOLDER = os.O_RDONLY | _NO_LINK | getattr(os, "O_DIRECTORY", 0)
_SECOND_NAME, _ANOTHERS = "has a second name (a hard link)", "belongs to another user"
_SUBFOLDERS = ("indexes",)  # of a memory's folder, whose files are checked as well
_SCRATCH = re.compile(r"(?:\.[0-9]+)?\.(?P<process>[0-9]+)\.tmp")  # behind a file's name
_making = threading.Lock()
_MANY_WORDS = 500  # each is looked for in some megabytes


# Checking a folder


def is_foreign(path: Path) -> bool:
    """Whether another user owns it. Root is trusted: it can change anything anyway."""
    try:
        return _is_foreign(path.lstat())
    except OSError:
        return False


def require_own(folder: Path) -> None:
    """Raise `UnsafeFolderError` unless the folder and its files are plain and the user's own.

    A folder that others may write to is closed to them. A missing one is fine.
    """
    try:
        handle = os.open(folder, _NO_LINKED_FOLDER)
    except OSError as exc:  # Linux has ENOTDIR for a link, too
        if folder.is_symlink():
            raise _unsafe(folder, "is a link") from exc
        return  # missing or closed to us: opening a file in it tells why
    try:
        _check_folder(handle, folder)
    finally:
        os.close(handle)


def _check_folder(handle: int, folder: Path) -> None:
    status = os.fstat(handle)
    if _is_foreign(status):
        raise _unsafe(folder, f"{_ANOTHERS} (uid {status.st_uid})")
    if status.st_mode & _OTHERS_WRITE and sys.platform != "win32":
        with suppress(OSError):  # a read-only disk cannot be changed by others, either
            os.fchmod(handle, OWNERS_FOLDER)
    with os.scandir(handle) as entries:
        for entry in entries:
            reason = _fault(entry.stat(follow_symlinks=False))
            if reason:
                raise _unsafe(folder / entry.name, reason)
            if entry.name in _SUBFOLDERS and entry.is_dir(follow_symlinks=False):
                inner = os.open(entry.name, _NO_LINKED_FOLDER, dir_fd=handle)
                try:
                    _check_folder(inner, folder / entry.name)
                finally:
                    os.close(inner)


def make_private(folder: Path) -> None:
    """Take all rights to a checked folder and its files from others: a clone's are open to all."""
    for path in (folder, *folder.iterdir()):
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(OWNERS_FOLDER if stat.S_ISDIR(mode) else OWNER_ONLY)


def require_plain(path: Path) -> None:
    """Raise `UnsafeFolderError` for a link, a device or a file with two names; a missing one is
    fine. For files that a library opens by their path."""
    try:
        reason = _kind_fault(path.lstat())
    except OSError:
        return
    if reason:
        raise _unsafe(path, reason)


def _fault(status: os.stat_result) -> str:
    """Why an entry of a memory's folder may not be used, or nothing."""
    if _is_foreign(status):
        return f"{_ANOTHERS} (uid {status.st_uid})"
    return "" if stat.S_ISDIR(status.st_mode) else _kind_fault(status)


def _kind_fault(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "is a link"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return _SECOND_NAME if status.st_nlink > 1 else ""


def _is_foreign(status: os.stat_result) -> bool:
    return sys.platform != "win32" and status.st_uid not in (os.geteuid(), 0)


def _unsafe(path: Path, reason: str) -> UnsafeFolderError:
    hint = "it may have come with a clone or an archive: look at it, then delete it"
    if reason == _SECOND_NAME:
        hint = f"give it a content of its own: `cp {path} {path}.copy && mv {path}.copy {path}`"
    elif reason.startswith(_ANOTHERS):
        hint = f"if it is yours, take it over with `chown`; `ls -l {path.parent}` shows who owns it"
    return UnsafeFolderError(f"{path} {reason}: Aurora does not use it", hint=hint)


# Opening files


def open_file(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a plain file; a new one is its owner's alone. `OSError` for a link, and for what is no
    plain file: nothing outside the folder is read or written."""
    return cast("BinaryIO", open(path, mode, opener=opener))


def opener(path: str, flags: int) -> int:
    """For `open`, as in `open_file`."""
    handle = os.open(path, flags | _NO_LINK, OWNER_ONLY)
    reason = _kind_fault(os.fstat(handle))
    if reason:
        os.close(handle)
        raise OSError(errno.ELOOP, f"it {reason}", path)
    return handle


def read_file(path: Path, *, most: int, follow: bool = False) -> bytes:
    """The bytes of a plain file. `OSError` for one that is larger than `most`, and for a link
    unless it may be followed."""
    flags = os.O_RDONLY | (_NO_LINK & ~getattr(os, "O_NOFOLLOW", 0) if follow else _NO_LINK)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


# Making files and folders


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
    raises FileExistsError where there is one. A link in the file's place is replaced, not followed.
    """
    remove_leftovers(path)
    scratch = path.with_name(f"{path.name}.{threading.get_ident()}.{os.getpid()}.tmp")
    scratch.unlink(missing_ok=True)  # of a killed process with our number, in another container
    try:
        with open_file(scratch, "xb") as file:
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


def scrub_log(log: Path, words: Collection[str]) -> None:
    """Overwrite the lines of a log, and of its older files, that have one of these words.

    In their place: other processes go on writing to the same file. Of very many words, every line.
    """
    sought = [word.encode() for word in words]
    for file in sorted(log.parent.glob(f"{log.name}*")) if sought else ():
        with suppress(OSError), file.open("r+b") as stream:
            at = 0
            for line in stream.readlines():
                if len(sought) > _MANY_WORDS or any(word in line for word in sought):
                    text = line.rstrip(b"\n")
                    stream.seek(at)
                    stream.write(b"(forgotten)"[: len(text)].ljust(len(text)))
                at += len(line)


if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:  # noqa: ARG001
        """Hold it until the file is closed. `OSError` at once, while another does, or after ten
        seconds with `wait`; here nobody shares one."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:
        """Hold it until the file is closed, alone or with others who share it. While another holds
        it otherwise: `OSError` at once, or wait. An exclusive lock may become a shared one."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file.fileno(), kind if wait else kind | fcntl.LOCK_NB)
