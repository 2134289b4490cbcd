"""What `aur sessions` prints: tables and texts for people, and records for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from textwrap import shorten

from aurora.display.reports import megabytes
from aurora.display.table import aligned
from aurora.report_types import AgentOnDisk, ExchangeEntry, SessionEntry
from aurora.text import pluralize, printable
from aurora.types import Json

_SCAN = ("Agent", "Transcripts", "Size", "From", "To", "Imported")
_SHORT_ID, _TITLE = 8, 70  # cells


def render_scan(agents: Sequence[AgentOnDisk]) -> str:
    """A line for each agent."""
    return "\n".join(aligned([_SCAN, *map(_scan_cells, agents)]))


def _scan_cells(found: AgentOnDisk) -> tuple[str, ...]:
    cells = (
        found.agent,
        f"{found.transcripts:,}",
        megabytes(found.size) if found.size else "",
        _day(found.first),
        _day(found.last),
        "yes" if found.is_imported else "no",
    )
    return tuple(printable(cell) or "-" for cell in cells)


def scan_record(agents: Sequence[AgentOnDisk]) -> dict[str, Json]:
    return {
        "agents": [
            {
                "agent": found.agent,
                "title": found.title,
                "transcripts": found.transcripts,
                "bytes": found.size,
                "first": _time(found.first),
                "last": _time(found.last),
                "imported": found.is_imported,
                "problems": [*found.problems],
            }
            for found in agents
        ]
    }


def render_sessions(
    entries: Sequence[SessionEntry], among: Sequence[SessionEntry], now: datetime
) -> str:
    """A line for each session: a short id, its end, agent, exchanges and title.

    An id is as long as it must be to name one of those that it is `among`.
    """
    zone, short = now.tzinfo, _short_ids(sorted({entry.id for entry in among}))
    rows = [
        (
            printable(short[entry.id]),
            f"{entry.ended.astimezone(zone):%Y-%m-%d %H:%M}" if entry.ended else "-",
            printable(entry.agent),
            f"{entry.exchanges:,}",
            shorten(printable(entry.title), _TITLE, placeholder=" …") or "-",
        )
        for entry in entries
    ]
    return "\n".join(aligned(rows)) if rows else ""


def _short_ids(ids: Sequence[str]) -> dict[str, str]:
    """The beginnings of sorted ids by which they differ."""
    short = {}
    for before, id_, after in zip(["", *ids], ids, [*ids[1:], ""], strict=False):
        alike = max(_count_alike(id_, other) for other in (before, after))
        short[id_] = id_[: max(_SHORT_ID, alike + 1)]
    return short


def _count_alike(text: str, other: str) -> int:
    """The number of characters with which both begin."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))


def session_record(entry: SessionEntry) -> dict[str, Json]:
    return {
        "id": entry.id,
        "agent": entry.agent,
        "title": entry.title or None,
        "project": entry.project or None,
        "branch": entry.branch or None,
        "model": entry.model or None,
        "parent": entry.parent or None,
        "started": _time(entry.started),
        "ended": _time(entry.ended),
        "exchanges": entry.exchanges,
        "path": entry.path,
        "resume": entry.resume or None,
    }


def render_session(entry: SessionEntry, exchanges: Sequence[ExchangeEntry]) -> str:
    """The head of a session, then each exchange under its number and time."""
    about = {
        "Session": entry.id,
        "Agent": " ".join(filter(None, (entry.agent, entry.model))),
        "Project": " ".join(filter(None, (entry.project, entry.branch))),
        "Time": " to ".join(filter(None, (_minute(entry.started), _minute(entry.ended)))),
        "Resume": entry.resume,
    }
    head = [f"{name:<8} {printable(text)}" for name, text in about.items() if text]
    lines = [printable(entry.title) or "Session", "", *head]
    for number, exchange in enumerate(exchanges, start=1):
        at = exchange.time[:16].replace("T", " ")
        lines += ["", f"── {number} of {len(exchanges)}  {printable(at)}".rstrip(), ""]
        lines += [exchange.text.rstrip()]
        for command in exchange.commands:
            lines += ["", command.rstrip()]
    return "\n".join(lines)


def exchange_record(exchange: ExchangeEntry) -> dict[str, Json]:
    return {
        "id": exchange.id,
        "time": exchange.time or None,
        "model": exchange.model or None,
        "text": exchange.text,
        "commands": [*exchange.commands],
    }


def render_skipped(skipped: Mapping[str, int]) -> str:
    """What an import left out, most first."""
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    reasons = ", ".join(f"{count:,} {printable(reason)}" for reason, count in ordered)
    return f"Left out {pluralize(sum(skipped.values()), 'record')}: {reasons}"


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
