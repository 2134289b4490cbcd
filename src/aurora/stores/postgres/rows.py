"""Converts rows of the PostgreSQL tables to values and back, and chunks to their words.

PostgreSQL has no NUL in texts. It is written as `MARK` and `0`, where `MARK` is not a character of
any script, and a `MARK` in a text as `MARK` and `1`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain, compress, islice, repeat
from typing import Any, NamedTuple
from unicodedata import is_normalized
from zlib import crc32

import psycopg
from psycopg.adapt import AdaptersMap, Loader
from psycopg.types.json import Json as Json_
from psycopg.types.string import StrDumper

from aurora.errors import StoreFormatError
from aurora.lazy_patterns import lazy_pattern
from aurora.stores.base import FileState, Reasoning
from aurora.stores.matching import READ_AT, chunk_of
from aurora.stores.shared import Row
from aurora.text import (
    MAX_TOKEN,
    SHORTEST,
    SUMMARY_TIMES,
    chunk_labels,
    chunk_summary,
    document_terms,
    fold_name,
    has_cjk,
    indexed_name,
    name_times,
    tokenize,
)
from aurora.types import Chunk, ChunkHistory, Json, Tracking

MARK = "\ufdd0"
_NUL, _ITSELF = f"{MARK}0", f"{MARK}1"


def hide(text: str) -> str:
    """A text as it is written to the database."""
    if "\0" not in text and MARK not in text:
        return text
    return text.replace(MARK, _ITSELF).replace("\0", _NUL)


def show(text: str) -> str:
    """A text from the database as it was before `hide`."""
    if MARK not in text:
        return text
    return text.replace(_NUL, "\0").replace(_ITSELF, MARK)


class _HidingDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(hide(obj))


class _ShowingLoader(Loader):
    def load(self, data: Any) -> str:
        return show(str(data, "utf-8"))


ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(str, _HidingDumper)
ADAPTERS.register_loader("text", _ShowingLoader)


# Columns as they are read. Python parses the JSON that it wrote.
COLUMNS = (
    "id, kind, name, qualified_name, path, start_line, end_line, language, content, namespace, "
    "document_type, created_at, metadata::text"
)
_VALUES = 13  # of COLUMNS
WRITTEN = {
    "id": "text", "namespace": "text", "kind": "text", "name": "text", "folded_name": "text",
    "qualified_name": "text", "path": "text", "start_line": "bigint", "end_line": "bigint",
    "language": "text", "content": "text", "document_type": "text", "created_at": "timestamptz",
    "metadata": "jsonb", "has_cjk": "boolean", "is_found": "boolean",
}  # fmt: skip
_EXPONENT = 1e16  # larger floats are written with an exponent
_FLOAT = re.compile(f'"{MARK}f([^"]*)"')


def chunk_values(chunk: Chunk) -> dict[str, object]:
    """The values of WRITTEN."""
    start, end = chunk.lines or (None, None)
    return {
        "id": chunk.id, "namespace": chunk.namespace, "kind": str(chunk.kind),
        "name": chunk.name, "folded_name": fold_name(chunk.name),
        "qualified_name": chunk.qualified_name, "path": chunk.path,
        "start_line": start, "end_line": end, "language": chunk.language,
        "content": chunk.content, "document_type": chunk.document_type,
        "created_at": chunk.created_at,
        "metadata": dict(chunk.metadata),
        "has_cjk": has_cjk(chunk.name) or has_cjk(chunk.content),
        "is_found": not chunk.is_replaced,
    }  # fmt: skip


def as_json(rows: Iterable[Mapping[str, object]]) -> Json_:
    """Many rows as one JSON value."""
    return Json_(json_text(list(rows)), lambda text: str(text).encode())


def json_text(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, default=datetime.isoformat)
    if "\\u0000" in written or MARK in written or "e+" in written:
        value = _writable(value)
        written = json.dumps(value, ensure_ascii=False, default=datetime.isoformat)
        written = _FLOAT.sub(r"\1", written)
    return written


def _writable(value: Any) -> Any:
    """Hide all texts. Large floats become texts of all digits, whose quotes `as_json` removes: the
    server turns floats like 1e+16 into integers, which would be other values when read."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, float) and abs(value) >= _EXPONENT:
        return f"{MARK}f{value:.1f}"
    if isinstance(value, list):
        return list(map(_writable, value))
    if isinstance(value, dict):
        return {hide(key): _writable(item) for key, item in value.items()}
    return value


