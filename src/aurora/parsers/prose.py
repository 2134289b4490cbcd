"""Prose into sections: Markdown and reStructuredText at their headings, plain text at paragraphs.

A chunk is one heading with the text up to the next one, of whatever level; a section that is too
long becomes several. A heading with nothing below it but a deeper heading stands at the top of that
one's chunk, and so does front matter: alone they would be found and say nothing. Text before the
first heading is a chunk of its own, named after the note. Shorter sections are not merged: what a
chunk is called would then depend on the length of its neighbours.

The section titles of reStructuredText: underlined, or with a line above and below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from string import punctuation

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.markdown import (
    LONGEST_HEADING,
    FrontMatter,
    Heading,
    find_date,
    find_headings,
    read_front_matter,
)
from aurora.parsers.plain import Cutter, Window
from aurora.types import Chunk, Document, Json, Kind

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


LONGEST = 4000  # characters of a chunk: a screen or two, and what small embedders still take in
_WINDOW = 50  # lines of plain text, which has no headings to cut at
_UNDATED = "MEMORY.md"  # what holds at any time, wherever it lies (seed 001)


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of a note, as indexes from `start` up to `end`, below their headings."""

    titles: tuple[str, ...]
    start: int
    end: int


class NotesParser:
    """Cuts prose of one language: `markdown`, `restructuredtext` or `text`."""

    def __init__(self, language: str) -> None:
        self._language = language

    def parse(self, document: Document) -> Parsed:
        lines = document.text.removeprefix("\ufeff").removesuffix("\n").split("\n")
        matter, headings = _look_at(lines, self._language)
        sections = find_sections(lines, headings, matter.end)
        return Parsed(tuple(self._chunks(document.path, lines, sections, matter)))

    def _chunks(
        self, path: str, lines: Sequence[str], sections: Iterable[Section], matter: FrontMatter
    ) -> Iterator[Chunk]:
        ids, date, metadata = Ids(path), _date(path, matter), _metadata(matter)
        for section in sections:
            titles = section.titles or tuple(filter(None, [matter.title]))
            for number, window in enumerate(self._windows(lines, section), start=1):
                yield Chunk(
                    id=ids.make(_name(section, number)),
                    kind=Kind.KNOWLEDGE,
                    name=titles[-1] if titles else PurePosixPath(path).name,
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


def find_title(text: str, language: str) -> str:
    """What a note calls itself: the title of its front matter, or its first heading."""
    matter, headings = _look_at(text.split("\n"), language)
    return matter.title or next((heading.text for heading in headings if heading.text), "")


def _look_at(lines: Sequence[str], language: str) -> tuple[FrontMatter, Iterator[Heading]]:
    if language == "markdown":
        matter = read_front_matter(lines)
        return matter, find_headings(lines, matter.end)
    return FrontMatter(), find_titles(lines) if language == "restructuredtext" else iter(())


def find_sections(
    lines: Sequence[str], headings: Iterable[Heading], start: int = 0
) -> Iterator[Section]:
    """Every line in one section. `start` is the index where front matter ends."""
    above: list[Heading] = []  # the headings of the section being read, outermost first
    first, text, level = 0, start, 0
    for heading in headings:
        bare = level < heading.level and not any(map(str.strip, lines[text : heading.first]))
        if not bare:
            yield Section(_titles(above), first, heading.first)
            first = heading.first
        above = [one for one in above if one.level < heading.level] + [heading]
        text, level = heading.after, heading.level
    yield Section(_titles(above), first, len(lines))


def _titles(headings: Iterable[Heading]) -> tuple[str, ...]:
    return tuple(heading.text for heading in headings if heading.text)


def _name(section: Section, number: int) -> str:
    """A section's further pieces are numbered apart from sections of the same name, as in code."""
    if not section.titles:
        return "text"
    name = " > ".join(section.titles)
    return name if number == 1 else f"{name}@{number}"


def _date(path: str, matter: FrontMatter) -> datetime | None:
    if PurePosixPath(path).name == _UNDATED:
        return None
    return find_date(path) or matter.date


def _metadata(matter: FrontMatter) -> Mapping[str, Json]:
    found: dict[str, Json] = {"source": "note"}
    if matter.title:
        found["title"] = matter.title
    if matter.tags:
        found["tags"] = list(matter.tags)
    return found
