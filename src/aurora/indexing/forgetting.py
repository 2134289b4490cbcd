"""Taking chunks out of the memory: which ones a word stands for, and removing them for good."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from aurora.indexing.documents import piece_ids
from aurora.indexing.names import Names
from aurora.stores.base import Store

_NAMESPACE = "namespace:"


def find_to_forget(store: Store, names: Names, what: str) -> list[str]:
    """Ids that a word stands for: a chunk's id, a file or folder, or `namespace:NAME`.

    The id of a document stands for all its pieces.
    """
    if what.startswith(_NAMESPACE):
        return store.find_in_namespace(what.removeprefix(_NAMESPACE))
    ids = piece_ids(store.get_chunks([what]))
    found = {chunk.id for chunk in store.get_chunks(ids)}
    return sorted(found.union(*map(store.find_below, _places(names, what))))


def _places(names: Names, what: str) -> set[str]:
    """What the memory may call a file or folder."""
    try:
        path = Path(what).resolve()
    except (OSError, ValueError, RuntimeError):  # a null byte, a loop of links: no path
        return set()
    # Documents and lessons have no path, and are below no folder.
    return {what.rstrip("/"), path.as_posix(), names.of(path)} - {""}


class Forgotten(NamedTuple):
    """What left the memory."""

    chunks: int
    paths: tuple[str, ...]  # of files that have no chunk any more
    names: frozenset[str]  # what else may be called by name elsewhere: ids and titles of documents


def forget(store: Store, chunk_ids: Sequence[str]) -> Forgotten:
    """Remove chunks with all that is remembered of them."""
    with store.transaction():
        chunks = store.get_chunks(chunk_ids)
        gone = store.delete_chunks(chunk_ids)
        paths = {chunk.path for chunk in chunks if chunk.path}
        empty = tuple(sorted(path for path in paths if not store.find_below(path)))
        store.forget_files(empty)  # so that a later index reads them again
    prose = {name for chunk in chunks if chunk.kind.is_prose for name in (chunk.id, chunk.name)}
    return Forgotten(gone, empty, frozenset(prose - {""}))
