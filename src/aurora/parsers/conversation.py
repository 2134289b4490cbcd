"""Splits conversation logs into their phases.

A log is read line by line; only one piece of one phase is in memory at a time. The header (topic,
date, query) belongs to the first phase's chunk; a longer text before the first phase is a chunk of
its own. A heading that is not exactly a phase, or stands in a code block, starts none. A log
without phases is one chunk. Facts that the header does not state come from the file name.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import PurePosixPath

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.markdown import Fence, find_headings, read_front_matter, read_heading
from aurora.parsers.plain import Cutter, Window
from aurora.text import find_date
from aurora.types import Chunk, Document, Kind

_LONGEST = 16_000  # characters of a chunk; a whole log has about 10,000
_HEADER = 1000  # characters before the first phase that may join its chunk
_LONGEST_FIELD = 1000  # characters kept of a query

_PHASE = re.compile(r"Phase\s+([0-9]{1,4})(?:\s*:\s*(.*)|\s+[-–—]\s+(.*))?", re.IGNORECASE)
_TOPIC = re.compile(r"Conversation\s*:\s*(.*)", re.IGNORECASE)
_FIELD = re.compile(r"[*_ ]{0,5}([A-Za-z][\w -]{0,30}?)[*_]{0,2}:[*_]{0,2}(?:\s+(.*))?$")
_LOG_PATH = re.compile(r"(?:^|/)logs/conversations/([0-9]{4})/([0-9]{2})/[^/]+\.md$")
_LIKE_AN_ID = re.compile(r"(?:-phase|#)[0-9]+$")


def is_conversation(document: Document) -> bool:
    """True for a document in the folder of logs, or with a first heading `# Conversation:`."""
    if _LOG_PATH.search(document.path):
        return True
    lines = document.text.removeprefix("\ufeff").split("\n")
    first = next(find_headings(lines, read_front_matter(lines).end), None)
    return first is not None and first.level == 1 and _TOPIC.match(first.text) is not None


class KnowledgeParser:
    """Splits conversation logs."""

    def parse(self, document: Document) -> Parsed:
        return Parsed(tuple(iter_chunks(document.path, io.StringIO(document.text, newline="\n"))))


def iter_chunks(path: str, lines: Iterable[str]) -> Iterator[Chunk]:
    """Yield the chunks of a log of any size, each as soon as its last line is read."""
    return _LogReader(path).chunks(lines)


def without_date(text: str) -> str:
    """Remove the date from a file name: `auth-2025-12-15` becomes `auth`. A bare date stays."""
    date = find_date(text)
    if date is None:
        return text
    before, _, after = text.rpartition(date.date().isoformat())
    return "-".join(filter(None, (before.rstrip("-_ ."), after.lstrip("-_ .")))) or text


class _Header:
    """Topic, date and query, from the first lines of a log or from its file name."""

    def __init__(self, path: str) -> None:
        stem = PurePosixPath(path).stem
        self.topic = without_date(stem)
        self.date = find_date(stem)  # of the file name only, not of its folders
        self.query = ""
        self._open, self._field = True, ""

    def read(self, line: str) -> None:
        """Read one line. The first that is neither title nor field nor blank ends the header."""
        if not self._open:
            return
        line = line.strip()
        heading, field = read_heading(line), _FIELD.match(line)
        if heading is not None:
            title = _TOPIC.fullmatch(heading[1])
            self._open = heading[0] == 1
            self.topic = title[1] if title and title[1] else self.topic
        elif field is not None:
            self._field = field[1].lower()
            self._read_field(field[2] or "")
        elif line.strip("-") and self._field == "query":
            self._read_field(line)  # continues the line above
        elif line.strip("-"):
            self._open = bool(self._field)
        else:  # blank, or a rule
            self._field = ""

    def _read_field(self, value: str) -> None:
        if self._field == "date":
            self.date = self.date or find_date(value)
        elif self._field == "query":
            self.query = f"{self.query} {value}"[:_LONGEST_FIELD].strip()


class _LogReader:
    """Reads one log."""

    def __init__(self, path: str) -> None:
        self._path, self._header = path, _Header(path)
        self._ids, self._id = Ids(path), _log_id(path, self._header.date)
        self._cutter, self._fence = Cutter(longest=_LONGEST), Fence()
        self._phase: tuple[int, str] | None = None
        self._has_chunks = False

    def chunks(self, lines: Iterable[str]) -> Iterator[Chunk]:
        for number, raw in enumerate(lines, start=1):
            line = raw.removesuffix("\n")
            line = line.removeprefix("\ufeff") if number == 1 else line
            phase = None if self._fence.covers(line) else _read_phase(line)
            if phase is not None:
                if self._phase is not None or self._has_chunks or self._cutter.size > _HEADER:
                    yield from map(self._chunk, self._cutter.rest())
                self._phase = phase
            elif self._phase is None:
                self._header.read(line)
            yield from map(self._chunk, self._cutter.add(number, line))
        yield from map(self._chunk, self._cutter.rest())

    def _chunk(self, window: Window) -> Chunk:
        self._has_chunks, header = True, self._header
        number, phase_name = self._phase or (None, "")
        return Chunk(
            id=self._ids.number(self._id if number is None else f"{self._id}-phase{number}"),
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
                "phase_number": number,
                "phase_name": phase_name or None,
                "conversation_date": header.date.date().isoformat() if header.date else None,
                "query": header.query or None,
                "topic": header.topic,
            },
        )


def _read_phase(line: str) -> tuple[int, str] | None:
    """Number and name of the phase that a line starts."""
    heading = read_heading(line)
    if heading is None or heading[0] != 2:
        return None
    match = _PHASE.fullmatch(heading[1])
    return (int(match[1]), match[2] or match[3] or "") if match else None


def _log_id(path: str, date: datetime | None) -> str:
    """Return `conv-` and the file's name for a log in the folder of its month or at the top of a
    project. Other logs have their folder in front: two folders may hold a `session.md`."""
    file = PurePosixPath(path)
    # `a-phase1.md` must not get the id of the first phase of `a.md`.
    name = file.name if _LIKE_AN_ID.search(file.stem) else file.name.removesuffix(".md")
    match = _LOG_PATH.search(path)
    if match is None:
        folder = file.parent.as_posix().rstrip("/")
        return f"conv-{name}" if folder in ("", ".") else f"{folder}/conv-{name}"
    own_month = date is not None and f"{date:%Y/%m}" == f"{match[1]}/{match[2]}"
    return f"conv-{name}" if own_month else f"{match[1]}/{match[2]}/conv-{name}"
