"""Dates written as YYYY-MM-DD in file names, paths and headers."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


def find_date(text: str) -> datetime | None:
    """Midnight UTC of the last date in a text; a day that no calendar has is no date.

    The last one, because the file name stands last in a path, and the date last in a file name.
    """
    for written in reversed(_DATE.findall(text)):
        try:
            return datetime.fromisoformat(written).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def without_date(text: str) -> str:
    """A file name less its date: `auth-2025-12-15` is about `auth`. A bare date stays."""
    date = find_date(text)
    if date is None:
        return text
    before, _, after = text.rpartition(date.date().isoformat())
    parts = (before.rstrip("-_ ."), after.lstrip("-_ ."))
    return "-".join(part for part in parts if part) or text
