"""What earlier versions kept in another memory, and its move to that of the project.

They kept in the person's memory what `aur mem add` got in a repository that was never indexed. Only
a document of a file can be assigned: lessons and texts without a path stay with the person, and so
does what was added with `--private`. And they gave each linked worktree a memory of its own, where
lessons, documents and uses belong to the repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from aurora.config import Places
from aurora.config.places import make_project
from aurora.config.worktrees import main_checkout
from aurora.engine.memory import Memory
from aurora.indexing.documents import (
    document_id,
    is_document_of,
)
from aurora.indexing.reader import Names
from aurora.indexing.replacing import DOCUMENT, piece_ids
from aurora.stores.base import Record, Store
from aurora.types import PRIVATE, REPLACED_BY, REPLACES, Chunk, Criteria


class Stranded(NamedTuple):
    """A document in the person's memory whose file belongs to the project."""

    title: str
    chunk_ids: tuple[str, ...]  # of its pieces, in their order
    path: Path
    namespace: str


def find_stranded(memory: Memory) -> list[Stranded]:
    """The documents of this project's files in the person's memory, by title."""
    root, personal = memory.admin.find_root(), memory.personal
    if personal is None and memory.places.project is None:
        personal = memory  # the project has no memory yet
    if root is None or personal is None or not personal.exists:
        return []
    search, chunks = personal.admin.store.search, personal.admin.store.chunks
    rows = search.find_rows(Criteria(metadata=(("source", DOCUMENT),)))
    found = (_stranded(chunk, root.resolve()) for chunk in chunks.get_rows(rows).values())
    return sorted(filter(None, found))


def _stranded(chunk: Chunk, root: Path) -> Stranded | None:
    facts, name = chunk.metadata, str(chunk.metadata.get("origin", ""))
    path = Path(name)
    if facts.get("part") != 1 or facts.get(PRIVATE) or not path.is_absolute():
        return None
    # A source that the user named may look like a path, too.
    if not path.is_relative_to(root) or not is_document_of(chunk.id, chunk.namespace, name):
        return None
    return Stranded(
        str(facts.get("title", chunk.name)), tuple(piece_ids([chunk])), path, chunk.namespace
    )


def move_stranded(memory: Memory) -> list[Stranded]:
    """Move the documents with their uses, metadata and vectors to the project's memory.

    They are written first, all or none, and then removed from the person's memory: after a kill in
    between, the next run completes the move. Of a document that the project has in another version,
    only the uses are moved.
    """
    found = find_stranded(memory)
    if not found:
        return []
    memory.admin.start_project()
    personal = memory.personal
    if personal is None:
        return []
    source, target, names = personal.admin.store, memory.admin.store, Names(memory.root)
    moved = [record for one in found for record in _records(source, target, names, one)]
    owner = source.vectors.embedder()
    is_same = target.vectors.embedder() in (None, owner)
    target.maintenance.put_records(moved, embedder=owner if is_same else None)
    memory.admin.vectors.embed_new([record.chunk.id for record in moved])
    memory.admin.vectors.make_searchable()
    personal.forget([id_ for one in found for id_ in one.chunk_ids])
    return found


def _records(source: Store, target: Store, names: Names, document: Stranded) -> Iterator[Record]:
    """What the target must hold of one document."""
    name = names.of(document.path)
    old, new = document.chunk_ids[0], document_id(document.namespace, name)
    ids = {id_: f"{new}{id_.removeprefix(old)}" for id_ in document.chunk_ids}
    chunks = source.chunks.get_chunks(document.chunk_ids)
    accesses = source.chunks.get_accesses(document.chunk_ids)
    vectors = source.vectors.get_embeddings(document.chunk_ids)
    kept = {chunk.id: chunk for chunk in target.chunks.get_chunks([*ids.values()])}
    texts = {ids[chunk.id]: chunk.content for chunk in chunks}
    is_other = bool(kept) and texts != {id_: chunk.content for id_, chunk in kept.items()}
    for chunk in chunks:
        id_, uses = ids[chunk.id], accesses.get(chunk.id, ())
        if not is_other:
            # What it replaced stays where it was.
            facts = {k: v for k, v in chunk.metadata.items() if k not in (REPLACES, REPLACED_BY)}
            moved = replace(chunk, id=id_, metadata={**facts, "origin": name})
            yield Record(moved, accesses=uses, vector=vectors.get(chunk.id))
        elif id_ in kept:
            yield Record(kept[id_], accesses=uses)


# Worktrees


def repository_of(memory: Memory) -> Path | None:
    """The repository of a worktree that has a memory of its own."""
    project = memory.places.project
    if project is None or memory.admin.location.path is None:
        return None
    return main_checkout(project)


def move_worktree(memory: Memory) -> int:
    """Move lessons, documents and uses of a worktree to the memory of its repository; how many.

    The file of the worktree's memory stays under another name, and is not used any more.
    """
    repository, path = repository_of(memory), memory.admin.location.path
    if repository is None or path is None or not memory.exists:
        return 0
    make_project(repository)
    source, shared = memory.admin.store, memory._other(Places(memory.places.home, repository))
    shared.admin.create()
    target = shared.admin.store
    owner = source.vectors.embedder()
    is_same = target.vectors.embedder() in (None, owner)
    with target.transaction():
        own = [record for record in source.maintenance.iter_records() if not record.chunk.path]
        known = {chunk.id for chunk in target.chunks.get_chunks([r.chunk.id for r in own])}
        new = [r for r in own if r.chunk.id not in known or r.chunk.is_replaced]
        target.maintenance.put_records(new, embedder=owner if is_same else None)
        _move_uses(source, target, {record.chunk.id for record in new})
    shared.admin.vectors.embed_new([record.chunk.id for record in new])
    shared.admin.vectors.make_searchable()
    memory.close()
    for ending in ("-wal", ""):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}{ending}").rename(f"{path}.moved{ending}")
    return len(new)


def _move_uses(source: Store, target: Store, but: Set[str]) -> None:
    """Add the uses of chunks that both have. Two uses at one moment are two."""
    records = (record for record in source.maintenance.iter_records() if record.chunk.id not in but)
    used = {record.chunk.id: record.accesses for record in records if record.accesses}
    kept = target.chunks.get_accesses(list(used))
    for id_, moments in used.items():
        for at in (Counter(moments) - Counter(kept.get(id_, ()))).elements():
            target.chunks.record_access(id_, at)
