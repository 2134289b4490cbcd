"""Files of other programs on disk: read, and replaced in one step.

A file keeps its mode, and a link to it stays a link. A file that changed since it was read is not
replaced: a running client may write it at any time.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.errors import ConfigError


class FileState(NamedTuple):
    """The file before the change; a missing file has no mode."""

    content: bytes
    mode: int | None


def read_state(file: Path) -> FileState:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"{shown(file)} is not a file", hint="move it out of the way")
        return FileState(file.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return FileState(b"", None)
    except OSError as exc:
        raise ConfigError(
            f"Cannot read {shown(file)}: {exc.strerror}",
            hint="check the file's owner and mode",
        ) from exc


def _keep(file: Path, content: bytes, mode: int) -> Path:
    """Copy the content beside the file. An existing backup with other content is kept."""
    for number in count():
        backup = file.with_name(f"{file.name}.bak{number or ''}")
        try:
            _create(backup, content, mode)
            break
        except FileExistsError:
            with suppress(OSError):
                if backup.is_file() and backup.read_bytes() == content:
                    break
    return backup


def replace_file(
    file: Path, content: bytes, before: FileState, *, private: bool, keep: bool = False
) -> Path | None:
    """Replace the file in one step, and return its backup. A link to the file stays a link."""
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
    scratch = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    backup = None
    try:
        _create(scratch, content, 0o600 if private or before.mode is not None else 0o644)
        if before.mode is not None:
            if not os.access(target, os.W_OK):  # replacing would need only a writable folder
                raise PermissionError(errno.EACCES, "it is read-only")
            scratch.chmod(before.mode)
            backup = _keep(file, before.content, before.mode) if keep else None
        if read_state(file) != before:  # a running client may write it at any time
            raise ConfigError(f"{shown(file)} has just been changed", hint="try again")
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
    return backup


def _create(path: Path, content: bytes, mode: int) -> None:
    """Create a file with a mode from its first byte on, because it may hold secrets."""
    with open(path, "xb", opener=partial(os.open, mode=mode)) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
