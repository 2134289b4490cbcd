"""Splits prose: Markdown and reStructuredText at their headings, plain text at paragraphs.

A chunk is a heading with the text up to the next heading of any level; a long section becomes
several chunks. A heading directly above a deeper heading belongs to the chunk of that one, and so
does front matter. Text before the first heading is a chunk named after the note. Short sections are
not merged: the name of a chunk would then depend on the length of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from string import punctuation

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.markdown import (
    LONGEST_HEADING,
    FrontMatter,
    Heading,
    find_headings,
    read_front_matter,
)
from aurora.parsers.plain import Cutter
from aurora.text import find_date
from aurora.types import Chunk, Document, Json, Kind

LONGEST = 4000  # characters of a chunk: a screen or two, and what small embedders can read
_WINDOW = 50  # lines of plain text, which has no headings
_UNDATED = "MEMORY.md"  # holds at any time, wherever it lies
_UNDERLINE = 4  # characters: an underline this long counts even if its title is longer


class NotesParser:
    """Splits prose of one language: `markdown`, `restructuredtext` or `text`."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._most_lines = _WINDOW if language == "text" else None

    def parse(self, document: Document) -> Parsed:
        return Parsed(tuple(self._chunks(document.path, document.text)))

    def _chunks(self, path: str, text: str) -> Iterator[Chunk]:
        lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
        matter, headings = _read_structure(lines, self._language)
        ids, file = Ids(path), PurePosixPath(path).name
        date = None if file == _UNDATED else find_date(path) or matter.date
        metadata: dict[str, Json] = {"source": "note"}
        if matter.title:
            metadata["title"] = matter.title
        if matter.tags:
            metadata["tags"] = list(matter.tags)
        for own_titles, start, end in _find_sections(lines, headings, matter.end):
            titles = own_titles or list(filter(None, [matter.title]))
            cutter = Cutter(longest=LONGEST, most_lines=self._most_lines)
            windows = cutter.cut(lines[start:end], first=start + 1)
            for number, window in enumerate(windows, start=1):
                name = " > ".join(own_titles) + (f"@{number}" if number > 1 else "")
                yield Chunk(
                    id=ids.make(name if own_titles else "text"),
                    kind=Kind.KNOWLEDGE,
                    name=titles[-1] if titles else file,
                    content=window.content,
                    qualified_name=" > ".join(titles),
                    path=path,
                    lines=window.lines,
                    language=self._language,
                    created_at=date,
                    metadata=metadata,
                )


def find_title(text: str, language: str) -> str:
    """Return the title of a note: that of its front matter, or its first heading."""
    matter, headings = _read_structure(text.split("\n"), language)
    return matter.title or next((heading.text for heading in headings if heading.text), "")


def _read_structure(lines: Sequence[str], language: str) -> tuple[FrontMatter, Iterator[Heading]]:
    if language == "markdown":
        matter = read_front_matter(lines)
        return matter, find_headings(lines, matter.end)
    return FrontMatter(), _find_titles(lines) if language == "restructuredtext" else iter(())


def _find_sections(
    lines: Sequence[str], headings: Iterable[Heading], after_matter: int
) -> Iterator[tuple[list[str], int, int]]:
    """Yield the titles, first and end line of sections, which cover every line."""
    above: list[Heading] = []  # the headings of the current section, outermost first
    first, text, level = 0, after_matter, 0
    for heading in headings:
        bare = level < heading.level and not any(map(str.strip, lines[text : heading.first]))
        if not bare:
            yield [outer.text for outer in above if outer.text], first, heading.first
            first = heading.first
        above = [outer for outer in above if outer.level < heading.level] + [heading]
        text, level = heading.after, heading.level
    yield [outer.text for outer in above if outer.text], first, len(lines)


# Section titles of reStructuredText: underlined, or with a line above and below


def _find_titles(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield all titles. The style that appears first is the highest level."""
    styles: list[tuple[str, bool]] = []
    at, may_begin = 0, True  # a title cannot begin inside a paragraph
    while at < len(lines):
        height = _title_height(lines, at) if may_begin else 0
        if not height:
            may_begin = not lines[at].strip() or lines[at].startswith("..")
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
    """The number of lines of the title that begins here; 0 without a title."""
    first, second, third = (line.rstrip() for line in (*lines[at : at + 3], "", "", "")[:3])
    if _is_adornment(first):
        closed = third == first and second.strip() and not _is_adornment(second)
        return 3 if closed and len(first) >= min(len(second.strip()), _UNDERLINE) else 0
    underlined = first and not first[0].isspace() and _is_adornment(second)
    return 2 if underlined and len(second) >= min(len(first), _UNDERLINE) else 0


def _is_adornment(line: str) -> bool:
    return bool(line) and line[0] in punctuation and line == line[0] * len(line)
