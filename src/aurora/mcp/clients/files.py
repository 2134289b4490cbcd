"""A client's file on disk: read, kept as a backup, and replaced in one step."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.errors import ConfigError
from aurora.mcp.clients.entries import with_entry
from aurora.mcp.clients.known import Client, Server


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a file: a backup only if it was there and another, and what was lost."""

    changed: bool
    backup: Path | None = None
    lost: tuple[str, ...] = ()


class _Before(NamedTuple):
    """A file as it was found; one that is not there has no mode."""

    content: bytes
    mode: int | None


def write_entry(file: Path, client: Client, server: Server, *, private: bool) -> Written:
    """Put a server into a client's file, which is made if need be.

    Raises `ConfigError`, and changes nothing, where that cannot be done without other changes.
    """
    before = _read(file)
    try:
        source = before.content.decode()
        edited, lost = with_entry(source, client, server)
    except (ConfigError, UnicodeDecodeError) as exc:
        reason = exc.message if isinstance(exc, ConfigError) else f"it is not UTF-8: {exc.reason}"
        raise ConfigError(
            f"{shown(file)} was left as it is: {reason}",
            hint=f"add this to it by hand:\n\n{client.snippet(server)}",
        ) from exc
    if edited == source:
        return Written(changed=False)
    try:
        backup = _replace(file, edited.encode(), before, private=private)
    except (OSError, UnicodeEncodeError) as exc:
        raise ConfigError(
            f"Cannot write {shown(file)}: {exc}", hint="check who owns it and its folder"
        ) from exc
    return Written(changed=True, backup=backup, lost=lost)


def _read(file: Path) -> _Before:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"{shown(file)} is no file", hint="move it out of the way")
        return _Before(file.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return _Before(b"", None)
    except OSError as exc:
        raise ConfigError(
            f"Cannot read {shown(file)}: {exc.strerror}", hint="check who owns it and its folder"
        ) from exc


def _keep(file: Path, content: bytes, mode: int) -> Path:
    """A copy beside the file. One that is there may be the only copy of what it holds: it stays."""
    number = 0
    while True:
        backup = file.with_name(f"{file.name}.bak{number or ''}")
        try:
            _create(backup, content, mode)
        except FileExistsError:
            if not _has(backup, content):
                number += 1
                continue
        return backup


def _replace(file: Path, content: bytes, before: _Before, *, private: bool) -> Path | None:
    """Whoever reads the file sees the old or the new one. A link to the real file stays a link.

    Returns the backup, which is made last: where nothing can be written, none is needed.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
    scratch = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    backup = None
    try:
        _create(scratch, content, 0o600 if private or before.mode is not None else 0o644)
        if before.mode is not None:
            _require_writable(target)
            scratch.chmod(before.mode)
            backup = _keep(file, before.content, before.mode)
        if _read(file) != before:  # a client that runs may write to it at any time
            raise ConfigError(f"{shown(file)} has just been changed", hint="try again")
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
    return backup


def _require_writable(target: Path) -> None:
    """Replacing a file asks only its folder, but who made it read-only meant the file."""
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")


def _create(path: Path, content: bytes, mode: int) -> None:
    """A file that is not there yet, with a mode from its first byte on: it may hold secrets."""
    with open(path, "xb", opener=partial(os.open, mode=mode)) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _has(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() == content
    except OSError:
        return False
