"""From "since when" to a moment: dates as ISO 8601 writes them, and ages as people say them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?", re.ASCII)
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d(?:[t ][\d:.,]+(?: ?(?:z|[+-][\d:]+))?)?", re.ASCII)
_AGE = re.compile(r"(?:last |(?P<count>\d{1,6}) ?)(?P<unit>[a-z]+)(?(count)(?: ago)?)", re.ASCII)

_SPANS = {
    **dict.fromkeys(("min", "mins", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), timedelta(weeks=1)),
}
_MONTHS = {
    **dict.fromkeys(("m", "mo", "mon", "month", "months"), 1),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 12),
}


def parse_since(text: str, *, now: datetime) -> datetime | None:
    """The moment meant, in UTC; nothing when the text is no date or age, or before all calendars.

    `2026`, `2026-01` and `2026-01-31` are their first moment, `today` and `yesterday` midnight
    where `now` is; `7d`, `3 months ago` and `last week` count back from `now`. `m` is a month. What
    has no zone is UTC.
    """
    words = " ".join(text.lower().split())
    here = now if now.tzinfo else now.replace(tzinfo=UTC)
    try:
        found = _named_day(words, here) or _date(words) or _age(words, here)
        return found.astimezone(UTC) if found else None
    except (ValueError, OverflowError):  # a day that no calendar has, or that is too far away
        return None


def _named_day(words: str, now: datetime) -> datetime | None:
    days = {"today": 0, "yesterday": 1}.get(words)
    if days is None:
        return None
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def _date(words: str) -> datetime | None:
    if month := _MONTH.fullmatch(words):
        return datetime(int(month[1]), int(month[2] or 1), 1, tzinfo=UTC)
    if not _DAY.fullmatch(words):
        return None
    day = datetime.fromisoformat(words.upper().replace(" ", "T", 1).replace(" ", ""))
    return day if day.tzinfo else day.replace(tzinfo=UTC)


def _age(words: str, now: datetime) -> datetime | None:
    age = _AGE.fullmatch(words)
    if age is None:
        return None
    count, unit = int(age["count"] or 1), age["unit"]
    if span := _SPANS.get(unit):
        return now.astimezone(UTC) - count * span
    if months := _MONTHS.get(unit):
        return _months_before(now, count * months)
    return None


def _months_before(moment: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last: a month before March 31 is February 28."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)
