"""Decides whether a project's database is the user's own, or came with a clone or an archive.

* known: its identity is in the user's list. All of it is used.
* in place: its seal is valid, or its index file is as old as it says, which no copy preserves.
  Aurora wrote it here, in an earlier version or with another home. All of it is used.
* tracked: git would publish what is written to it. This is an error.
* unknown: perhaps from an archive. Chunks of files are used; lessons and documents are hidden until
  the user adopts them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from aurora.engine.location import INDEXES, SqliteLocation
from aurora.errors import ForeignSchemaError, IndexFileError
from aurora.files import make_folder, make_private, open_file, read_file, replacing
from aurora.platforms import lock
from aurora.quick_classes import NamedTuple, dataclass, replace
from aurora.signals.index_file import IndexFile
from aurora.stores.sqlite.database_file import identity_of
from aurora.stores.sqlite.integrity import Seal, has_log
from aurora.stores.sqlite.repair import copy_foreign
from aurora.stores.sqlite.schema import EVERY_ROW
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk

_MEMORIES, _LOCK = "memories.json", "memories.json.lock"  # the user's list
_LARGEST = 16 << 20  # bytes of the list
_LONGEST_WRITE = 2  # seconds between the time in an index file and its last change


# The user's list of databases: the path of each, and its identity, which is secret


class KnownMemory(NamedTuple):
    """A database that this user made or adopted. Of its rows up to `waiting`, only those of files
    are shown: the user has not adopted the others."""

    identity: str
    waiting: int = 0


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


def remember(home: Path, database: Path, waiting: int = 0) -> None:
    """Store a database as the user's own, inside `memories_locked`.

    A read-only home is not an error: the seal of the database shows the same.
    """
    memories, identity = _read_memories(home), identity_of(database)
    known = [identity, waiting]
    if identity is not None and memories.get(str(database.resolve())) != known:
        memories[str(database.resolve())] = known
        with suppress(OSError):
            make_folder(home)
            with replacing(home / _MEMORIES, durable=True) as out:
                out.write((json.dumps(memories, indent=2) + "\n").encode())


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


# Whether a database is the user's own


class Trust(NamedTuple):
    """Rows up to `waiting` are hidden, except those of files; 0 hides none."""

    waiting: int
    is_known: bool = False  # in the user's list


def judge(home: Path, database: Path, *, read_only: bool = False) -> Trust:
    """How far to trust a project's database. `read_only`: no file is created beside it."""
    trust = _judge(home, database, read_only=read_only)
    if trust.waiting != EVERY_ROW:
        return trust
    with memories_locked(home, reading=True):  # another process may just have made it
        return _judge(home, database, ask_git=False, read_only=read_only)


def _judge(home: Path, database: Path, *, ask_git: bool = True, read_only: bool = False) -> Trust:
    known, identity = known_memory(home, database), identity_of(database, read_only=read_only)
    if known is not None and identity not in (known.identity, None):
        known = None
    # A pull can add a log beside a known database: git replaces ignored files.
    if ask_git and (known is None or has_log(database)):
        _require_untracked(database.parent)
    if known is not None:
        return Trust(known.waiting, is_known=True)
    is_own = Seal(database).proves_own() or _is_of_an_earlier_version(home, database, identity)
    return Trust(0 if is_own and not has_log(database) else EVERY_ROW)


def _is_of_an_earlier_version(home: Path, database: Path, identity: str | None) -> bool:
    """True for a database that a version without seals wrote here.

    Its index file holds the time of its creation. In place, the file has not changed since; a copy
    has. This counts only for files older than the user's list.
    """
    index = database.with_name(INDEXES) / "bm25.idx"
    try:
        facts = IndexFile(index, kind="bm25").facts
        made_at = datetime.fromisoformat(str(facts.get("created_at"))).timestamp()
        delay = index.stat().st_ctime - made_at
    except (OSError, ValueError, IndexFileError):
        return False
    is_in_place = facts.get("store") == identity and 0 <= delay < _LONGEST_WRITE
    return is_in_place and not Seal(database).exists and made_at < list_began_at(home)


def make_own(home: Path, file: SqliteLocation) -> bool:
    """Create a project's database, or take over an unknown one; note it as the user's.

    True if it was taken over: it has a new identity, and shows only rows added from now on.
    """
    if file.stamp() is None:  # git may be slow: it runs before the lock is taken
        _require_untracked(file.path.parent)
    else:
        _judge(home, file.path)
    with memories_locked(home):
        if file.stamp() is None:
            with closing(file.open()) as store:
                store.generation()  # this seals it
            waiting = 0
        else:
            waiting = _judge(home, file.path, ask_git=False).waiting
        is_foreign = waiting == EVERY_ROW
        if is_foreign:
            make_private(file.path.parent)
            with closing(replace(file, waiting=waiting).open()) as store:
                waiting = store.take_over()
        remember(home, file.path, waiting)
    return is_foreign


def note_identity(home: Path, store: SQLiteStore) -> None:
    """Note the new identity that a repair may have given to the file."""
    if store.waiting != EVERY_ROW:
        with memories_locked(home):
            remember(home, store.path, store.waiting)


def note_reclaimed(home: Path, database: Path) -> None:
    """Note a rebuilt database as the user's, if the replaced file was."""
    with memories_locked(home):
        known = known_memory(home, database)
        if known is not None:
            remember(home, database, known.waiting)


@dataclass(frozen=True, slots=True)
class Offer:
    """What the user may adopt."""

    path: Path
    chunks: list[Chunk]  # lessons, documents and logs; chunks of files are not hidden
    foreign: list[str]  # database objects that Aurora never makes, such as a trigger: left behind
    adopt: Callable[[], None]


@contextmanager
def offer(home: Path, file: SqliteLocation) -> Iterator[Offer | None]:
    """What a database holds that is not the user's; None if all of it is."""
    _require_untracked(file.path.parent)
    try:
        waiting = judge(home, file.path).waiting
    except ForeignSchemaError:
        with copy_foreign(file.path) as copy:
            adopt = partial(_adopt, home, file, copy.put_in_place)
            yield Offer(file.path, copy.waiting, copy.foreign, adopt)
        return
    if not waiting:
        yield None
        return
    with closing(replace(file, waiting=waiting).open()) as store:
        rows = list(store.chunks.iter_waiting())
    yield Offer(file.path, rows, [], partial(_adopt, home, file))


def _adopt(
    home: Path, file: SqliteLocation, put_in_place: Callable[[], None] = lambda: None
) -> None:
    with memories_locked(home):
        put_in_place()
        make_private(file.path.parent)
        with closing(file.open()) as store:
            store.take_over()
        remember(home, file.path)


def _require_untracked(folder: Path) -> None:
    from aurora.engine.projects import require_untracked  # noqa: PLC0415 - not for a known memory

    require_untracked(folder)
