"""Which files of a folder are worth reading, and their text.

Git decides where there is one; elsewhere what is hidden or vendored is left out. Links are never
followed, so nothing outside the folder is read. What is left out is told, with the reason.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aurora.errors import SourceError
from aurora.sources.git import list_files

MAX_BYTES = 2 * 1024 * 1024  # larger sources are generated data; they would drown everything else
_SNIFF = 8192
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "venv", "site-packages", "build", "dist"}
_SECRETS = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".htpasswd",
)  # fmt: skip
_NOT_SECRET = ("*.example", "*.sample", "*.template", "*.dist")
_GENERATED = ("*.lock", "package-lock.json", "*.min.js", "*.min.css", "*.map", "*.svg")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be read. Size and time tell whether it must be."""

    path: Path
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file left out, and why."""

    path: Path
    reason: str


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
    if not target.is_dir():
        yield _look_at(target) or Skipped(target, "link or special file")
        return
    names = list_files(target)
    for path in _git_walk(target, names) if names is not None else _plain_walk(target):
        found = path if isinstance(path, Skipped) else _look_at(path)
        if found is not None:
            yield found


def read_text(path: Path) -> str | Skipped:
    """A file's text, or why it is not text."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if b"\0" in content[:_SNIFF]:
        return Skipped(path, "binary")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Skipped(path, "not UTF-8")


def _git_walk(top: Path, names: Iterable[str]) -> Iterator[Path]:
    """Paths of git's list, less those behind a link that has taken a tracked folder's place."""
    real = {top: True}

    def is_real(folder: Path) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.parent) and not folder.is_symlink()
        return real[folder]

    return (top / name for name in names if is_real((top / name).parent))


def _plain_walk(top: Path) -> Iterator[Path | Skipped]:
    shut: list[OSError] = []
    for folder, folders, files in os.walk(top, onerror=shut.append):
        folders[:] = sorted(f for f in folders if f[0] != "." and f not in _SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(files) if name[0] != "." or _secret(name))
    yield from (Skipped(Path(exc.filename), f"unreadable: {exc.strerror}") for exc in shut)


def _look_at(path: Path) -> SourceFile | Skipped | None:
    """What is known of a file without opening it; nothing for links, folders and the vanished."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None  # still in git's list, but deleted
    except OSError as exc:
        return Skipped(path, f"unreadable: {exc.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return None
    reason = _reason_to_skip(path.name, status.st_size, str(path))
    if reason:
        return Skipped(path, reason)
    return SourceFile(path, status.st_size, status.st_mtime_ns)


def _reason_to_skip(name: str, size: int, path: str) -> str:
    if _secret(name):
        return "looks like a secret"
    if any(fnmatch.fnmatch(name, pattern) for pattern in _GENERATED):
        return "generated"
    if size > MAX_BYTES:
        return f"larger than {MAX_BYTES // 1024} KiB"
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        return "file name is not UTF-8"
    return ""


def _secret(name: str) -> bool:
    if any(fnmatch.fnmatch(name, pattern) for pattern in _NOT_SECRET):
        return False
    return any(fnmatch.fnmatch(name, pattern) for pattern in _SECRETS)
