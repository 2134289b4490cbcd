"""Views of what led to a chunk, what is near it, and the sessions of agents."""

from __future__ import annotations

from datetime import datetime

from aurora.display.records import chunk_record
from aurora.display.session_tables import exchange_record, session_record
from aurora.display.trails import trail_record
from aurora.engine.meaning_map import find_near
from aurora.errors import QueryError
from aurora.report_types import SessionEntry
from aurora.types import Json, moment
from aurora.web.door import Door

_MOST = 500  # rows of one answer


def history(door: Door, *, id_: str, memory: str = "") -> dict[str, Json]:
    """The commits that changed a chunk's lines last, and when it was used.

    `changed` is the number of its lines that a commit changed last.
    """
    holder, chunk = door.chunk(id_, memory)
    store = holder.admin.store
    blamed = holder.trail.commits(chunk)
    uses = store.chunks.get_accesses([chunk.id]).get(chunk.id, ())
    known = store.chunks.get_histories([chunk.id]).get(chunk.id)
    return {
        "commits": [
            {
                "id": commit.id,
                "time": moment(commit.time).isoformat(),
                "author": commit.author,
                "subject": commit.subject,
                "changed": commit.lines,
            }
            for commit in blamed.commits
        ],
        "uncommitted": blamed.uncommitted,
        "uses": [at.isoformat() for at in uses],
        "read_at": known.read_at.isoformat() if known and known.read_at else None,
    }


def why(door: Door, *, id_: str, memory: str = "", limit: int = 20) -> dict[str, Json]:
    """The commits, sessions and decisions behind a chunk, as `aur mem why --json` prints them."""
    holder, chunk = door.chunk(id_, memory)
    return trail_record(holder.trail.why_chunk(chunk, limit=max(1, min(limit, _MOST))))


def similar(door: Door, *, id_: str, memory: str = "", limit: int = 8) -> dict[str, Json]:
    """The chunks of the same memory that are nearest in meaning, with their cosine as `score`."""
    holder, chunk = door.chunk(id_, memory)
    near = find_near(holder, chunk, limit=max(1, min(limit, _MOST)))
    return {
        "results": [
            {**chunk_record(each), "memory": holder.label, "score": score} for each, score in near
        ]
    }


def sessions(
    door: Door, *, agent: str = "", q: str = "", before: str = "", limit: int = 100
) -> dict[str, Json]:
    """The stored sessions, newest first, as `aur sessions list --json` prints them.

    `q` is a part of the title, folder, branch or id; `before` the end of the last one shown.
    """
    until = _read_time(before) if before else None
    wanted = [
        entry
        for entry in door.memory.sessions.list(agent=agent)
        if _has(entry, q.casefold())
        and (until is None or (entry.ended is not None and entry.ended < until))
    ]
    shown = wanted[: max(1, min(limit, _MOST))]
    rows: list[Json] = [session_record(entry) for entry in shown]
    return {"sessions": rows, "more": len(wanted) > len(shown)}


def session(door: Door, *, id_: str) -> dict[str, Json]:
    """A session, exchange by exchange, as `aur sessions show --json` prints it."""
    entry, exchanges = door.memory.sessions.show(id_)
    talk: list[Json] = [exchange_record(exchange) for exchange in exchanges]
    return {**session_record(entry), "talk": talk}


def _has(entry: SessionEntry, words: str) -> bool:
    texts = (entry.title, entry.project, entry.branch, entry.id)
    return any(words in text.casefold() for text in texts)


def _read_time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        hint = "write 2026-01-31T12:00:00+00:00"
        raise QueryError(f"Cannot read {text[:50]!r} as a time with its zone", hint=hint)
    return at
