"""Opening and writing files: private permissions, no links, whole files or none.

A clone, an archive or another user can prepare a folder `.aurora` that holds links or foreign
files. A memory's folder is therefore checked before use (`require_own`), and its files are opened
by `open_file` or `read_file`, which refuse links. `open_no_follow` opens files of a project, and
`replacing` writes a file atomically.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from aurora.errors import UnsafeFolderError
from aurora.lazy_patterns import lazy_pattern
from aurora.platforms import effective_user, is_running, set_mode, sync_folder

OWNER_ONLY = 0o600
OWNERS_FOLDER = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Windows lacks most of these flags, and needs a privilege to make links. O_NONBLOCK: opening a
# pipe does not wait.
_NO_FOLLOW = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
_NO_FOLLOW_FOLDER = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)
_HARD_LINK, _FOREIGN = "has a second name (a hard link)", "belongs to another user"
_SUBFOLDERS = ("indexes",)  # of a memory's folder; their files are checked as well
_SCRATCH = lazy_pattern(r"(?:\.[0-9]+)?\.(?P<process>[0-9]+)\.tmp")  # after a file's name
_creating = threading.Lock()
_MANY_WORDS = 500  # each word is searched in some megabytes of logs


# Checking a memory's folder


def digest_of(data: bytes) -> str:
    """The SHA-256 of a few bytes."""
    from hashlib import sha256  # noqa: PLC0415 - starts OpenSSL: 5 ms that most searches save

    return sha256(data).hexdigest()


def is_foreign(path: Path) -> bool:
    """True when another user owns the path. Root is trusted: root can change anything anyway."""
    try:
        return _is_foreign(path.lstat())
    except OSError:
        return False


def require_own(folder: Path) -> None:
    """Raise `UnsafeFolderError` unless the folder and its files are plain and owned by the user.

    A folder that others may write to is made private. A missing folder is fine.
    """
    try:
        handle = os.open(folder, _NO_FOLLOW_FOLDER)
    except OSError as exc:  # Linux reports ENOTDIR for a link
        if folder.is_symlink():
            raise _unsafe(folder, "is a link") from exc
        return  # missing or unreadable: opening a file in it reports why
    try:
        _check_folder(handle, folder)
    finally:
        os.close(handle)


def _check_folder(handle: int, folder: Path) -> None:
    status = os.fstat(handle)
    if _is_foreign(status):
        raise _unsafe(folder, f"{_FOREIGN} (uid {status.st_uid})")
    if status.st_mode & _OTHERS_WRITE:
        with suppress(OSError):  # others cannot change a read-only disk either
            set_mode(handle, OWNERS_FOLDER)
    with os.scandir(handle) as entries:
        for entry in entries:
            try:
                reason = _entry_fault(entry.stat(follow_symlinks=False))
            except FileNotFoundError:  # another process just replaced or removed it
                continue
            if reason:
                raise _unsafe(folder / entry.name, reason)
            if entry.name in _SUBFOLDERS and entry.is_dir(follow_symlinks=False):
                inner = os.open(entry.name, _NO_FOLLOW_FOLDER, dir_fd=handle)
                try:
                    _check_folder(inner, folder / entry.name)
                finally:
                    os.close(inner)


def make_private(folder: Path) -> None:
    """Remove the rights of other users to a checked folder and its files, as a clone grants."""
    for path in (folder, *folder.iterdir()):
        with suppress(FileNotFoundError):  # another process just replaced or removed it
            mode = path.stat().st_mode
            if mode & 0o077:
                path.chmod(OWNERS_FOLDER if stat.S_ISDIR(mode) else OWNER_ONLY)


def require_plain(path: Path) -> None:
    """Raise `UnsafeFolderError` for a link, a device or a hard link; a missing file is fine.

    For files that a library opens by path.
    """
    try:
        reason = _file_fault(path.lstat())
    except OSError:
        return
    if reason:
        raise _unsafe(path, reason)


def _entry_fault(status: os.stat_result) -> str:
    """The reason not to use an entry of a memory's folder, or empty."""
    if _is_foreign(status):
        return f"{_FOREIGN} (uid {status.st_uid})"
    return "" if stat.S_ISDIR(status.st_mode) else _file_fault(status)


