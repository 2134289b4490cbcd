"""Where the last session with an agent ended, in the working copies of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from aurora.config.worktrees import names_of_checkouts
from aurora.engine.exchange_text import has_question
from aurora.session_facts import SESSION
from aurora.stores.base import Store
from aurora.types import Chunk, Criteria

_DAYS = (1, 7, 60)  # looked at one after the other, so that few chunks are read
_READ = 300  # the last stored chunks that are read where all are older


def find_last_exchange(store: Store, root: Path, now: datetime) -> Chunk | None:
    """The newest exchange of a session that began in a working copy, or in a folder of one.

    Sessions that another one started are left out: nobody asked them.
    """
    wanted = Criteria(sources=(SESSION,), projects=tuple(sorted(names_of_checkouts(root))))
    rows = store.search.find_rows(wanted)
    for days in _DAYS if rows else ():
        created = store.search.rows_created(now - timedelta(days=days), None)
        if newest := _newest(store, sorted(created & set(rows))):
            return newest
    return _newest(store, rows[-_READ:])


def find_last_command(store: Store, last: Chunk) -> Chunk | None:
    """The command that the session of an exchange ran last; those that only show something are not
    stored."""
    session = last.session.id if last.session else ""
    rows = store.search.find_rows(Criteria(metadata=((SESSION, session),)))
    chunks = store.chunks.get_rows(rows).items()
    runs = [
        (row, chunk) for row, chunk in chunks if chunk.session and chunk.session.form == "command"
    ]
    newest = max(runs, key=lambda run: (_seconds(run[1]), run[0]), default=None)
    return newest[1] if newest else None


def _newest(store: Store, rows: Sequence[int]) -> Chunk | None:
    chunks = store.chunks.get_rows(rows).values() if rows else ()
    own = (chunk for chunk in chunks if not (chunk.session and chunk.session.parent))
    exchanges = [chunk for chunk in own if has_question(chunk)]
    return max(exchanges, key=lambda chunk: (_seconds(chunk), chunk.id), default=None)


def _seconds(chunk: Chunk) -> float:
    return chunk.created_at.timestamp() if chunk.created_at else 0.0
