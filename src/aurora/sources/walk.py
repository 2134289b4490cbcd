"""Which files of a folder are worth reading, and their text.

Git decides where there is one; elsewhere the ignore files do, and what is hidden or built is left
out too. Links are never followed, so nothing outside the folder is read. What is left out is told,
with the reason.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from aurora.errors import GitStartError, SourceError
from aurora.sources.git import find_root, find_unasked_root, list_files
from aurora.sources.ignore import AURORA_IGNORE, GIT_IGNORE, IgnoreFiles, unknown_steps
from aurora.sources.reading import (
    BUILT,
    VENDORED,
    is_link,
    looks_secret,
    open_file,
    unwanted_by_name,
    unwanted_by_text,
    walk_folders,
)

_SNIFF = 8192  # bytes in which a binary file shows itself
_NO_NEWS = {".git", ".aurora"}  # nobody expects these to be read: left out without a word


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be read. Size, time and identity tell whether it must be.

    The identity is its change time and inode, as git compares them: a file that was edited and
    given its old modification time back has another one.
    """

    path: Path
    size: int
    modified_ns: int
    repository: Path | None = None  # top of the git work tree that it lies in
    is_log: bool = False  # a conversation log: of any size, and whatever it speaks of
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file left out, and why."""

    path: Path
    reason: str

    @property
    def is_unreadable(self) -> bool:
        """True when it may be there another time; every other reason holds until a change."""
        return self.reason.startswith("unreadable")


def require_path(target: Path) -> None:
    """Refuse a path that leads nowhere, before anything is made for it."""
    try:
        target.stat()
    except PermissionError as exc:
        raise SourceError(f"{target} may not be read", hint="check who owns it") from exc
    except (OSError, ValueError) as exc:
        raise SourceError(
            f"There is no file or folder {target}", hint="name an existing path: aur mem index ."
        ) from exc


def walk_files(target: Path) -> Iterator[SourceFile | Skipped]:
    """Every regular file at or below a path, in a stable order."""
    require_path(target)
    walks = [_walk_one(target)]
    while walks:  # not recursion: repositories may lie in each other, a thousand deep
        found = next(walks[-1], None)
        if found is None:
            walks.pop()
        elif isinstance(found, Path):
            walks.append(_walk_inside(found))
        else:
            yield found


def _walk_one(target: Path) -> Iterator[SourceFile | Skipped | Path]:
    """The files that one git, or none, speaks of, and the folders that are repositories."""
    repository = find_root(target) or find_unasked_root(target)
    if repository is not None and not target.is_relative_to(repository):
        repository = target if target.is_dir() else target.parent  # git spells it in another way
    if not target.is_dir():
        yield look_at(target, repository) or Skipped(target, "unreadable: it is gone")
        return
    names = list_files(target) if repository is not None else None
    walk = _plain_walk(target) if names is None else _git_walk(target, names, repository or target)
    for path in walk:
        found = path if isinstance(path, Skipped) else look_at(path, repository)
        if found is not None:
            yield found
        elif isinstance(path, Path) and _is_repository(path):
            yield path


def _walk_inside(repository: Path) -> Iterator[SourceFile | Skipped | Path]:
    """A repository in another, or in a folder: its own git decides, if it can."""
    try:
        require_path(repository)
        yield from _walk_one(repository)
    except GitStartError:
        raise  # the files around it need git as well
    except SourceError as exc:  # it must not cost the files around it
        yield Skipped(repository, f"unreadable: {exc.message}")


def read_text(path: Path, *, any_words: bool = False) -> str | Skipped:
    """A file's text, or why it is not text, or (but for `any_words`) none that people wrote."""
    try:
        with open_file(path) as file:
            content = file.read()
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if b"\0" in content[:_SNIFF]:
        return Skipped(path, "binary")
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return Skipped(path, "not UTF-8")
    reason = "" if any_words else unwanted_by_text(path.name, text)
    return Skipped(path, reason) if reason else text


def is_binary(path: Path) -> bool:
    """A quick look; false for what cannot be read."""
    try:
        with open_file(path) as file:
            return b"\0" in file.read(_SNIFF)
    except OSError:
        return False


def _git_walk(top: Path, names: Iterable[str], root: Path) -> Iterator[Path | Skipped]:
    """Paths of git's list, less those behind a link that has taken a tracked folder's place."""
    ignore = IgnoreFiles(root, [AURORA_IGNORE])
    real = {top: True}

    def is_real(folder: Path) -> bool:
        for step in unknown_steps(top, folder, real):
            real[step] = real[step.parent] and not is_link(step)
        return real[folder]

    for place, group in groupby(names, key=lambda name: name.rpartition("/")[0]):
        folder = top / place
        if not is_real(folder):
            continue
        vendored = not VENDORED.isdisjoint(place.split("/"))
        ignoring = ignore.speaks_of(folder)  # seldom: most folders are under no such file
        for path in (folder / name.rpartition("/")[2] for name in group):
            if vendored:
                yield Skipped(path, "vendored")
            else:
                yield Skipped(path, "ignored") if ignoring and ignore.ignores_file(path) else path


def _plain_walk(top: Path) -> Iterator[Path | Skipped]:
    ignore = IgnoreFiles(top, [GIT_IGNORE, AURORA_IGNORE])
    shut: list[OSError] = []
    for here, folders, files in walk_folders(top, shut.append):
        if here != top and _is_repository(here):
            folders.clear()
            yield here
            continue
        wanted = sorted(set(folders) - _NO_NEWS)
        left_out = {name: folder_reason(here / name, ignore) for name in wanted}
        folders[:] = [name for name, reason in left_out.items() if not reason]
        yield from (Skipped(here / name, reason) for name, reason in left_out.items() if reason)
        for name in sorted(files):
            hidden = name[0] == "." and not looks_secret(name)
            reason = "hidden" if hidden else "ignored" if ignore.ignores_file(here / name) else ""
            yield Skipped(here / name, reason) if reason else here / name
    yield from (Skipped(Path(exc.filename), f"unreadable: {exc.strerror}") for exc in shut)


def _is_repository(path: Path) -> bool:
    try:
        return (path / ".git").exists() and not path.is_symlink()
    except OSError:
        return False


def folder_reason(folder: Path, ignore: IgnoreFiles) -> str:
    """Why a folder is left out where there is no git, or nothing."""
    if folder.name[0] == ".":
        return "hidden"
    if is_link(folder):
        return "link"
    if folder.name in VENDORED:
        return "vendored"
    if folder.name in BUILT or ignore.ignores_folder(folder):
        return "ignored"
    return ""


def look_at(path: Path, repository: Path | None = None) -> SourceFile | Skipped | None:
    """What is known of a file without opening it; nothing for folders and the vanished."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None  # still in git's list, but deleted
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Skipped(path, "link" if stat.S_ISLNK(status.st_mode) else "special file")
    reason = unwanted_by_name(path.name, status.st_size)
    if not reason and not is_utf8(str(path)):
        reason = "file name is not UTF-8"
    if reason:
        return Skipped(path, reason)
    return SourceFile(
        path, status.st_size, status.st_mtime_ns, repository, identity=identity_of(status)
    )


def identity_of(status: os.stat_result) -> str:
    """See `SourceFile`. It is a text: an inode may be larger than a database's numbers."""
    return f"{status.st_ctime_ns}-{status.st_ino}"


def is_utf8(text: str) -> bool:
    """False for names whose bytes are not text: Python keeps those as lone surrogates."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
