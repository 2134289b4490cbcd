"""The few facts of a note's YAML front matter that a memory uses: title, date and tags.

Read by line patterns, not by a YAML parser: notes are strangers' text, and whatever is more than a
plain value is still found as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aurora.parsers.dates import find_date
from aurora.parsers.markdown import LONGEST_HEADING

_MOST_LINES = 200  # a rule at the top of a file and one far below are no front matter
_MOST_TAGS, _LONGEST_TAG = 50, 100  # each chunk of a note has them, and its title
_KEY = re.compile(r"([A-Za-z_][\w-]*):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands between the two `---`; `end` is the index of the line after them."""

    end: int = 0
    title: str = ""
    date: datetime | None = None
    tags: tuple[str, ...] = ()


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter of a note, empty when it has none."""
    end = _find_end(lines)
    if not end:
        return FrontMatter()
    values = _values(lines[1 : end - 1])
    title, date = (" ".join(values.get(key, ())) for key in ("title", "date"))
    tags = (tag[:_LONGEST_TAG].rstrip() for tag in values.get("tags", ())[:_MOST_TAGS])
    return FrontMatter(end, title[:LONGEST_HEADING].rstrip(), find_date(date), tuple(tags))


def _find_end(lines: Sequence[str]) -> int:
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _KEY.match(lines[1].rstrip()):
        return 0
    for at, line in enumerate(lines[:_MOST_LINES]):
        if at and line.rstrip() in ("---", "..."):
            return at + 1
    return 0


def _values(lines: Sequence[str]) -> dict[str, list[str]]:
    """Keys with their values: one, those of a list in brackets, or the items below."""
    found: dict[str, list[str]] = {}
    items: list[str] = []
    for line in map(str.rstrip, lines):
        if key := _KEY.match(line):
            items = found.setdefault(key[1].lower(), [])
            items += _split(key[1].lower(), key[2] or "")
        elif item := _ITEM.match(line):
            items.append(_unquoted(item[1]))
    return {key: [value for value in values if value] for key, values in found.items()}


def _split(key: str, written: str) -> list[str]:
    if key != "tags":
        return [_unquoted(written)]
    return [_unquoted(value) for value in written.strip("[] ").split(",")]


def _unquoted(written: str) -> str:
    return written.strip().strip("\"'").strip()