def read_metadata(written: str) -> dict[str, Json]:
    read: dict[str, Json] = json.loads(written, strict=False) if written != "{}" else {}
    return read


def chunk_from(row: Row) -> Chunk:
    """A chunk from a row that starts with COLUMNS."""
    *columns, created_at, metadata = row[:_VALUES]
    try:
        return chunk_of(columns, _if_any(created_at), read_metadata(metadata))
    except (ValueError, TypeError) as exc:  # Aurora never writes such a row
        raise StoreFormatError(
            f"The chunk {row[0]!r} is damaged: {exc}", hint="`aur doctor` looks for more damage"
        ) from exc


def reasoning_from(row: Row) -> Reasoning:
    pattern_type, success_score, usage_count, created_at = row
    return Reasoning(pattern_type, success_score, usage_count, moment(created_at))


def history_from(row: Row) -> ChunkHistory:
    tracking, commits, uncommitted, read_at = row
    return ChunkHistory(Tracking(tracking), tuple(commits), uncommitted, _if_any(read_at))


def file_state_from(row: Row) -> FileState:
    values = list(row)
    values[READ_AT] = _if_any(values[READ_AT])
    return FileState(*values)


def moment(at: datetime) -> datetime:
    """A time in UTC: the server uses its own zone."""
    return at.astimezone(UTC)


def _if_any(at: datetime | None) -> datetime | None:
    return None if at is None else moment(at)


_LAST_PLACE = 16_383  # last position in a tsvector; all later words have this one
_MOST_PLACES = 255  # positions of one word in a tsvector
_MOST_BYTES = 1_000_000  # of all words; the server's limit is 1,048,575
_A, _B, _C, _D = (weight << 14 for weight in (3, 2, 1, 0))  # the upper two bits of a position
_QUOTED = str.maketrans({"'": "''", "\\": "\\\\"})


# The saturation of `signals/bm25_formula.py` with its usual parameters, for a text of usual length.
USUAL_K1, USUAL_B, USUAL_LENGTH = 1.5, 0.75, 250
DIMENSIONS = 1_000_000_000  # of a vector of impacts
# A word of chunks with text that is in no other word: a search for parts of words reads them all.
UNLISTED = "?"
_LONG = lazy_pattern(rf"\w{{{MAX_TOKEN + 1}}}")
# Accents of their own, and letters whose lower case is another number of letters.
_UNUSUAL = lazy_pattern("[\u0300-\u036f\u0130\u0131]")
_MOST_IMPACTS = 16_000  # of one chunk


class Words(NamedTuple):
    """The row of a chunk in the table `words`."""

    length: int  # number of terms; those of the name count several times
    weights: list[float]  # of D, C, B and A, at most 1
    places: Mapping[str, Sequence[int]]  # by word: its positions with their weights
    impacts: Mapping[int, float]  # by the dimension of a word: what it adds to a usual score


