"""What agents asked and were given: a table for people, a record for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import NamedTuple

from aurora.text import printable
from aurora.types import Json
from aurora.usage_log import UsageRecord

_COLUMNS = ("calls", "answered", "tokens", "median ms", "errors")
_ESTIMATE = (
    "Estimate, from above: an agent without the memory reads every file that an answer names once "
    "whole, at 4 bytes a token and at most 25,000 tokens a file. It would also search for them, "
    "which is not counted, and it may read parts. For hooks nothing is estimated."
)


class UsageLine(NamedTuple):
    """All calls of one kind."""

    door: str  # hook or mcp
    what: str  # the moment of a hook, or the tool
    calls: int
    answered: int  # with at least one token
    tokens: int
    median_ms: float
    errors: int


def summarize(records: Sequence[UsageRecord]) -> list[UsageLine]:
    """One line for each kind of call, hooks before tools."""
    kinds: dict[tuple[str, str], list[UsageRecord]] = {}
    for record in records:
        what = (record.moment or "no event") if record.door == "hook" else record.event
        kinds.setdefault((record.door, what), []).append(record)
    return [
        UsageLine(
            door,
            what,
            len(calls),
            sum(call.tokens > 0 for call in calls),
            sum(call.tokens for call in calls),
            median(call.milliseconds for call in calls),
            sum(bool(call.error) for call in calls),
        )
        for (door, what), calls in sorted(kinds.items())
    ]


def render_savings(records: Sequence[UsageRecord]) -> str:
    """The table, and the estimate with its method."""
    if not records:
        return "No agent has asked yet: `aur mcp` and `aur hook` write down when one does"
    lines = summarize(records)
    names = [f"{line.door} {printable(line.what)}" for line in lines]
    width = max(map(len, names))
    rows = [f"{'':<{width}}" + "".join(f"{name:>12}" for name in _COLUMNS)]
    for name, line in zip(names, lines, strict=True):
        numbers = (line.calls, line.answered, line.tokens, round(line.median_ms), line.errors)
        rows.append(f"{name:<{width}}" + "".join(f"{number:>12,}" for number in numbers))
    given, whole = _totals(records)
    return "\n".join(
        [
            *rows,
            "",
            f"Given since {_since(records):%Y-%m-%d}: {given:,} tokens, {whole[0]:,} of them by "
            "tools whose answers name files.",
            f"The files that these answers name: {whole[1]:,} tokens.",
            _ESTIMATE,
        ]
    )


def savings_record(records: Sequence[UsageRecord]) -> dict[str, Json]:
    """The same for programs."""
    given, (with_files, files) = _totals(records)
    calls: list[Json] = [dict(line._asdict()) for line in summarize(records)]
    return {
        "version": 1,
        "since": _since(records).isoformat() if records else None,
        "calls": calls,
        "given_tokens": given,
        "given_tokens_naming_files": with_files,
        "whole_file_tokens": files,
        "method": _ESTIMATE,
    }


def _totals(records: Sequence[UsageRecord]) -> tuple[int, tuple[int, int]]:
    """Tokens given in all; those of answers that name files, and those of the files."""
    naming = [record for record in records if record.whole]
    of_naming = sum(record.tokens for record in naming), sum(record.whole for record in naming)
    return sum(record.tokens for record in records), of_naming


def _since(records: Sequence[UsageRecord]) -> datetime:
    return datetime.fromtimestamp(min(record.time for record in records), UTC)
