"""Lines of JSON and of tab-separated values, from people: what is wrong is told by its line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aurora.errors import SourceError
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
