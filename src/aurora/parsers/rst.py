"""The section titles of reStructuredText: underlined, or with a line above and below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import punctuation

from aurora.parsers.markdown import LONGEST_HEADING, Heading

_SURE = 4  # an underline this long counts though its title is longer, as docutils has it


def find_titles(lines: Sequence[str]) -> Iterator[Heading]:
    """All titles in order. Whichever style comes first is the highest, as the language has it."""
    styles: list[tuple[str, bool]] = []
    at, free = 0, True  # free: no paragraph is open above, so that a title may begin
    while at < len(lines):
        height = _title_height(lines, at) if free else 0
        if not height:
            free = not lines[at].strip() or lines[at].startswith("..")
            at += 1
            continue
        overlined = height == 3
        style = (lines[at + height - 1][0], overlined)
        if style not in styles:
            styles.append(style)
        text = lines[at + overlined].strip()[:LONGEST_HEADING].rstrip()
        yield Heading(styles.index(style) + 1, text, at, at + height)
        at += height


def _title_height(lines: Sequence[str], at: int) -> int:
    """How many lines the title that begins here takes; 0 when there is none."""
    first, second, third = (line.rstrip() for line in (*lines[at : at + 3], "", "", "")[:3])
    if _is_adornment(first):
        closed = third == first and second.strip() and not _is_adornment(second)
        return 3 if closed and _carries(first, second.strip()) else 0
    underlined = first and not first[0].isspace() and _is_adornment(second)
    return 2 if underlined and _carries(second, first) else 0


def _is_adornment(line: str) -> bool:
    return bool(line) and line[0] in punctuation and line == line[0] * len(line)


def _carries(adornment: str, title: str) -> bool:
    return len(adornment) >= min(len(title), _SURE)
