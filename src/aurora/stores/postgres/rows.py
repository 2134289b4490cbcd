"""Rows of the PostgreSQL tables into values and back, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from psycopg.types.json import Json as Json_

from aurora.errors import StoreFormatError
from aurora.stores.base import FileState, Reasoning
from aurora.stores.postgres.nul import MARK, hide, in_all_texts, show
from aurora.text import fold_name, has_cjk
from aurora.types import Chunk, ChunkHistory, Json, Kind, Lines, Tracking

Row: TypeAlias = tuple[Any, ...]

# As they are read: JSON is taken apart in Python, which wrote it.
COLUMNS = (
    "id, kind, name, qualified_name, path, start_line, end_line, language, content, namespace, "
    "document_type, created_at, metadata::text"
)
WRITTEN = {
    "id": "text", "namespace": "text", "kind": "text", "name": "text", "folded_name": "text",
    "qualified_name": "text", "path": "text", "start_line": "bigint", "end_line": "bigint",
    "language": "text", "content": "text", "document_type": "text", "created_at": "timestamptz",
    "metadata": "jsonb", "has_cjk": "boolean",
}  # fmt: skip
_EXPONENT = 1e16  # floats from here on are written with one
_FLOAT = re.compile(f'"{MARK}f([^"]*)"')
FILE_COLUMNS = "path, size, modified_ns, digest, left_out, history_stamp, history_read_at, identity"


def chunk_values(chunk: Chunk) -> dict[str, object]:
    """The values of WRITTEN."""
    start, end = chunk.lines or (None, None)
    return {
        "id": chunk.id, "namespace": chunk.namespace, "kind": str(chunk.kind),
        "name": chunk.name, "folded_name": fold_name(chunk.name),
        "qualified_name": chunk.qualified_name, "path": chunk.path,
        "start_line": start, "end_line": end, "language": chunk.language,
        "content": chunk.content, "document_type": chunk.document_type,
        "created_at": chunk.created_at.isoformat() if chunk.created_at else None,
        "metadata": dict(chunk.metadata),
        "has_cjk": has_cjk(chunk.name) or has_cjk(chunk.content),
    }  # fmt: skip


def as_json(rows: Iterable[Mapping[str, object]]) -> Json_:
    """Many rows as one value."""
    given: list[Any] = list(rows)
    written = json.dumps(given, ensure_ascii=False)
    if "\\u0000" in written or MARK in written or "e+" in written:
        hidden: Any = in_all_texts(given, hide)
        written = _FLOAT.sub(r"\1", json.dumps(_with_floats(hidden), ensure_ascii=False))
    return Json_(written, _as_it_is)


def _with_floats(value: Any) -> Any:
    """The server makes whole numbers of floats like 1e+16, and those come back as other values:
    here they are texts of all their digits, which lose their quotes once all is written."""
    if isinstance(value, float) and abs(value) >= _EXPONENT:
        return f"{MARK}f{value:.1f}"
    if isinstance(value, list):
        return list(map(_with_floats, value))
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return value


def _as_it_is(written: Any) -> bytes:
    return str(written).encode()


def read_metadata(written: str) -> dict[str, Json]:
    if written == "{}":
        return {}
    read: Any = json.loads(written)
    return in_all_texts(read, show) if MARK in written else read  # type: ignore[return-value]


def chunk_from(row: Row) -> Chunk:
    """A chunk from a row that starts with COLUMNS."""
    (
        id_, kind, name, qualified_name, path, start, end, language, content, namespace,
        document_type, created_at, metadata,
    ) = row[:13]  # fmt: skip
    try:
        return Chunk(
            id=show(id_),
            kind=Kind(kind),
            name=show(name),
            content=show(content),
            qualified_name=show(qualified_name),
            path=show(path),
            lines=None if start is None else Lines(start, end),
            language=show(language),
            namespace=show(namespace),
            document_type=show(document_type),
            created_at=_if_any(created_at),
            metadata=read_metadata(metadata),
        )
    except (ValueError, TypeError) as exc:  # nobody writes such a row
        raise StoreFormatError(
            f"The chunk {id_!r} is damaged: {exc}", hint="`aur doctor` tells what else is"
        ) from exc


def reasoning_from(row: Row) -> Reasoning:
    pattern_type, success_score, usage_count, created_at = row
    return Reasoning(show(pattern_type), success_score, usage_count, moment(created_at))


def history_from(row: Row) -> ChunkHistory:
    tracking, commits, uncommitted, read_at = row
    return ChunkHistory(Tracking(tracking), tuple(commits), uncommitted, _if_any(read_at))


def file_values(state: FileState) -> tuple[object, ...]:
    """The values of FILE_COLUMNS."""
    return (
        state.path, state.size, state.modified_ns, state.digest, state.left_out,
        state.history_stamp, state.history_read_at, state.identity,
    )  # fmt: skip


def file_state_from(row: Row) -> FileState:
    path, size, modified_ns, digest, left_out, stamp, read_at, identity = row
    return FileState(
        show(path),
        size,
        modified_ns,
        show(digest),
        show(left_out),
        show(stamp),
        _if_any(read_at),
        show(identity),
    )


def moment(at: datetime) -> datetime:
    """The server tells times in its own zone."""
    return at.astimezone(UTC)


def _if_any(at: datetime | None) -> datetime | None:
    return None if at is None else moment(at)


def like(*parts: str) -> str:
    """A pattern for `LIKE … ESCAPE '!'`: these texts, in this order, with anything around them."""
    plain = (part.replace("!", "!!").replace("%", "!%").replace("_", "!_") for part in parts[:32])
    return f"%{'%'.join(part[:128] for part in plain)}%"
