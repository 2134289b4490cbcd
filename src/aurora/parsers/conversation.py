"""Conversation logs into the phases they went through (seed 000, FR-3 and 6.5).

A log is read line by line and never held whole: one piece of one phase at a time (Q3).

The header (topic, date, query) stands at the top of the first phase's chunk, so that it is found
and a log of nine phases gives nine chunks; a longer text before the first phase is a chunk of its
own. A heading that is almost a phase starts none: its text stays where it is. So does a heading in
a code block. A log without phases is one chunk, and what its header does not tell is taken from
the name of the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.markdown import (
    Fence,
    find_date,
    find_headings,
    read_front_matter,
    read_heading,
    without_date,
)
from aurora.parsers.plain import Cutter, Window
from aurora.types import Chunk, Document, Kind

_LONGEST = 16_000  # characters of a chunk; a whole log has about 10,000 (seed 000, 7.2)
_HEADER = 1000  # characters before the first phase that may stand in its chunk
_LONGEST_FIELD = 1000  # characters kept of a query

_PHASE = re.compile(r"Phase\s+([0-9]{1,4})(?:\s*:\s*(.*)|\s+[-–—]\s+(.*))?", re.IGNORECASE)
_TOPIC = re.compile(r"Conversation\s*:\s*(.*)", re.IGNORECASE)
_FIELD = re.compile(r"[*_ ]{0,5}([A-Za-z][\w -]{0,30}?)[*_]{0,2}:[*_]{0,2}(?:\s+(.*))?$")
_KEPT = re.compile(r"(?:^|/)logs/conversations/([0-9]{4})/([0-9]{2})/[^/]+\.md$")
_LIKE_AN_ID = re.compile(r"(?:-phase|#)[0-9]+$")


def is_conversation(document: Document) -> bool:
    """True for a log where logs are kept, and for one that begins with `# Conversation:`."""
    if _KEPT.search(document.path):
        return True
    lines = document.text.removeprefix("\ufeff").split("\n")
    first = next(find_headings(lines, read_front_matter(lines).end), None)
    return first is not None and first.level == 1 and _TOPIC.match(first.text) is not None


class ConversationParser:
    """Cuts conversation logs. `source_file` is the path the memory knows the log by."""

    def parse(self, document: Document) -> Parsed:
        return Parsed(tuple(iter_chunks(document.path, io.StringIO(document.text, newline="\n"))))


def iter_chunks(path: str, lines: Iterable[str]) -> Iterator[Chunk]:
    """The chunks of a log of any size, each as soon as its last line was read."""
    return _Reading(path).chunks(lines)


@dataclass(frozen=True, slots=True)
class _Phase:
    number: int
    name: str


class _Header:
    """Topic, date and query: from the lines at the top of a log, or from the name of its file."""

    def __init__(self, path: str) -> None:
        stem = PurePosixPath(path).stem
        self.topic = without_date(stem)
        self.date = find_date(stem)  # of the file name alone: folders are not named by the log
        self.query = ""
        self._open, self._field = True, ""

    def read(self, line: str) -> None:
        """Take in one line; the first that is neither title nor field nor blank ends the header."""
        if not self._open:
            return
        line = line.strip()
        heading, field = read_heading(line), _FIELD.match(line)
        if heading is not None:
            self._read_title(*heading)
        elif field is not None:
            self._field = field[1].lower()
            self._read_field(field[2] or "")
        elif line.strip("-") and self._field == "query":
            self._read_field(line)  # goes on from the line above
        elif line.strip("-"):
            self._open = bool(self._field)
        else:  # blank, or a rule
            self._field = ""

    def _read_title(self, level: int, text: str) -> None:
        title = _TOPIC.fullmatch(text)
        self._open = level == 1
        if title and title[1]:
            self.topic = title[1]

    def _read_field(self, value: str) -> None:
        if self._field == "date":
            self.date = self.date or find_date(value)
        elif self._field == "query":
            self.query = f"{self.query} {value}"[:_LONGEST_FIELD].strip()


class _Reading:
    """One log being read."""

    def __init__(self, path: str) -> None:
        self._path, self._header = path, _Header(path)
        self._ids, self._id = Ids(path), _log_id(path, self._header.date)
        self._cutter, self._fence = Cutter(longest=_LONGEST), Fence()
        self._phase: _Phase | None = None
        self._begun = False  # some chunk was given already

    def chunks(self, lines: Iterable[str]) -> Iterator[Chunk]:
        for number, raw in enumerate(lines, start=1):
            line = raw.removesuffix("\n")
            line = line.removeprefix("\ufeff") if number == 1 else line
            phase = None if self._fence.covers(line) else _read_phase(line)
            if phase is not None:
                if self._phase is not None or self._begun or self._cutter.size > _HEADER:
                    yield from self._made(self._cutter.rest())
                self._phase = phase
            elif self._phase is None:
                self._header.read(line)
            if full := self._cutter.add(number, line):
                yield from self._made(full)
        yield from self._made(self._cutter.rest())

    def _made(self, windows: Iterable[Window]) -> Iterator[Chunk]:
        for window in windows:
            self._begun = True
            yield self._chunk(window)

    def _chunk(self, window: Window) -> Chunk:
        header, phase = self._header, self._phase
        phase_name = phase.name if phase else ""
        return Chunk(
            id=self._ids.number(f"{self._id}-phase{phase.number}" if phase else self._id),
            kind=Kind.KNOWLEDGE,
            name=phase_name or header.topic,
            content=window.content,
            qualified_name=f"{header.topic}.{phase_name}" if phase_name else header.topic,
            path=self._path,
            lines=window.lines,
            language="markdown",
            created_at=header.date,
            metadata={
                "source": "conversation",
                "source_file": self._path,
                "phase_number": phase.number if phase else None,
                "phase_name": phase_name or None,
                "conversation_date": header.date.date().isoformat() if header.date else None,
                "query": header.query or None,
                "topic": header.topic,
            },
        )


def _read_phase(line: str) -> _Phase | None:
    heading = read_heading(line)
    if heading is None or heading[0] != 2:
        return None
    found = _PHASE.fullmatch(heading[1])
    return _Phase(int(found[1]), found[2] or found[3] or "") if found else None


def _log_id(path: str, date: datetime | None) -> str:
    """`conv-` and the file's name, where no other log can have the same.

    That is a log in the folder of its own month, or at the top of a project. Any other has its
    folder in front, as the ids of code have their path: two folders may hold a `session.md`.
    """
    file = PurePosixPath(path)
    # `a-phase1.md` must not take the id of the first phase of `a.md`
    name = file.name if _LIKE_AN_ID.search(file.stem) else file.name.removesuffix(".md")
    kept = _KEPT.search(path)
    if kept is None:
        folder = file.parent.as_posix().rstrip("/")
        return f"conv-{name}" if folder in ("", ".") else f"{folder}/conv-{name}"
    own_month = date is not None and f"{date:%Y/%m}" == f"{kept[1]}/{kept[2]}"
    return f"conv-{name}" if own_month else f"{kept[1]}/{kept[2]}/conv-{name}"
