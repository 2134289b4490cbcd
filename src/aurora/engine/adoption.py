"""Whether a project's database is the user's own: one that came with a clone or an archive is not.

* known: its identity is in the user's list. All of it is used.
* in place: its seal holds, or its index file is as old as it says; no copy keeps that. Aurora wrote
  it here, in an earlier version or with another home. All of it is used.
* tracked: git would publish what is written to it. That is an error.
* unknown: from an archive, perhaps. Its files' chunks are used; lessons and documents wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.config.trust import (
    KnownMemory,
    known_memory,
    list_began_at,
    memories_locked,
    remember_memory,
)
from aurora.engine.location import INDEXES, SqliteLocation
from aurora.errors import ForeignSchemaError, IndexFileError, StoreError
from aurora.files import make_private, read_file, replacing
from aurora.signals.index_file import IndexFile
from aurora.stores.sqlite.connection import identity_of
from aurora.stores.sqlite.integrity import Seal, has_log
from aurora.stores.sqlite.schema import EVERY_ROW
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk

_LONGEST_WRITE = 2  # seconds from the moment that an index file tells to its last change
_LARGEST = 1 << 20  # bytes of a file that tells git what to ignore
_PRIVATE = ("memory.db", "memory.db-wal", "indexes/bm25.idx")  # some that it must not publish
_SHARED = ("config.yml", ".gitignore")  # files of a memory's folder that a project may publish


class Trust(NamedTuple):
    """Of rows up to `waiting` only those of files are shown; 0 shows all."""

    waiting: int
    is_known: bool = False  # by the user's list


def judge(home: Path, database: Path) -> Trust:
    """How far a project's database is the user's own."""
    trust = _judge(home, database)
    if trust.waiting != EVERY_ROW:
        return trust
    with memories_locked(home, reading=True):  # another process may just have made it
        return _judge(home, database, ask_git=False)


def _judge(home: Path, database: Path, *, ask_git: bool = True) -> Trust:
    known, identity = known_memory(home, database), identity_of(database)
    if known is not None and identity not in (known.identity, None):
        known = None
    # A log can be put beside a known database by a pull: git replaces ignored files.
    if ask_git and (known is None or has_log(database)):
        require_untracked(database.parent)
    if known is not None:
        return Trust(known.waiting, is_known=True)
    is_own = Seal(database).proves_own() or _is_of_an_earlier_version(home, database, identity)
    return Trust(0 if is_own and not has_log(database) else EVERY_ROW)


def _is_of_an_earlier_version(home: Path, database: Path, identity: str | None) -> bool:
    """Versions without a seal wrote index files that tell when they were made. In place, that is
    when the file changed last; in a copy it is not. It counts only before the user's list began."""
    index = database.with_name(INDEXES) / "bm25.idx"
    try:
        facts = IndexFile(index, kind="bm25").facts
        made_at = datetime.fromisoformat(str(facts.get("created_at"))).timestamp()
        delay = index.stat().st_ctime - made_at
    except (OSError, ValueError, IndexFileError):
        return False
    is_in_place = facts.get("store") == identity and 0 <= delay < _LONGEST_WRITE
    return is_in_place and not Seal(database).exists and made_at < list_began_at(home)


def make_own(home: Path, at: SqliteLocation) -> bool:
    """Make a project's database, or take one over that is not the user's; note it as theirs.

    True when it was taken over: it has another identity now, and shows what is added from here on.
    """
    if at.stamp() is None:  # git is asked before the lock is taken: it may be slow
        require_untracked(at.path.parent)
    else:
        _judge(home, at.path)
    with memories_locked(home):
        if at.stamp() is None:
            with closing(at.open()) as store:
                store.generation()  # which seals it
            waiting = 0
        else:
            waiting = _judge(home, at.path, ask_git=False).waiting
        is_foreign = waiting == EVERY_ROW
        if is_foreign:
            make_private(at.path.parent)
            with closing(replace(at, waiting=waiting).open()) as store:
                waiting = store.take_over()
        _remember(home, at.path, waiting)
    return is_foreign


def _remember(home: Path, database: Path, waiting: int = 0) -> None:
    identity = identity_of(database)
    if identity is not None:
        remember_memory(home, database, KnownMemory(identity, waiting))


def note_identity(home: Path, store: SQLiteStore) -> None:
    """After a repair, which may have given the file another identity."""
    if store.waiting != EVERY_ROW:
        with memories_locked(home):
            _remember(home, store.path, store.waiting)


def note_reclaimed(home: Path, database: Path) -> None:
    """Note a rebuilt database as the user's, if the file that it replaces was."""
    with memories_locked(home):
        known = known_memory(home, database)
        if known is not None:
            _remember(home, database, known.waiting)


@dataclass(frozen=True, slots=True)
class Offer:
    """What the user is asked to adopt."""

    path: Path
    chunks: list[Chunk]  # lessons, documents and logs; those of files are shown anyway
    foreign: list[str]  # what Aurora never makes, such as a trigger: it is left behind
    adopt: Callable[[], None]


@contextmanager
def offer(home: Path, at: SqliteLocation) -> Iterator[Offer | None]:
    """What a database holds that is not the user's; None when all of it is theirs."""
    require_untracked(at.path.parent)
    try:
        waiting = judge(home, at.path).waiting
    except ForeignSchemaError:
        with SQLiteStore.copy_foreign(at.path) as copy:
            adopt = partial(_adopt, home, at, copy.put_in_place)
            yield Offer(at.path, copy.waiting, copy.foreign, adopt)
        return
    if not waiting:
        yield None
        return
    with closing(replace(at, waiting=waiting).open()) as store:
        rows = list(store.iter_waiting())
    yield Offer(at.path, rows, [], partial(_adopt, home, at))


def _adopt(home: Path, at: SqliteLocation, put_in_place: Callable[[], None] = lambda: None) -> None:
    with memories_locked(home):
        put_in_place()
        make_private(at.path.parent)
        with closing(at.open()) as store:
            store.take_over()
        _remember(home, at.path)


def require_untracked(folder: Path) -> None:
    """Raise where git tracks files of a memory: they came with a clone, and would be published."""
    from aurora.sources.git import list_tracked  # noqa: PLC0415 - a known memory needs no git

    # Git is asked from above: the folder may be prepared as a repository that tracks nothing.
    shared = {f"{folder.name}/{name}" for name in _SHARED}
    tracked = sorted(set(list_tracked(folder.parent, folder.name)) - shared)
    if tracked:
        raise StoreError(
            f"{shown(folder.parent / tracked[0])} is tracked by git: it may have come with a "
            "clone, and git would publish what you remember",
            hint=f"run `git rm -r --cached {shown(folder)}`; `aur adopt` then shows what is in it",
        )


def keep_out_of_git(folder: Path) -> None:
    """Make git ignore a memory's files: the `.gitignore` of a clone may say otherwise."""
    from aurora.sources.git import are_ignored  # noqa: PLC0415 - only an index run asks

    if are_ignored(folder, _PRIVATE):
        return
    ignore = folder / ".gitignore"
    before = read_file(ignore, most=_LARGEST) if ignore.exists() else b""
    with replacing(ignore) as out:  # of two rules the last one counts
        out.write(before + b"\n*\n" + b"".join(b"!%s\n" % name.encode() for name in _SHARED))
