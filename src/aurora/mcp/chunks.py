"""What is told of a chunk, whoever asks: as a result, as a whole, as a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict
from urllib.parse import quote

from pydantic import JsonValue

from aurora.indexing.labels import RESERVED
from aurora.types import Chunk, Json

URI = "aurora://chunk/"
TEMPLATE = f"{URI}{{+id}}{{?memory}}"


_OURS = {*RESERVED, "signature"}  # of code: it stands in the text


class About(TypedDict):
    """The fields of a chunk beside its text; nothing where it has none."""

    id: str
    kind: str
    name: str
    path: str | None
    start_line: int | None
    end_line: int | None
    language: str | None
    namespace: str | None
    document_type: str | None
    source: str | None
    created_at: str | None
    metadata: dict[str, JsonValue] | None


def uri_of(chunk_id: str, memory: str = "") -> str:
    """The chunk's address. `memory` is its name where it is not the usual one."""
    where = f"?memory={quote(memory, safe='')}" if memory else ""
    return f"{URI}{quote(chunk_id, safe='/:@')}{where}"


def about(chunk: Chunk) -> About:
    lines = chunk.lines
    return About(
        id=chunk.id,
        kind=str(chunk.kind),
        name=chunk.qualified_name or chunk.name,
        path=chunk.path or None,
        start_line=lines.start if lines else None,
        end_line=lines.end if lines else None,
        language=chunk.language or None,
        namespace=chunk.namespace or None,
        document_type=chunk.document_type or None,
        source=source_of(chunk.metadata),
        created_at=chunk.created_at.isoformat() if chunk.created_at else None,
        metadata=_own(chunk.metadata) or None,
    )


def source_of(metadata: Mapping[str, Json]) -> str | None:
    """Where it comes from, as who handed it over said; else what kind of source it is."""
    told = metadata.get("origin") or metadata.get("source")
    return str(told) if told else None


def _own(metadata: Mapping[str, Json]) -> dict[str, JsonValue]:
    """What was said of it, without what every chunk of its kind has."""
    return {key: value for key, value in metadata.items() if key not in _OURS}
