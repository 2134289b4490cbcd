"""Converts rows of the PostgreSQL tables to values and back, and quotes words of a query.

PostgreSQL has no NUL in texts. It is written as `MARK` and `0`, where `MARK` is not a character of
any script, and a `MARK` in a text as `MARK` and `1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import psycopg
from psycopg.adapt import AdaptersMap, Loader
from psycopg.types.json import Json as Json_
from psycopg.types.string import StrDumper

from aurora.errors import StoreFormatError
from aurora.stores.base import FileState, Reasoning
from aurora.stores.matching import READ_AT, chunk_of
from aurora.stores.shared import Row
from aurora.text import fold_name, has_cjk
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


# The saturation of `signals/bm25_formula.py` with its usual parameters, for a text of usual length.
USUAL_K1, USUAL_B, USUAL_LENGTH = 1.5, 0.75, 250
DIMENSIONS = 1_000_000_000  # of a vector of impacts
# A word of chunks whose texts the words do not cover: a search for parts of words reads them all.
UNLISTED = "?"
_QUOTED = str.maketrans({"'": "''", "\\": "\\\\"})


def dimension_of(word: str) -> int:
    """Two words may share one: a chunk with either is then a candidate for both."""
    return crc32(word.encode()) % DIMENSIONS


def quote(token: str) -> str:
    """Any word in the syntax of tsvector and tsquery."""
    return f"'{hide(token).translate(_QUOTED)}'" if not token.isalnum() else f"'{token}'"


def any_of(tokens: Iterable[str]) -> str:
    return " | ".join(map(quote, tokens))


def in_a_row(tokens: Iterable[str]) -> str:
    """A tsquery of tokens next to each other, such as the pairs of a CJK run."""
    return "(" + " <-> ".join(map(quote, tokens)) + ")"
