"""Finds the files of a folder that are worth reading, and reads their text.

Inside a git work tree, git decides which files count. Elsewhere the ignore files decide, and hidden
and build folders are left out. Links are never followed, so nothing outside the folder is read.
Every file that is left out is reported with its reason.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from aurora.errors import GitStartError, SourceError
from aurora.files import open_no_follow
from aurora.quick_classes import dataclass
from aurora.sources.git import find_root, find_unasked_root, list_files
from aurora.sources.ignore import AURORA_IGNORE, GIT_IGNORE, IgnoreFiles, unknown_steps
from aurora.sources.reading import (
    BUILT,
    VENDORED,
    Skipped,
    looks_secret,
    starts_binary,
    unwanted_by_name,
    unwanted_by_text,
)
from aurora.text import is_text

_SNIFF = 8192  # bytes in which a binary file shows a zero byte
_UNREPORTED = {".git", ".aurora"}  # left out without a report


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be read. Size, time and identity tell whether it changed.

    The identity is the change time and the inode, as in git's index: it also changes when an edit
    restores the modification time.
    """

    path: Path
    size: int
    modified_ns: int
    repository: Path | None = None  # top of the git work tree that holds the file
    is_log: bool = False  # a conversation log: no rule on size or name applies
    identity: str = ""


def require_path(target: Path) -> None:
    """Raise `SourceError` for a path that does not exist or may not be read."""
    try:
        target.stat()
    except PermissionError as exc:
        raise SourceError(f"{target} may not be read", hint="check who owns it") from exc
    except (OSError, ValueError) as exc:
        raise SourceError(
            f"There is no file or folder {target}", hint="name an existing path: aur mem index ."
        ) from exc


def walk_files(target: Path) -> Iterator[SourceFile | Skipped]:
    """Yield every regular file at or below a path, in a stable order."""
    require_path(target)
    walks = [_walk_tree(target)]
    while walks:  # a stack, not recursion: repositories may be nested a thousand deep
        item = next(walks[-1], None)
        if item is None:
            walks.pop()
        elif isinstance(item, Path):
            walks.append(_walk_nested(item))
        else:
            yield item


def _walk_tree(target: Path) -> Iterator[SourceFile | Skipped | Path]:
    """Yield the files of one work tree or plain folder, and the repositories inside it as paths."""
    repository = find_root(target) or find_unasked_root(target)
    if repository is not None and not target.is_relative_to(repository):
        repository = target if target.is_dir() else target.parent  # git spells the path otherwise
    if not target.is_dir():
        yield look_at(target, repository) or Skipped(target, "unreadable: it is gone")
        return
    names = list_files(target) if repository is not None else None
    walk = _plain_walk(target) if names is None else _git_walk(target, names, repository or target)
    for path in walk:
        file = path if isinstance(path, Skipped) else look_at(path, repository)
        if file is not None:
            yield file
        elif isinstance(path, Path) and _is_repository(path):
            yield path


def _walk_nested(repository: Path) -> Iterator[SourceFile | Skipped | Path]:
    """Walk a repository inside another tree. Its errors do not stop the walk around it."""
    try:
        require_path(repository)
        yield from _walk_tree(repository)
    except GitStartError:
        raise  # the outer walk needs git too
    except SourceError as exc:
        yield Skipped(repository, f"unreadable: {exc.message}")


def _git_walk(top: Path, names: Iterable[str], root: Path) -> Iterator[Path | Skipped]:
    """Yield the paths of git's list, except those behind a link that replaced a tracked folder."""
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
        may_ignore = ignore.has_rules_for(folder)
        for path in (folder / name.rpartition("/")[2] for name in group):
            ignored = not vendored and may_ignore and ignore.ignores_file(path)
            reason = "vendored" if vendored else "ignored" if ignored else ""
            yield Skipped(path, reason) if reason else path


def _plain_walk(top: Path) -> Iterator[Path | Skipped]:
    ignore = IgnoreFiles(top, [GIT_IGNORE, AURORA_IGNORE])
    errors: list[OSError] = []
    for here, folders, files in walk_folders(top, errors.append):
        if here != top and _is_repository(here):
            folders.clear()
            yield here
            continue
        candidates = sorted(set(folders) - _UNREPORTED)
        reasons = {name: folder_reason(here / name, ignore) for name in candidates}
        folders[:] = [name for name, reason in reasons.items() if not reason]
        yield from (Skipped(here / name, reason) for name, reason in reasons.items() if reason)
        for name in sorted(files):
            hidden = name[0] == "." and not looks_secret(name)
            reason = "hidden" if hidden else "ignored" if ignore.ignores_file(here / name) else ""
            yield Skipped(here / name, reason) if reason else here / name
    yield from (Skipped(Path(exc.filename), f"unreadable: {exc.strerror}") for exc in errors)


def walk_folders(
    top: Path, onerror: Callable[[OSError], object] = lambda _: None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """`os.walk` without links, and without recursion, which fails in a thousand levels."""
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
        waiting += (path for name in reversed(folders) if not is_link(path := here / name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    """True for a symbolic link; False when its folder cannot be read."""
    return os.path.islink(path)  # noqa: PTH114 - `Path.is_symlink` raises there


def _is_repository(path: Path) -> bool:
    try:
        return (path / ".git").exists() and not path.is_symlink()
    except OSError:
        return False


def folder_reason(folder: Path, ignore: IgnoreFiles) -> str:
    """The reason to leave out a folder outside git; empty to read it."""
    if folder.name[0] == ".":
        return "hidden"
    if is_link(folder):
        return "link"
    if folder.name in VENDORED:
        return "vendored"
    return "ignored" if folder.name in BUILT or ignore.ignores_folder(folder) else ""


def look_at(
    path: Path, repository: Path | None = None, *, is_log: bool = False
) -> SourceFile | Skipped | None:
    """Describe a file without opening it; None for a folder and for a file that is gone."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None  # git still lists a deleted file
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        kind = "link" if stat.S_ISLNK(status.st_mode) else "special file"
        return None if is_log else Skipped(path, kind)
    reason = "" if is_log else unwanted_by_name(path.name, status.st_size)
    if not reason and not is_text(str(path)):
        reason = "file name is not UTF-8"
    if reason:
        return Skipped(path, reason)
    identity = f"{status.st_ctime_ns}-{status.st_ino}"  # text: an inode may exceed 63 bits
    return SourceFile(path, status.st_size, status.st_mtime_ns, repository, is_log, identity)


def read_text(path: Path, *, any_words: bool = False) -> str | Skipped:
    """Return a file's text, or why it is left out. `any_words` also accepts generated text."""
    try:
        with open_no_follow(path) as file:
            content = file.read()
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if starts_binary(content) or b"\0" in content[:_SNIFF]:
        return Skipped(path, "binary")
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return Skipped(path, "not UTF-8")
    reason = "" if any_words else unwanted_by_text(path.name, text)
    return Skipped(path, reason) if reason else text


def is_binary(path: Path) -> bool:
    """True when the file begins with binary data; False when it cannot be read."""
    try:
        with open_no_follow(path) as file:
            start = file.read(_SNIFF)
            return starts_binary(start) or b"\0" in start
    except OSError:
        return False