def words_of(chunk: Chunk) -> Words:
    """The words of a chunk as a tsvector of Aurora's own tokens, which the server does not parse.

    Name, labels, content and summary have weights A to D. `ts_rank_cd` of one word is the sum of
    the weights of its positions. It tells how often the word occurs: positions in the name count as
    often as `name_times` says.
    """
    times = name_times(chunk)
    name = document_terms(indexed_name(chunk)) if times else []
    labels, content = document_terms(chunk_labels(chunk)), document_terms(chunk.content)
    summary = document_terms(chunk_summary(chunk))
    places: defaultdict[str, list[int]] = defaultdict(list)
    at = 1
    for weight, tokens in ((_A, name), (_B, labels), (_C, content), (_D, summary)):
        last = weight + _LAST_PLACE
        positions = chain(range(min(weight + at, last), last), repeat(last))
        for token, position in zip(tokens, positions, strict=False):
            places[token].append(position)
        at += len(tokens) + 1  # no phrase spans two fields
    length = len(name) * times + len(labels) + len(content) + len(summary) * SUMMARY_TIMES
    length = max(length, SHORTEST)
    share = 1.0 / max(times, SUMMARY_TIMES)
    weights = [SUMMARY_TIMES * share, share, share, times * share]
    fitting = _fitting(places, at)
    impacts = _impacts(fitting, length, (SUMMARY_TIMES, 1, 1, times))
    if len(fitting) < len(places) or not _lists_all(chunk, fitting, has_name=times > 0):
        fitting[UNLISTED] = []
    return Words(length, weights, fitting, impacts)


def _lists_all(chunk: Chunk, places: Container[str], *, has_name: bool) -> bool:
    """Whether each word of name and content is one of the chunk's words, or part of one."""
    text = f"{chunk.name}\n{chunk.content}"
    if not text.isascii() and (not is_normalized("NFKC", text) or _UNUSUAL.search(text)):
        return False
    if max(map(len, text.split()), default=0) > MAX_TOKEN and _LONG.search(text):
        return False
    is_indexed = has_name and indexed_name(chunk) == chunk.name
    return is_indexed or all(token in places for token in tokenize(chunk.name))


def _impacts(
    places: Mapping[str, Sequence[int]], length: int, times: Sequence[int]
) -> Mapping[int, float]:
    """The share of its weight that each word adds to a score. `times`: what positions count."""
    discount = USUAL_K1 * (1 - USUAL_B + USUAL_B * length / USUAL_LENGTH)
    impacts: dict[int, float] = {}
    for word, own in places.items():
        count = times[own[0] >> 14] if len(own) == 1 else sum([times[at >> 14] for at in own])
        dimension = dimension_of(word)
        impacts[dimension] = impacts.get(dimension, 0.0) + count / (count + discount)
    if len(impacts) > _MOST_IMPACTS:  # data: a single word adds nearly nothing
        impacts = dict(islice(impacts.items(), _MOST_IMPACTS))
    return impacts


def dimension_of(word: str) -> int:
    """Two words may share one: a chunk with either is then a candidate for both."""
    return crc32(word.encode()) % DIMENSIONS


def _fitting(places: dict[str, list[int]], count: int) -> dict[str, list[int]]:
    """As much as a tsvector holds. A text with more is data, and its start is enough."""
    if count > _LAST_PLACE:  # a position may be there twice
        places = {word: _once(own) for word, own in places.items()}
    if count > _MOST_PLACES and max(map(len, places.values())) > _MOST_PLACES:
        places = {word: own[:_MOST_PLACES] for word, own in places.items()}
    if 4 * sum(map(len, places)) + 2 * (count + len(places)) < _MOST_BYTES:
        return places
    sizes = (4 * len(word) + 2 * len(own) + 2 for word, own in places.items())
    fits = (size < _MOST_BYTES for size in accumulate(sizes))
    return dict(compress(places.items(), fits))


def _once(positions: Sequence[int]) -> list[int]:
    """Each position once, with its highest weight, which comes first."""
    return list({position & _LAST_PLACE: position for position in reversed(positions)}.values())[
        ::-1
    ]


def quote(token: str) -> str:
    """Any word in the syntax of tsvector and tsquery."""
    return f"'{hide(token).translate(_QUOTED)}'" if not token.isalnum() else f"'{token}'"


def any_of(tokens: Iterable[str]) -> str:
    return " | ".join(map(quote, tokens))


def in_a_row(tokens: Iterable[str]) -> str:
    """A tsquery of tokens next to each other, such as the pairs of a CJK run."""
    return "(" + " <-> ".join(map(quote, tokens)) + ")"
