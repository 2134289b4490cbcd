"""When a result was last changed, and by how many commits, in the words of seed 000, FR-5.3-5.4."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from aurora.text import many
from aurora.types import ChunkHistory, Kind, SearchResult, Tracking

STALE_AFTER = timedelta(days=7)  # seed 000, 6.4

_UNITS = (
    ("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400),
    ("hour", 3600), ("minute", 60),
)  # fmt: skip
_PROSE = (Kind.REASONING, Kind.KNOWLEDGE)


def is_prose(result: SearchResult) -> bool:
    """What git counts no commits of: its date is its own."""
    return result.chunk.kind in _PROSE


def commits_cell(result: SearchResult) -> str:
    """How many commits touched the lines of code; `-` for what is no code."""
    history = result.history
    if is_prose(result) or history is None:
        return "-"
    return _missing(history) or str(len(history.commits))


def modified_cell(result: SearchResult, now: datetime) -> str:
    """How long ago code was changed; the date of anything else."""
    history = result.history
    if is_prose(result):
        date = result.chunk.created_at or (history.last_modified if history else None)
        return f"{date:%Y-%m-%d}" if date else "-"
    if history is None:
        return "-"
    if history.last_modified is None:
        return _missing(history) or "- (uncommitted)"
    return relative_time(now - history.last_modified)


def is_stale(results: Iterable[SearchResult], now: datetime) -> bool:
    """True when git was asked too long ago about some of them."""
    read = (result.history.read_at for result in results if result.history)
    return any(at is not None and now - at > STALE_AFTER for at in read)


def relative_time(age: timedelta) -> str:
    """An age as a person would say it; a clock that runs ahead counts as now."""
    seconds = age.total_seconds()
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count >= 1:
            return f"{many(count, unit)} ago"
    return "just now"


def _missing(history: ChunkHistory) -> str:
    return "" if history.tracking is Tracking.TRACKED else f"- ({history.tracking})"
