"""One chunk by its id, by an ending of it that no other has, or by what results show of it."""

from __future__ import annotations

from itertools import islice

from aurora.errors import ChunkNotFoundError
from aurora.stores.base import Store
from aurora.types import Chunk

_CANDIDATES = 5  # ids named when one could mean several chunks
_COLONS = 10  # tried as the one between a file and a name


def find_chunk(store: Store, chunk_id: str) -> Chunk:
    found = store.get_chunks([chunk_id]) or store.get_chunks([_complete(store, chunk_id)])
    if not found:  # forgotten by another process a moment ago
        raise _not_found(chunk_id)
    return found[0]


def _complete(store: Store, ending: str) -> str:
    limit = _CANDIDATES + 1
    # Ids are written with `/` everywhere; on Windows people type the other one.
    candidates = (
        store.find_ids(ending, limit=limit)
        or store.find_ids(ending.replace("\\", "/"), limit=limit)
        or _shown_so(store, ending)
    )
    if not candidates:
        raise _not_found(ending)
    if len(candidates) > 1:
        shown = ", ".join(candidates[:_CANDIDATES])
        more = ", …" if len(candidates) > _CANDIDATES else ""
        raise ChunkNotFoundError(
            f"{ending!r} could be {shown}{more}", hint="name more of the id's beginning"
        )
    return candidates[0]


def _shown_so(store: Store, words: str) -> list[str]:
    """The ids of what results show as FILE:NAME: those of a log are made otherwise.

    A file's name and a heading may have a colon, too: the first at which both are known counts.
    """
    for at in islice((at for at, letter in enumerate(words) if letter == ":"), _COLONS):
        path, name = words[:at], words[at + 1 :]
        chunks = store.get_chunks(store.find_below(path)) if path else []
        ids = [one.id for one in chunks if (one.path, one.qualified_name) == (path, name)]
        if ids:
            return ids
    return []


def _not_found(chunk_id: str) -> ChunkNotFoundError:
    return ChunkNotFoundError(
        f"There is no chunk {chunk_id!r}",
        hint="an id is FILE:NAME as `aur mem search` shows them, such as app.py:main",
    )
