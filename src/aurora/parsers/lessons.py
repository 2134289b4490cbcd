"""Reads the lessons that a team keeps as Markdown files in its repository.

A lesson is a file below a folder `docs/lessons` with `type` and `score` in its front matter. Any
other file there is a note. The files are untrusted text: a bad value makes a note and a problem,
not an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from aurora.parsers.base import Parsed
from aurora.parsers.markdown import find_front_matter, read_heading
from aurora.text import find_date, printable
from aurora.types import (
    PROVENANCE,
    REPLACED_BY,
    REPLACES,
    Chunk,
    Document,
    Json,
    Kind,
    Lines,
)

LESSONS = "docs/lessons"  # beside the other documents, so that a team reads and reviews it
LONGEST_LESSON = 20_000  # characters: a lesson is one chunk
LONGEST_TYPE = 100  # characters
LONGEST_CONTEXT = 2000  # characters
_MOST_TRIES = 1_000_000
_LONGEST_NUMBER = 20  # characters
_MOST_FILES = 8  # that a lesson is about
WRITTEN = ("agent", "model", "person", "branch", "commit")  # of a lesson's provenance
_NAME = 60  # characters of the first line that names a lesson


class TeamLesson(NamedTuple):
    """A lesson as a file holds it. The score is the mean of all tries."""

    text: str
    pattern_type: str
    score: float
    tries: int = 1
    context: str = ""
    date: datetime | None = None
    provenance: Mapping[str, Json] = {}  # as in a chunk's metadata, without the date
    replaces: str = ""  # the file of the lesson that it replaced, from the root of the repository
    replaced_by: str = ""

    @property
    def name(self) -> str:
        first_line = self.text.partition("\n")[0]
        heading = read_heading(first_line)
        return (heading[1] if heading else first_line)[:_NAME].rstrip()


def is_lesson_path(path: str) -> bool:
    """True for a path that may be a lesson: in a memory that projects share it is absolute."""
    return f"/{LESSONS}/" in f"/{path}" and path.lower().endswith(".md")


def read_lesson(text: str) -> TeamLesson | None:
    """The lesson of a file; None without `type` and `score`. ValueError names a bad value."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = find_front_matter(lines)
    values = dict(read_values(lines[1 : end - 1])) if end else {}
    if not {"type", "score"} <= values.keys():
        return None
    body = "\n".join(lines[end:]).strip()
    if not body or len(body) > LONGEST_LESSON:
        raise ValueError(f"a lesson has 1 to {LONGEST_LESSON:,} characters, not {len(body):,}")
    return TeamLesson(
        body,
        _line("type", values["type"], longest=LONGEST_TYPE) or "pattern",
        _number("score", values["score"], most=1.0),
        max(1, int(_number("tries", values.get("tries", "1"), most=_MOST_TRIES))),
        _line("context", values.get("context", ""), longest=LONGEST_CONTEXT),
        find_date(values.get("date", "")),
        _read_provenance(values),
        _line("replaces", values.get("replaces", ""), longest=LONGEST_CONTEXT),
        _line("replaced_by", values.get("replaced_by", ""), longest=LONGEST_CONTEXT),
    )


def _read_provenance(values: Mapping[str, str]) -> dict[str, Json]:
    """Who wrote a lesson, where, and about which files, as far as the front matter says it."""
    facts: dict[str, Json] = {
        key: _line(key, values[key], longest=LONGEST_CONTEXT) for key in WRITTEN if key in values
    }
    if files := values.get("about", ""):
        facts["files"] = _read_list(files)
    return facts


def _read_list(written: str) -> list[Json]:
    """Files between brackets as YAML and JSON write them, or one file."""
    try:
        listed = json.loads(written) if written.startswith("[") else [written.strip("\"'")]
    except ValueError as exc:
        raise ValueError('about is not a list of files, such as ["src/app.py"]') from exc
    if len(listed) > _MOST_FILES or not all(isinstance(file, str) for file in listed):
        raise ValueError(f"about is not a list of at most {_MOST_FILES} files")
    return [_line("about", file, longest=LONGEST_CONTEXT) for file in listed]


def read_values(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The keys of front matter in small letters, with what is written behind them."""
    pairs = (line.partition(":") for line in lines if not line[:1].isspace())
    return [(key.strip().lower(), value.strip()) for key, colon, value in pairs if colon]


def _line(key: str, written: str, *, longest: int) -> str:
    """One line of text. A text in double quotes is read as JSON, which YAML reads alike."""
    if len(written) > 2 * longest + 2:  # quotes are escaped
        raise ValueError(f"{key} has more than {longest:,} characters")
    try:
        value = json.loads(written) if written.startswith('"') else written.strip("'")
    except ValueError:
        value = written.strip('"')
    if printable(value) != value or len(value) > longest:
        raise ValueError(f"{key} is not one line of at most {longest:,} characters")
    return str(value).strip()


def _number(key: str, written: str, *, most: float) -> float:
    try:
        number = float(written) if len(written) <= _LONGEST_NUMBER else -1.0
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= most:
        shown = printable(written[:_LONGEST_NUMBER])
        raise ValueError(f"{key} is {shown!r}, not a number from 0 to {most:g}")
    return number


def parse_lesson(document: Document) -> tuple[Parsed | None, str]:
    """The one chunk of a lesson, or None for a note; and a problem, if the file has one."""
    try:
        lesson = read_lesson(document.text)
    except ValueError as exc:
        return None, f"{document.path}: {exc}; read as a note, not as a lesson"
    if lesson is None:
        return None, ""
    metadata: dict[str, Json] = {
        "source": "reasoning",
        "pattern_type": lesson.pattern_type,
        "score": lesson.score,
        "tries": lesson.tries,
    }
    if lesson.provenance:
        metadata[PROVENANCE] = dict(lesson.provenance)
    if lesson.replaces:
        metadata[REPLACES] = [f"{lesson.replaces}:lesson"]
    if lesson.replaced_by:
        metadata[REPLACED_BY] = f"{lesson.replaced_by}:lesson"
    chunk = Chunk(
        id=f"{document.path}:lesson",
        kind=Kind.REASONING,
        name=lesson.name,
        content=f"{lesson.text}\n\n{lesson.context}" if lesson.context else lesson.text,
        path=document.path,
        lines=Lines(1, document.text.rstrip().count("\n") + 1),
        language="markdown",
        created_at=lesson.date or find_date(document.path),
        metadata=metadata,
    )
    return Parsed((chunk,)), ""
