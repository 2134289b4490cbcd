"""Splits prose: Markdown and reStructuredText at their headings, plain text at paragraphs.

A chunk is a heading with the text up to the next heading of any level; a long section becomes
several chunks. A heading directly above a deeper heading belongs to the chunk of that one, and so
does front matter. Text before the first heading is a chunk named after the note. Short sections are
not merged: the name of a chunk would then depend on the length of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from aurora.parsers.plain import Cutter, Window
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

    def parse(self, document: Document) -> Parsed:
        lines = document.text.removeprefix("\ufeff").removesuffix("\n").split("\n")
        matter, headings = _read_structure(lines, self._language)
        sections = find_sections(lines, headings, matter.end)
        return Parsed(tuple(self._chunks(document.path, lines, sections, matter)))

    def _chunks(
        self, path: str, lines: Sequence[str], sections: Iterable[Section], matter: FrontMatter
    ) -> Iterator[Chunk]:
        ids, file = Ids(path), PurePosixPath(path).name
        date = None if file == _UNDATED else find_date(path) or matter.date
        metadata: dict[str, Json] = {"source": "note"}
        if matter.title:
            metadata["title"] = matter.title
        if matter.tags:
            metadata["tags"] = list(matter.tags)
        for section in sections:
            titles = section.titles or tuple(filter(None, [matter.title]))
            for number, window in enumerate(self._windows(lines, section), start=1):
                yield Chunk(
                    id=ids.make(_id_name(section, number)),
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

    def _windows(self, lines: Sequence[str], section: Section) -> Iterator[Window]:
        cutter = Cutter(longest=LONGEST, most_lines=_WINDOW if self._language == "text" else None)
        for at in range(section.start, section.end):
            yield from cutter.add(at + 1, lines[at])
        yield from cutter.rest()


def _id_name(section: Section, number: int) -> str:
    """The name for an id. Further pieces of a section are numbered by `@`, as in code."""
    if not section.titles:
        return "text"
    name = " > ".join(section.titles)
    return name if number == 1 else f"{name}@{number}"


def find_title(text: str, language: str) -> str:
    """Return the title of a note: that of its front matter, or its first heading."""
    matter, headings = _read_structure(text.split("\n"), language)
    return matter.title or next((heading.text for heading in headings if heading.text), "")


def _read_structure(lines: Sequence[str], language: str) -> tuple[FrontMatter, Iterator[Heading]]:
    if language == "markdown":
        matter = read_front_matter(lines)
        return matter, find_headings(lines, matter.end)
    return FrontMatter(), find_titles(lines) if language == "restructuredtext" else iter(())


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of a note with indexes from `start` to before `end`, and their headings."""

    titles: tuple[str, ...]
    start: int
    end: int


def find_sections(
    lines: Sequence[str], headings: Iterable[Heading], start: int = 0
) -> Iterator[Section]:
    """Yield sections that cover every line. `start` is the index after the front matter."""
    above: list[Heading] = []  # the headings of the current section, outermost first
    first, text, level = 0, start, 0
    for heading in headings:
        bare = level < heading.level and not any(map(str.strip, lines[text : heading.first]))
        if not bare:
            yield Section(_titles(above), first, heading.first)
            first = heading.first
        above = [outer for outer in above if outer.level < heading.level] + [heading]
        text, level = heading.after, heading.level
    yield Section(_titles(above), first, len(lines))


def _titles(headings: Iterable[Heading]) -> tuple[str, ...]:
    return tuple(heading.text for heading in headings if heading.text)


# Section titles of reStructuredText: underlined, or with a line above and below


def find_titles(lines: Sequence[str]) -> Iterator[Heading]:
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
