"""Labelled questions: a set is a folder of documents, questions, and which answers which.

    corpus.jsonl(.gz)   `id`, `text`; optional `title`, `path`, `lang`, `group`, `date`, …
    queries.jsonl       `id`, `text`; optional `group`, `category`
    qrels.tsv           a header, then query, document and grade, between tabs

A question is asked only inside its group. A grade above 0 marks an answer. Errors name the line.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from aurora.errors import SourceError
from aurora.text import pluralize
from aurora.types import Json


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, for error messages."""

    file: Path
    number: int

    def wrong(self, what: str, hint: str) -> SourceError:
        return SourceError(f"{self.file}, line {self.number}: {what}", hint=hint)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of JSON: an object."""

    line: Line
    fields: dict[str, Json]

    def word(self, name: str) -> str:
        """A field as text, also if it is a number, as ids often are."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.line.wrong(f"`{name}` is {_kind(value)}", f"make `{name}` a text")
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            hint = "write it as UTF-8, without half of a surrogate pair"
            raise self.line.wrong(f"`{name}` is not text", hint) from exc
        return text

    def required(self, name: str) -> str:
        if name not in self.fields:
            hint = f'each line needs `{name}`, such as {{"id": "1", "text": "…"}}'
            raise self.line.wrong(f"there is no `{name}`", hint)
        return self.word(name)


def read_records(file: Path) -> Iterator[Record]:
    """The objects of a file, which may be compressed by gzip. Empty lines are skipped."""
    for line, text in read_lines(file):
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as exc:  # a thousand brackets are too deep
            hint = "a line is one JSON object; `jq -c . FILE` writes such lines"
            raise line.wrong(f"is not JSON: {exc}", hint) from exc
        if not isinstance(fields, dict):
            raise line.wrong(f"is {_kind(fields)}", "a line is one JSON object: {…}")
        yield Record(line, fields)


def read_lines(file: Path) -> Iterator[tuple[Line, str]]:
    """The lines that are not empty, with their numbers."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rb") as lines:
            for number, content in enumerate(lines, start=1):
                line = Line(file, number)
                if text := _decoded(content, line):
                    yield line, text
    except FileNotFoundError as exc:
        hint = "a set has corpus.jsonl (or .gz), queries.jsonl and qrels.tsv"
        raise SourceError(f"There is no {file}", hint=hint) from exc
    except (OSError, EOFError, zlib.error) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise SourceError(f"{file} cannot be read: {reason}", hint="is it whole?") from exc


def _decoded(content: bytes, line: Line) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as exc:
        raise line.wrong("is not UTF-8", "write the file as UTF-8") from exc
    return text.removeprefix("\ufeff").rstrip("\r\n") if text.strip("\ufeff \t\r\n") else ""


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", str: "a text"}
    return names.get(type(value), "nothing" if value is None else "a number")


ABOUT = ("session", "speaker", "seq", "date")  # fields that become metadata
_SEED = 0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item:
    """A document of the corpus."""

    id: str
    text: str
    title: str = ""
    path: str = ""
    language: str = ""
    group: str = ""
    about: Mapping[str, Json] = field(default_factory=dict)

    @property
    def date(self) -> datetime | None:
        """The date, in UTC if it has no zone; None if it cannot be read."""
        try:
            date = datetime.fromisoformat(str(self.about["date"]))
        except (KeyError, ValueError):
            return None
        return date if date.tzinfo else date.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the grades of its judged documents."""

    id: str
    text: str
    grades: Mapping[str, float]
    group: str = ""
    category: str = ""


class Group(NamedTuple):
    """Documents, and the questions that are asked of these documents only."""

    items: Sequence[Item]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The content of a set's folder, and warnings about it."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    warnings: tuple[str, ...] = ()

    def draw(self, most: int) -> LabelledSet:
        """The set with at most so many questions: a fixed sample, in order."""
        if len(self.questions) <= most:
            return self
        places = random.Random(_SEED).sample(range(len(self.questions)), most)  # noqa: S311
        return replace(self, questions=tuple(self.questions[at] for at in sorted(places)))

    def by_group(self) -> Iterator[Group]:
        """The documents and the questions of each group with questions."""
        items: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            items[item.group].append(item)
        questions: dict[str, list[Question]] = defaultdict(list)
        for question in self.questions:
            questions[question.group].append(question)
        return (Group(items[group], members) for group, members in questions.items())


