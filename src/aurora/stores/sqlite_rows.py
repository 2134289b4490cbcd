"""Rows of the SQLite tables into values and back, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

from aurora.stores.base import FileState, Reasoning
from aurora.text import has_cjk
from aurora.types import Chunk, Kind, Lines

Row: TypeAlias = tuple[Any, ...]  # what SQLite returns has no static type

COLUMNS = (
    "id, kind, name, qualified_name, path, start_line, end_line, language, content, namespace, "
    "document_type, created_at, metadata"
)
_BATCH = 500  # bound values in one statement; SQLite allows 999 in its oldest builds


def chunk_values(chunk: Chunk) -> tuple[object, ...]:
    """The values of COLUMNS, then `has_cjk`."""
    start, end = chunk.lines or (None, None)
    return (
        chunk.id, str(chunk.kind), chunk.name, chunk.qualified_name, chunk.path, start, end,
        chunk.language, chunk.content, chunk.namespace, chunk.document_type,
        chunk.created_at.timestamp() if chunk.created_at else None,
        json.dumps(dict(chunk.metadata), ensure_ascii=False, sort_keys=True),
        has_cjk(chunk.name) or has_cjk(chunk.content),
    )  # fmt: skip


def chunk_from(row: Row) -> Chunk:
    """A chunk from a row that starts with COLUMNS."""
    (
        id_, kind, name, qualified_name, path, start, end, language, content, namespace,
        document_type, created_at, metadata,
    ) = row[:13]  # fmt: skip
    return Chunk(
        id=id_,
        kind=Kind(kind),
        name=name,
        content=content,
        qualified_name=qualified_name,
        path=path,
        lines=None if start is None else Lines(start, end),
        language=language,
        namespace=namespace,
        document_type=document_type,
        created_at=None if created_at is None else moment(created_at),
        metadata=json.loads(metadata) if metadata != "{}" else {},
    )


def reasoning_from(row: Row) -> Reasoning:
    pattern_type, success_score, usage_count, created_at = row
    return Reasoning(pattern_type, success_score, usage_count, moment(created_at))


def file_state_from(row: Row) -> FileState:
    return FileState(*row)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def batches(values: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Values in portions, each with its `?, ?, …`."""
    rest = iter(values)
    while batch := list(islice(rest, _BATCH)):
        yield batch, ", ".join("?" * len(batch))
