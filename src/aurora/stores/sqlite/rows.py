"""Converts rows of the SQLite tables to values and back, and compares their checksums."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from aurora.stores import matching
from aurora.stores.base import FileState, Reasoning, Revision
from aurora.stores.matching import FILE_FIELDS, READ_AT, chunk_of
from aurora.stores.shared import Row, portions
from aurora.stores.sqlite.integrity import access_checksum, checksum, damaged, history_checksum
from aurora.text import has_cjk, is_text
from aurora.types import Chunk, ChunkHistory, Tracking

T = TypeVar("T")

COLUMNS = (
    "id, kind, name, qualified_name, path, start_line, end_line, language, content, namespace, "
    "document_type, created_at, metadata, checksum"
)
_VALUES = 13  # columns before the checksum
_BATCH = 500  # bound values in one statement; SQLite allows 999 in its oldest builds


def chunk_values(chunk: Chunk) -> tuple[object, ...]:
    """The values of COLUMNS, then `has_cjk`."""
    start, end = chunk.lines or (None, None)
    values = (
        chunk.id, str(chunk.kind), chunk.name, chunk.qualified_name, chunk.path, start, end,
        chunk.language, chunk.content, chunk.namespace, chunk.document_type,
        chunk.created_at.timestamp() if chunk.created_at else None,
        json.dumps(dict(chunk.metadata), ensure_ascii=False, sort_keys=True),
    )  # fmt: skip
    return (*values, checksum(*values), has_cjk(chunk.name) or has_cjk(chunk.content))


def chunk_from(row: Row) -> Chunk:
    """A chunk from a row that starts with COLUMNS."""
    *columns, created_at, metadata = row[:_VALUES]
    if checksum(*row[:_VALUES]) != row[_VALUES]:
        raise damaged(f"The chunk {row[0]!r}")
    try:
        read = json.loads(metadata) if metadata != "{}" else {}
        return chunk_of(columns, _if_any(created_at), read)
    except (ValueError, TypeError, OverflowError) as exc:  # Aurora never writes such a row
        raise damaged(f"The chunk {row[0]!r}", exc) from exc


def fact_from(row: Row) -> tuple[str, str]:
    name, value, written = row
    if checksum(name, value) != written:
        raise damaged(f"The fact {name!r}")
    return name, value


def reasoning_values(row: int, reasoning: Reasoning) -> tuple[object, ...]:
    """All columns of `reasoning`."""
    values = (
        row, reasoning.pattern_type, reasoning.success_score, reasoning.usage_count,
        reasoning.created_at.timestamp(),
    )  # fmt: skip
    return (*values, checksum(*values))


def reasoning_from(values: Row) -> Reasoning:
    row, pattern_type, success_score, usage_count, created_at, written = values
    if checksum(*values[:-1]) != written:
        raise damaged(f"The pattern of row {row}")
    return Reasoning(pattern_type, success_score, usage_count, moment(created_at))


def access_from(row: int, at: float, written: int) -> tuple[int, float]:
    if access_checksum(row, at) != written:
        raise damaged(f"An access of row {row}")
    return row, at


FILE_COLUMNS = ", ".join((*FILE_FIELDS, "checkout", "checksum"))


def file_values(state: FileState, checkout: int) -> tuple[object, ...]:
    """The values of FILE_COLUMNS."""
    values, read_at = [*matching.file_values(state), checkout], state.history_read_at
    values[READ_AT] = read_at.timestamp() if read_at else None
    return (*values, checksum(*values))


def file_state_from(row: Row) -> FileState | None:
    """None if the row is damaged: the file is read again."""
    *values, checkout, written = row
    if checksum(*values, checkout) != written:
        return None
    values[READ_AT] = _if_any(values[READ_AT])
    return FileState(*values)


def history_values(history: ChunkHistory) -> dict[str, object]:
    """Named columns of a history. Commits are little-endian 64-bit seconds."""
    commits = struct.pack(f"<{len(history.commits)}q", *map(_within_64_bits, history.commits))
    tracking, uncommitted = str(history.tracking), int(history.uncommitted)
    return {"tracking": tracking, "commits": commits, "uncommitted": uncommitted}


def revision_from(row: int, generation: object) -> Revision:
    if not isinstance(generation, int):  # not part of the checksum
        raise damaged(f"The chunk of row {row}")
    return Revision(row, generation)


def vector_from(row: int, vector: bytes, written: int) -> bytes:
    if checksum(row, vector) != written:
        raise damaged(f"The vector of row {row}")
    return vector


def commits_from(row: int, tracking: str, commits: bytes, uncommitted: int, written: int) -> bytes:
    if history_checksum(row, tracking, commits, uncommitted) != written:
        raise damaged(f"The history of row {row}")
    return commits


def history_from(values: Row) -> ChunkHistory:
    """From the columns of `histories`, then the time it was read."""
    row, tracking, commits, uncommitted, written, read_at = values
    commits_from(row, tracking, commits, uncommitted, written)
    return ChunkHistory(
        Tracking(tracking),
        struct.unpack(f"<{len(commits) // 8}q", commits),
        bool(uncommitted),
        _if_any(read_at),
    )


def _within_64_bits(seconds: int) -> int:
    return max(-(1 << 63), min(seconds, (1 << 63) - 1))


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _if_any(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)


def as_no_text(value: object) -> object:
    """A text with lone surrogates as bytes, which are equal to no stored text."""
    is_invalid = isinstance(value, str) and not is_text(value)
    return str(value).encode(errors="surrogatepass") if is_invalid else value


def count_levels(structure: bytes) -> int:
    """The number of levels in FTS5's structure record: a varint after four bytes."""
    levels = 0
    for byte in structure[4:]:
        levels = levels << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return levels


def batches(values: Iterable[T]) -> Iterator[tuple[list[T], str]]:
    """Values in batches, each with its `?, ?, …`, for `IN`.

    The last value is repeated, so that there are few different statements: SQLite needs as long to
    prepare one as to read some rows.
    """
    for batch in portions(values, _BATCH):
        size = min(1 << (len(batch) - 1).bit_length(), _BATCH)
        yield batch + batch[-1:] * (size - len(batch)), ", ".join("?" * size)
