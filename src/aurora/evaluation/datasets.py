"""Labelled questions: a set is a folder of documents, questions, and which answers which.

    corpus.jsonl(.gz)   `id`, `text`; optional `title`, `path`, `lang`, `group`, `date`, …
    queries.jsonl       `id`, `text`; optional `group`, `category`
    qrels.tsv           a header, then query, document and grade, between tabs

A question is asked only inside its group. Grades above 0 are answers; a document that nobody judged
is none.

Lines of JSON and of tab-separated values, from people: what is wrong is told by its line.
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
    """Where something stands, for whoever has to mend it."""

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
        """A field as text; numbers are text, too, for ids are often numbers."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.line.wrong(f"`{name}` is {_kind(value)}", f"make `{name}` a text")
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            hint = "write it as UTF-8: half of a character is none"
            raise self.line.wrong(f"`{name}` is not text", hint) from exc
        return text

    def required(self, name: str) -> str:
        if name not in self.fields:
            hint = f'each line needs `{name}`, such as {{"id": "1", "text": "…"}}'
            raise self.line.wrong(f"there is no `{name}`", hint)
        return self.word(name)


def read_records(file: Path) -> Iterator[Record]:
    """The objects of a file, packed by gzip or not. Empty lines say nothing."""
    for line, text in read_lines(file):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as exc:  # a thousand brackets are too deep
            hint = "a line is one JSON object; `jq -c . FILE` writes such lines"
            raise line.wrong(f"is no JSON: {exc}", hint) from exc
        if not isinstance(found, dict):
            raise line.wrong(f"is {_kind(found)}", "a line is one JSON object: {…}")
        yield Record(line, found)


def read_lines(file: Path) -> Iterator[tuple[Line, str]]:
    """Lines that hold something, with their numbers."""
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


ABOUT = ("session", "speaker", "seq", "date")  # what is kept of a document beside its text
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
        """As far as it can be read; without a zone it is that of Greenwich."""
        try:
            found = datetime.fromisoformat(str(self.about["date"]))
        except (KeyError, ValueError):
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the grades of the documents that were judged for it."""

    id: str
    text: str
    grades: Mapping[str, float]
    group: str = ""
    category: str = ""


class Group(NamedTuple):
    """Documents and the questions that are asked of them alone."""

    items: Sequence[Item]
    questions: Sequence[Asked]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """What a folder holds, and what in it is odd."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Asked, ...]
    warnings: tuple[str, ...] = ()

    def draw(self, most: int) -> LabelledSet:
        """The same set with no more questions than so many, always the same ones, in order."""
        if len(self.questions) <= most:
            return self
        places = random.Random(_SEED).sample(range(len(self.questions)), most)  # noqa: S311
        return replace(self, questions=tuple(self.questions[at] for at in sorted(places)))

    def by_group(self) -> Iterator[Group]:
        """The documents and the questions of each group that is asked about."""
        items: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            items[item.group].append(item)
        questions: dict[str, list[Asked]] = defaultdict(list)
        for question in self.questions:
            questions[question.group].append(question)
        return (Group(items[group], asked) for group, asked in questions.items())


def read_set(folder: Path) -> LabelledSet:
    """Read and check a set. Only questions that have an answer are in it."""
    if not folder.is_dir():
        hint = "name a folder with corpus.jsonl (or .gz), queries.jsonl and qrels.tsv"
        raise SourceError(f"There is no folder {folder}", hint=hint)
    plain = folder / "corpus.jsonl"
    items = _read(plain if plain.exists() else folder / "corpus.jsonl.gz", _item)
    grades = _read_grades(folder / "qrels.tsv")
    queries = _read(folder / "queries.jsonl", lambda record: _question(record, grades))
    asked = [one for one in queries.values() if any(grade > 0 for grade in one.grades.values())]
    if not asked:
        hint = "the first column of qrels.tsv has ids of queries.jsonl, the third grades above 0"
        raise SourceError(f"No question of {folder} has an answer", hint=hint)
    _require_groups(folder, items, asked)
    warnings = tuple(_oddities(items, asked, grades.keys() - queries.keys()))
    return LabelledSet(folder.resolve().name, tuple(items.values()), tuple(asked), warnings)


def _read(file: Path, make: Callable[[Record], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    lines: dict[str, int] = {}
    for record in read_records(file):
        id_ = record.required("id")
        if not id_.strip():
            raise record.line.wrong("the `id` is empty", "give each line an id of its own")
        if id_ in found:
            told = f"the id {id_!r} is that of line {lines[id_]}, too"
            raise record.line.wrong(told, "give each line an id of its own")
        found[id_], lines[id_] = make(record), record.line.number
    return found


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


def _question(record: Record, grades: Mapping[str, Mapping[str, float]]) -> Asked:
    id_, text = record.required("id"), record.required("text")
    if not text.strip():
        raise record.line.wrong("the question is empty", "write what is asked, or leave it out")
    return Asked(id_, text, grades.get(id_, {}), record.word("group"), record.word("category"))


def _require_groups(folder: Path, items: Mapping[str, Item], asked: Sequence[Asked]) -> None:
    groups = {item.group for item in items.values()}
    for question in asked:
        if question.group not in groups:
            group = f"the group {question.group!r}" if question.group else "no group"
            raise SourceError(
                f"The question {question.id!r} of {folder} has {group}, and no document has",
                hint="give both the same `group`, or none",
            )


def _oddities(
    items: Mapping[str, Item], asked: Sequence[Asked], unasked: Collection[str]
) -> Iterator[str]:
    """What a person should know of before believing a number."""
    judged = [(one, document) for one in asked for document in one.grades]
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
            raise line.wrong(f"{text!r} has no three fields", hint)
        query, document, grade = fields[0], fields[1], _grade(fields[2])
        if number == 0:
            if grade is not None:
                hint = "begin the file with the line query-id, corpus-id, grade"
                raise line.wrong("is no header", hint)
            continue
        if grade is None:
            raise line.wrong(f"{fields[2]!r} is no grade", "write a number: above 0 is an answer")
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
