"""One chunk as an object for programs, with every field it has."""

from __future__ import annotations

from aurora.types import Chunk, Json


def chunk_record(chunk: Chunk) -> dict[str, Json]:
    """Field names are the chunk's own; lines are first and last, dates ISO 8601."""
    return {
        "id": chunk.id,
        "kind": str(chunk.kind),
        "name": chunk.name,
        "qualified_name": chunk.qualified_name,
        "path": chunk.path,
        "lines": list(chunk.lines) if chunk.lines else None,
        "language": chunk.language,
        "content": chunk.content,
        "namespace": chunk.namespace,
        "document_type": chunk.document_type,
        "created_at": chunk.created_at.isoformat() if chunk.created_at else None,
        "metadata": dict(chunk.metadata),
    }
