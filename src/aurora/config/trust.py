"""What the user trusts of a project: its settings file and its database, as a clone may bring both.

Until the user approves a settings file, it may not choose models, endpoints or links, send text to
other machines, lead a path out of the memory's folder, or take much time or memory. Approval is
stored by content: an edited file needs approval again. A database is known by its path and by its
identity, which is secret.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from aurora.config.schema import Guard, Setting
from aurora.errors import ConfigError
from aurora.files import lock, make_folder, open_file, read_file, replacing

_APPROVED, _MEMORIES, _LOCK = "approved.json", "memories.json", "memories.json.lock"
_LARGEST = 16 << 20  # bytes of either file


class KnownMemory(NamedTuple):
    """A database that this user made or adopted. Of its rows up to `waiting`, only those of files
    are shown: the user has not adopted the others."""

    identity: str
    waiting: int = 0


def is_approved(home: Path, file: Path, content: bytes) -> bool:
    """True when the user approved exactly this content of this file."""
    return _read_approved(home).get(str(file.resolve())) == _digest(content)


def approve(home: Path, file: Path, content: bytes | None = None) -> None:
    """Store that the user trusts the file with this content, or its current content."""
    approved = _read_approved(home)
    try:
        trusted = read_file(file, most=_LARGEST) if content is None else content
        approved[str(file.resolve())] = _digest(trusted)
        _write(home / _APPROVED, approved)
    except OSError as exc:
        raise ConfigError(f"Cannot approve {file}: {exc}") from exc


def _read_approved(home: Path) -> dict[str, str]:
    file = home / _APPROVED
    try:
        approved = json.loads(read_file(file, most=_LARGEST, follow=True))
        if not isinstance(approved, dict):
            raise ValueError("it does not hold files with their digests")  # noqa: TRY004, TRY301
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"Cannot read the list of approved projects {file}: {exc}",
            hint="delete the file and approve your projects again with `aur config approve`",
        ) from exc
    return approved


def _digest(content: bytes) -> str:
    import hashlib  # noqa: PLC0415 - few projects have a settings file

    return hashlib.sha256(content).hexdigest()


def known_memory(home: Path, database: Path) -> KnownMemory | None:
    """Return what is stored about a database; None without an entry or with a damaged list."""
    match _read_memories(home).get(str(database.resolve())):
        case [str(identity), int(waiting)]:
            return KnownMemory(identity, waiting)
    return None


def _read_memories(home: Path) -> dict[str, object]:
    try:
        memories = json.loads(read_file(home / _MEMORIES, most=_LARGEST, follow=True))
    except (OSError, ValueError):
        return {}
    return memories if isinstance(memories, dict) else {}


def remember_memory(home: Path, database: Path, known: KnownMemory) -> None:
    """Store a database as the user's own, inside `memories_locked`.

    A read-only home is not an error: the seal of the database shows the same.
    """
    memories = _read_memories(home)
    if memories.get(str(database.resolve())) != list(known):
        memories[str(database.resolve())] = list(known)
        with suppress(OSError):
            _write(home / _MEMORIES, memories)


def list_began_at(home: Path) -> float:
    """When this user's list of databases was created, in seconds since 1970; now if it was not."""
    try:
        return (home / _LOCK).stat().st_mtime  # the lock file is never written
    except OSError:
        return time.time()


@contextmanager
def memories_locked(home: Path, *, reading: bool = False) -> Iterator[None]:
    """Let one process at a time create, store or check a database.

    `reading` writes nothing: without a lock file, no process is creating a database.
    """
    with ExitStack() as held:
        with suppress(OSError):
            if not reading:
                make_folder(home)
            file = open_file(home / _LOCK, "r+b" if reading else "ab")
            lock(held.enter_context(file), wait=True)
        yield


def refused(setting: Setting, value: object, *, file: Path) -> str:
    """The reason why an unapproved project file may not set this value; empty if it may."""
    if setting.guard is Guard.CHOICE:
        return "a project file may not choose models, servers, endpoints or links"
    # By value: a project may choose the reranker that runs on this machine.
    if setting.guard is Guard.AWAY and value in (True, "llm"):
        return "a project file may not have text sent away"
    if setting.guard is Guard.SAFETY and value is False:
        return "a project file may not switch a protection off"
    if setting.guard is Guard.OUTSIDE:
        try:
            target = (file.parent / Path(str(value)).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown home, not a path
            target = None
        if target is None or not target.is_relative_to(file.parent.resolve()):
            return f"a project file may not lead out of {file.parent.name}"
    most = setting.unapproved_most
    if most is not None and isinstance(value, int | float) and value > most:
        return f"a project file may not set more than {most:g}"
    return ""


def _write(file: Path, content: Mapping[str, object]) -> None:
    make_folder(file.parent)
    with replacing(file, durable=True) as out:
        out.write((json.dumps(content, indent=2) + "\n").encode())
