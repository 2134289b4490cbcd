"""Entries that replace others: documents and lessons whose earlier versions are kept.

An entry is a lesson, or a document with all of its pieces. What is replaced keeps its id and text,
and is not found. Both sides name each other in their metadata: `replaced_by` has one id, `replaces`
a list. Only a current entry replaces, so that no cycle is possible. The callers hold a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aurora.errors import ChunkNotFoundError, QueryError
from aurora.quick_classes import replace
from aurora.stores.base import Store
from aurora.types import REPLACED_BY, REPLACES, Chunk, Json

DOCUMENT, LESSON = "document", "reasoning"  # values of `metadata.source`
_LINKS = (REPLACES, REPLACED_BY)


def is_entry(chunk: Chunk) -> bool:
    """True for a piece of a document, and for a lesson."""
    return chunk.metadata.get("source") in (DOCUMENT, LESSON)


def entry_id(chunk: Chunk) -> str:
    """The id of the entry to which a chunk belongs: of a document, that of the first piece."""
    is_later = chunk.metadata.get("source") == DOCUMENT and chunk.metadata.get("part", 1) != 1
    return chunk.id.removesuffix(f"@{chunk.metadata.get('part')}") if is_later else chunk.id


def piece_ids(chunks: Iterable[Chunk]) -> list[str]:
    """The ids of chunks; the first chunk of a document stands for all of its chunks."""
    ids = []
    for chunk in chunks:
        facts, parts = chunk.metadata, chunk.metadata.get("parts")
        is_first = facts.get("source") == DOCUMENT and facts.get("part") == 1
        last = parts if is_first and isinstance(parts, int) else 1
        ids += [piece_id(chunk.id, part) for part in range(1, last + 1)]
    return ids


def piece_id(document_id: str, part: int) -> str:
    return document_id if part == 1 else f"{document_id}@{part}"


def replaced_ids(chunk: Chunk) -> list[str]:
    """The ids of the entries that an entry replaced."""
    ids = chunk.metadata.get(REPLACES)
    return [str(id_) for id_ in ids] if isinstance(ids, list) else []


def successor_id(chunk: Chunk) -> str:
    """The id of the entry that replaced this one; empty for a current one, or if it is gone."""
    return str(chunk.metadata.get(REPLACED_BY) or "")


def find_entry(store: Store, id_: str) -> Chunk | None:
    """The first piece of the entry with this id, or to which a piece with this id belongs."""
    for chunk in store.chunks.get_chunks([id_]):
        first = entry_id(chunk)
        return chunk if first == id_ else next(iter(store.chunks.get_chunks([first])), None)
    return None


def begin_entry(
    store: Store, new_id: str, replaces: str = "", same: Iterable[str] = ()
) -> dict[str, Json]:
    """Metadata of an entry that is about to be written as a current one.

    It replaces what it did before, the entry with the id `replaces`, and those named `same`.
    An entry that was replaced leaves its place between the others, and replaces the current one.
    """
    others: set[str] = set()
    if old := find_entry(store, new_id):
        newest = find_newest(store, old)
        if newest.id == new_id:
            others.update(replaced_ids(old))
        else:
            take_out(store, [new_id])
            others.add(newest.id)
    if replaces:
        others.add(_require_replaceable(store, replaces, new_id))
    others.update(same)
    return {REPLACES: list[Json](sorted(others))} if others else {}


def _require_replaceable(store: Store, id_: str, new_id: str) -> str:
    """The id of the entry that a new one shall replace."""
    entry = find_entry(store, id_)
    if entry is None:
        raise ChunkNotFoundError(
            f"There is no {id_!r} to replace",
            hint="name the id of a document or lesson of this memory, as `aur mem search` shows it",
        )
    if not is_entry(entry) or entry.path:
        raise QueryError(
            f"{entry.id} is of a file, which no entry can replace",
            hint="edit the file; documents and lessons without a file can be replaced",
        )
    if entry.id == new_id:
        raise QueryError(
            f"{entry.id} cannot replace itself", hint="say something else, or leave out its id"
        )
    after = successor_id(entry)
    if after != new_id and store.chunks.get_chunks([after]):
        raise QueryError(
            f"{entry.id} was replaced by {after}",
            hint=f"replace that one; `aur mem history {entry.id}` shows all versions",
        )
    return entry.id


def kept_links(store: Store, id_: str) -> dict[str, Json]:
    """Metadata of an entry that is written again and stays current, or replaced, as it is."""
    chunks = store.chunks.get_chunks([id_])
    return {key: c.metadata[key] for c in chunks for key in _LINKS if key in c.metadata}


def mark_replaced(store: Store, new_id: str) -> list[str]:
    """Note in entries that a new one replaces them; the ids of those that did not know it."""
    new = next(iter(store.chunks.get_chunks([new_id])), None)
    if new is None or new.is_replaced:  # none: in a copied memory, an older row hides it
        return []
    olds = store.chunks.get_chunks(replaced_ids(new))
    marked = [old for old in olds if successor_id(old) != new_id]
    for old in marked:
        _annotate(store, old, {REPLACED_BY: new_id})
    return [old.id for old in marked]


def is_linked(chunk: Chunk) -> bool:
    """True for an entry that replaces another one, or is replaced."""
    return any(key in chunk.metadata for key in _LINKS)


def take_out(store: Store, ids: Iterable[str]) -> None:
    """Take entries out from between those that they replaced and that replaced them.

    What the newest one replaced stays replaced. Later pieces of a document are not entries.
    """
    for id_ in ids:
        for entry in store.chunks.get_chunks([id_]):
            after, before = successor_id(entry), replaced_ids(entry)
            for older in store.chunks.get_chunks(before):
                if successor_id(older) == id_:
                    _annotate(store, older, {REPLACED_BY: after})
            for newer in store.chunks.get_chunks([after]):
                if id_ in replaced_ids(newer):
                    others = [other for other in replaced_ids(newer) if other != id_]
                    _annotate(store, newer, {REPLACES: [*others, *before] or None})
            if before:
                _annotate(store, entry, {REPLACES: None})


def _annotate(store: Store, entry: Chunk, links: Mapping[str, Json]) -> None:
    """Change the links of all pieces of an entry; None removes one."""
    store.chunks.put_chunks(
        replace(
            piece,
            metadata={
                key: value
                for key, value in {**piece.metadata, **links}.items()
                if key not in _LINKS or value is not None
            },
        )
        for piece in store.chunks.get_chunks(piece_ids([entry]))
    )


# History


def find_newest(store: Store, entry: Chunk) -> Chunk:
    """The newest version of an entry: itself, unless it was replaced."""
    seen = {entry.id}
    while (after := successor_id(entry)) and after not in seen:
        seen.add(after)
        newer = store.chunks.get_chunks([after])
        if not newer:
            break
        entry = newer[0]
    return entry


def list_versions(store: Store, entry: Chunk) -> list[Chunk]:
    """The first pieces of all versions of an entry, newest first."""
    level, versions = [find_newest(store, entry)], dict[str, Chunk]()
    while level:
        versions |= {each.id: each for each in level}
        ids = dict.fromkeys(id_ for each in level for id_ in replaced_ids(each))
        level = store.chunks.get_chunks([id_ for id_ in ids if id_ not in versions])
    return list(versions.values())