def read_set(folder: Path) -> LabelledSet:
    """Read and check a set. Questions without an answer are left out."""
    if not folder.is_dir():
        hint = "name a folder with corpus.jsonl (or .gz), queries.jsonl and qrels.tsv"
        raise SourceError(f"There is no folder {folder}", hint=hint)
    plain = folder / "corpus.jsonl"
    items = _read(plain if plain.exists() else folder / "corpus.jsonl.gz", _item)
    grades = _read_grades(folder / "qrels.tsv")
    queries = _read(folder / "queries.jsonl", lambda record: _question(record, grades))
    questions = [query for query in queries.values() if any(g > 0 for g in query.grades.values())]
    if not questions:
        hint = "the first column of qrels.tsv has ids of queries.jsonl, the third grades above 0"
        raise SourceError(f"No question of {folder} has an answer", hint=hint)
    _require_groups(folder, items, questions)
    warnings = tuple(_warnings(items, questions, grades.keys() - queries.keys()))
    return LabelledSet(folder.resolve().name, tuple(items.values()), tuple(questions), warnings)


def _read(file: Path, make: Callable[[Record], T]) -> dict[str, T]:
    values: dict[str, T] = {}
    lines: dict[str, int] = {}
    for record in read_records(file):
        id_ = record.required("id")
        if not id_.strip():
            raise record.line.wrong("the `id` is empty", "give each line an id of its own")
        if id_ in values:
            message = f"the id {id_!r} is that of line {lines[id_]}, too"
            raise record.line.wrong(message, "give each line an id of its own")
        values[id_], lines[id_] = make(record), record.line.number
    return values


def _item(record: Record) -> Item:
    fields = record.fields
    return Item(
        record.required("id"),
        record.required("text"),
        record.word("title"),
        record.word("path"),
        record.word("lang").lower(),
        record.word("group"),
        {name: fields[name] for name in ABOUT if fields.get(name) is not None},
    )


def _question(record: Record, grades: Mapping[str, Mapping[str, float]]) -> Question:
    id_, text = record.required("id"), record.required("text")
    if not text.strip():
        raise record.line.wrong("the question is empty", "write what is asked, or leave it out")
    return Question(id_, text, grades.get(id_, {}), record.word("group"), record.word("category"))


def _require_groups(folder: Path, items: Mapping[str, Item], questions: Sequence[Question]) -> None:
    groups = {item.group for item in items.values()}
    for question in questions:
        if question.group not in groups:
            group = f"the group {question.group!r}" if question.group else "no group"
            raise SourceError(
                f"The question {question.id!r} of {folder} has {group}, and no document has",
                hint="give both the same `group`, or none",
            )


def _warnings(
    items: Mapping[str, Item], questions: Sequence[Question], unasked: Collection[str]
) -> Iterator[str]:
    """Problems that lower the measured quality."""
    judged = [(question, document) for question in questions for document in question.grades]
    gone = sum(document not in items for _, document in judged)
    apart = sum(document in items and items[document].group != q.group for q, document in judged)
    if gone:
        yield f"{pluralize(gone, 'judgement')} of missing documents: no search can find them"
    if apart:
        yield f"{pluralize(apart, 'judgement')} across groups: no search can find the documents"
    if unasked:
        yield f"{pluralize(len(unasked), 'question')} of qrels.tsv missing in queries.jsonl"


def _read_grades(file: Path) -> dict[str, dict[str, float]]:
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for number, (line, text) in enumerate(read_lines(file)):
        fields = text.split("\t")
        if len(fields) < 3:
            hint = "write query, document and grade with a tab between them"
            raise line.wrong(f"{text!r} has fewer than three fields", hint)
        query, document, grade = fields[0], fields[1], _grade(fields[2])
        if number == 0:
            if grade is not None:
                hint = "begin the file with the line query-id, corpus-id, grade"
                raise line.wrong("is not a header", hint)
            continue
        if grade is None:
            raise line.wrong(
                f"{fields[2]!r} is not a grade", "write a number: above 0 is an answer"
            )
        if grades[query].setdefault(document, grade) != grade:
            hint = "judge each document once for a question"
            raise line.wrong(f"{document!r} has another grade for {query!r} above", hint)
    return dict(grades)


def _grade(text: str) -> float | None:
    try:
        grade = float(text)
    except ValueError:
        return None
    return grade if math.isfinite(grade) else None