def _file_fault(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "is a link"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return _HARD_LINK if status.st_nlink > 1 else ""


def _is_foreign(status: os.stat_result) -> bool:
    user = effective_user()
    return user is not None and status.st_uid not in (user, 0)


def _unsafe(path: Path, reason: str) -> UnsafeFolderError:
    hint = "it may have come with a clone or an archive: look at it, then delete it"
    if reason == _HARD_LINK:
        hint = f"give it a content of its own: `cp {path} {path}.copy && mv {path}.copy {path}`"
    elif reason.startswith(_FOREIGN):
        hint = f"if it is yours, take it over with `chown`; `ls -l {path.parent}` shows who owns it"
    return UnsafeFolderError(f"{path} {reason}: Aurora does not use it", hint=hint)


# Opening files


def open_no_follow(path: Path, *, follow: bool = False) -> BinaryIO:
    """Open a file for reading. A symbolic link is an `OSError`, and a pipe does not block."""
    flags = _NO_FOLLOW & ~getattr(os, "O_NOFOLLOW", 0) if follow else _NO_FOLLOW
    return os.fdopen(os.open(path, os.O_RDONLY | flags), "rb")


def read_file(path: Path, *, most: int, follow: bool = False) -> bytes:
    """Return the bytes of a regular file. `OSError` for more than `most` bytes, and for a link
    unless `follow`."""
    with open_no_follow(path, follow=follow) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def open_file(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a file of a memory's folder; a new file is private. `OSError` for a link, a hard link
    and a special file, so that nothing outside the folder is read or written."""
    return cast("BinaryIO", open(path, mode, opener=opener))


def opener(path: str, flags: int) -> int:
    """An `opener` for `open`, with the checks of `open_file`."""
    handle = os.open(path, flags | _NO_FOLLOW, OWNER_ONLY)
    reason = _file_fault(os.fstat(handle))
    if reason:
        os.close(handle)
        raise OSError(errno.ELOOP, f"it {reason}", path)
    return handle


# Creating and replacing files


def make_folder(folder: Path) -> None:
    """Create a private folder and its missing parents (`Path.mkdir` leaves parents open)."""
    for missing in reversed([each for each in folder.parents if not each.exists()]):
        missing.mkdir(mode=OWNERS_FOLDER, exist_ok=True)
    folder.mkdir(mode=OWNERS_FOLDER, exist_ok=True)  # an error where a file is in the way


def make_file(path: Path) -> None:
    """Create an empty private file if it is missing, for libraries that open files by path.

    An existing file is not opened: closing it would release all locks that this process holds on
    it, including SQLite's.
    """
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


@contextmanager
def replacing(
    path: Path, *, durable: bool = False, keep_mode: bool = False, only_new: bool = False
) -> Iterator[BinaryIO]:
    """Write a file atomically: the new content replaces the old one when the block ends.

    `durable` syncs to disk. `keep_mode` keeps the permissions of an existing file. `only_new`
    raises FileExistsError instead of replacing one. A link at the path is replaced, not followed.
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
            sync_folder(path.parent)
    finally:
        scratch.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Delete scratch files of `path` whose process ended between write and rename.

    Only names that `replacing` gives: an export may be written into any folder of the user.
    """
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*.tmp"):
        match = _SCRATCH.fullmatch(leftover.name, len(path.name))
        if match and not is_running(int(match["process"])):
            leftover.unlink(missing_ok=True)


def scrub_log(log: Path, words: Collection[str]) -> None:
    """Overwrite the lines of a log and its older files that contain one of the words.

    In place, because other processes go on writing. With very many words, every line.
    """
    needles = [word.encode() for word in words]
    for file in sorted(log.parent.glob(f"{log.name}*")) if needles else ():
        with suppress(OSError), file.open("r+b") as stream:
            at = 0
            for line in stream.readlines():
                if len(needles) > _MANY_WORDS or any(word in line for word in needles):
                    length = len(line.rstrip(b"\n"))
                    stream.seek(at)
                    stream.write(b"(forgotten)"[:length].ljust(length))
                at += len(line)
