"""Views of the map: files by size, use and age, and chunks in the plane by their meaning."""

from __future__ import annotations

from functools import lru_cache

from starlette.responses import Response

from aurora.display.records import chunk_text_record
from aurora.engine import Memory
from aurora.engine.meaning_map import KINDS, MeaningMap, chunk_at, places_of, read_map
from aurora.errors import ChunkNotFoundError
from aurora.types import Json
from aurora.web.door import Door

_LIT = 50  # results of a query that are lit up


def map_files(door: Door) -> dict[str, Json]:
    """Each indexed file as [path, bytes, lines, chunks, uses, commits, last change, file time].

    The last change is the newest commit of its lines, or null; both times are seconds since 1970.
    """
    store = door.memory.admin.store
    return {
        "files": [
            [
                file.path, file.size, file.lines, file.chunks, file.uses, file.commits,
                file.last_commit, file.modified_ns // 1_000_000_000,
            ]
            for file in store.chunks.list_file_facts(store.checkouts.hidden_rows())
        ]
    }  # fmt: skip


def map_points(door: Door) -> dict[str, Json]:
    """How many points there are, and what their kinds mean. `ready` is false during the first
    index run."""
    memory = door.memory
    found = _map(memory)
    return {
        "count": len(found.rows) if found else 0,
        "kinds": [str(kind) for kind in KINDS],
        "layers": [memory.label],
        "generation": memory.admin.generation,
        "ready": found is not None,
    }


def map_points_binary(door: Door) -> Response:
    """The points: little-endian float32 x, y for each, then a byte with the kind of each."""
    found = _map(door.memory)
    return Response(found.to_bytes() if found else b"", media_type="application/octet-stream")


def map_near(door: Door, *, x: float, y: float) -> dict[str, Json]:
    """The chunk at the point nearest to a place."""
    memory = door.memory
    found = _map(memory)
    chunk = chunk_at(memory, found, x, y) if found else None
    if chunk is None:
        raise ChunkNotFoundError("The map is empty", hint="make vectors with `aur mem index`")
    return {**chunk_text_record(chunk, chunk.content, "", ()), "memory": memory.label}


def map_lit(door: Door, *, q: str) -> dict[str, Json]:
    """The points of a query's results, as [place of the point, id, rank]."""
    memory = door.memory
    found = _map(memory)
    results = memory.search(q, limit=_LIT, suggest=False, memories=[memory.label]).results
    ids = [result.chunk_id for result in results]
    places = places_of(memory, found, ids) if found else {}
    return {"points": [[places[id_], id_, n] for n, id_ in enumerate(ids, 1) if id_ in places]}


def _map(memory: Memory) -> MeaningMap | None:
    return _read(memory, memory.admin.generation) if memory.exists else None


@lru_cache(maxsize=2)  # moving a pointer over the map asks for it often
def _read(memory: Memory, generation: int) -> MeaningMap | None:  # noqa: ARG001 - part of the key
    return read_map(memory)
