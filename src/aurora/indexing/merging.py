"""One memory taken into another that holds something already: what both have, and what differs.

What cannot be known to be right any more is read again by the next index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from aurora.errors import EmbedderMismatchError
from aurora.stores.base import Embedder, FileState, Record, Store


def require_embedder(store: Store, other: Embedder | None, *, doing: str) -> None:
    """Refuse vectors of another embedder; `doing` is what --no-vectors does without them."""
    owner = store.embedder()
    if owner is None or other is None:
        return
    try:
        owner.require(other)
    except EmbedderMismatchError as exc:
        hint = f"--no-vectors {doing} all but the vectors; `aur mem index` makes new ones"
        raise EmbedderMismatchError(exc.message, hint=hint) from exc


def merge_files(store: Store, files: Sequence[FileState]) -> None:
    """Of a file that both know with different content, the chunks of both are there now."""
    known = store.file_states([state.path for state in files])
    merged = (_merged(state, known.get(state.path, state)) for state in files)
    store.add_files([state for state in merged if known.get(state.path) != state])


def _merged(state: FileState, known: FileState) -> FileState:
    if state.digest == known.digest:
        return state
    left_out = state.left_out if known.left_out else ""
    return replace(_to_be_read(state), left_out=left_out)


def mark_robbed(store: Store, records: Sequence[Record]) -> None:
    """A file that loses a chunk, because another file's has its id, is read again."""
    paths = {record.chunk.id: record.chunk.path for record in records}
    robbed = {
        chunk.path for chunk in store.get_chunks(list(paths)) if chunk.path != paths[chunk.id]
    }
    if robbed:
        store.put_file_states(map(_to_be_read, store.file_states(robbed).values()))


def _to_be_read(state: FileState) -> FileState:
    """No file has this content, so that the next index reads it, whatever it holds."""
    return replace(state, digest="", history_stamp="")


def put_indexed_at(store: Store, other: datetime | None) -> None:
    """When either of them was last indexed."""
    own = store.indexed_at()
    if other is not None and (own is None or other > own):
        store.put_indexed_at(other)
