"""Reads the structure of Markdown notes: headings and front matter.

Headings follow CommonMark with one exception: an underlined heading has one line. A line of dashes
under a longer paragraph is a rule.

Front matter is read by line patterns, not by a YAML parser: notes are untrusted text, and anything
but a plain value is still indexed as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from aurora.quick_classes import dataclass
from aurora.text import find_date

LONGEST_HEADING = 200  # characters kept: a data file may also start with `#`
_LONGEST_LINE = 2000  # characters read of a heading: badges have long addresses
_MAX_MATTER_LINES = 200  # two rules further apart are not front matter
_MAX_TAGS, _LONGEST_TAG = 50, 100  # every chunk of a note repeats the tags

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HTML = re.compile(r" {0,3}<(!--|(?:pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
# What is written in a heading but not read: anchors, attributes, badges and the target of a link.
_ATTRIBUTES = re.compile(r"\s\{\s*[#.][^{}]*\}$")
_TAG = re.compile(r"</?(?:a|img|br|sub|sup|span|div)\b[^<>]*>", re.IGNORECASE)
_BADGE = re.compile(r"\[!\[[^\[\]]*\]\([^()]*\)\]\([^()]*\)|!\[[^\[\]]*\]\([^()]*\)")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")
_NOT_A_TITLE = re.compile(r" {4}| {0,3}(?:\t|[>|<]|[-*+](?:\s|$)|[0-9]{1,9}[.)])")
_KEY = re.compile(r"([A-Za-z_][\w-]*):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")


# Headings


class Heading(NamedTuple):
    """A heading of level 1 to 6, at the lines with indexes from `first` to before `after`."""

    level: int
    text: str
    first: int
    after: int


class Fence:
    """Follows code fences from line to line. An unclosed fence extends to the end."""

    _open = ""

    def covers(self, line: str) -> bool:
        """True for the lines of a code block and for its two fences."""
        fence = _FENCE.match(line)
        if not self._open:
            # Backticks with another backtick after them are code inside a sentence.
            if fence and not (fence[1][0] == "`" and "`" in fence[2]):
                self._open = fence[1]
            return bool(self._open)
        if fence and fence[1].startswith(self._open) and not fence[2].strip():
            self._open = ""
        return True


class Blocks(Fence):
    """Follows lines that are not Markdown: code fences, comments, literal HTML."""

    _end = ""  # the text that closes the current HTML

    def covers(self, line: str) -> bool:
        if not self._end:
            if super().covers(line):
                return True
            opened = _HTML.match(line)
            if opened is None:
                return False
            self._end = "-->" if opened[1] == "!--" else f"</{opened[1].lower()}>"
        if self._end in line.lower():
            self._end = ""
        return True


def read_heading(line: str) -> tuple[int, str] | None:
    """Return level and text of a line that starts with `#`, without closing `#`s."""
    level, text = _read_whole(line)
    return (level, text[:LONGEST_HEADING].rstrip()) if level else None


def _read_whole(line: str) -> tuple[int, str]:
    """As `read_heading`; the level of another line is 0."""
    opening = _ATX.match(line)
    if opening is None:
        return 0, ""
    text = line[opening.end() :].strip()
    bare = text.rstrip("#")
    if not bare or bare[-1] in " \t":
        text = bare.rstrip()
    return len(opening[1]), text


def _as_read(text: str) -> str:
    """A heading as a reader sees it: `Login { #login }` and `[Login](login.md)` are Login."""
    text = text[:_LONGEST_LINE]
    shown = _BADGE.sub("", _TAG.sub("", _ATTRIBUTES.sub("", text)))
    shown = " ".join(_LINK.sub(r"\1", shown).split())
    return (shown or text)[:LONGEST_HEADING].rstrip()


def find_headings(lines: Sequence[str], start: int = 0) -> Iterator[Heading]:
    """Yield all headings from an index on."""
    blocks = Blocks()
    paragraph = 0  # lines of the paragraph directly above
    for at in range(start, len(lines)):
        line = lines[at].rstrip()
        if blocks.covers(line):
            paragraph = 0
        elif (heading := _read_whole(line))[0]:
            yield Heading(heading[0], _as_read(heading[1]), at, at + 1)
            paragraph = 0
        elif paragraph == 1 and (rule := _UNDERLINE.match(line)):
            text = _as_read(lines[at - 1].strip())
            yield Heading(1 if rule[1] else 2, text, at - 1, at + 1)
            paragraph = 0
        elif not line or _RULE.match(line):
            paragraph = 0
        else:
            paragraph += 2 if paragraph == 0 and _NOT_A_TITLE.match(line) else 1


# Front matter


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values between two `---`; `end` is the index of the line after them."""

    end: int = 0
    title: str = ""
    date: datetime | None = None
    tags: tuple[str, ...] = ()


def find_front_matter(lines: Sequence[str]) -> int:
    """The index of the line after the front matter; 0 without one."""
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _KEY.match(lines[1].rstrip()):
        return 0
    rest = enumerate(lines[1:_MAX_MATTER_LINES], start=2)
    return next((after for after, line in rest if line.rstrip() in ("---", "...")), 0)


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter of a note, empty when it has none."""
    end = find_front_matter(lines)
    if not end:
        return FrontMatter()
    values = _values(lines[1 : end - 1])
    title, date = (" ".join(values.get(key, ())) for key in ("title", "date"))
    tags = (tag[:_LONGEST_TAG].rstrip() for tag in values.get("tags", ())[:_MAX_TAGS])
    return FrontMatter(end, title[:LONGEST_HEADING].rstrip(), find_date(date), tuple(tags))


def _values(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return keys with their values: one, a list in brackets, or the items below."""
    values: dict[str, list[str]] = {}
    items: list[str] = []
    for line in map(str.rstrip, lines):
        if key := _KEY.match(line):
            name, written = key[1].lower(), key[2] or ""
            items = values.setdefault(name, [])
            items += written.strip("[] ").split(",") if name == "tags" else [written]
        elif item := _ITEM.match(line):
            items.append(item[1])
    return {
        key: [value for item in items if (value := item.strip().strip("\"'").strip())]
        for key, items in values.items()
    }
