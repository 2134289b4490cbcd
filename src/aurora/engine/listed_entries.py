"""All lessons and documents of a person's memories, for a page: reading, replacing, and what
forgetting one takes along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aurora.engine.entries import EntryVersion, version_of
from aurora.engine.remarks import find_remarks
from aurora.engine.why import find_recorded
from aurora.errors import ChunkNotFoundError, QueryError
from aurora.indexing.replacing import find_entry, is_entry, piece_ids, replaced_ids
from aurora.parsers.lessons import is_lesson_path
from aurora.stores.base import Store
from aurora.text import pluralize
from aurora.types import Chunk, Json, Kind

if TYPE_CHECKING:
    from aurora.engine.memory import Memory


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """One version of a lesson or document, with what a reader should know of it."""

    version: EntryVersion
    kind: str  # `lesson`, or the type of a document
    tries: int  # of a lesson
    remarks: tuple[str, ...]
    memory: str

    def as_record(self) -> dict[str, Json]:
        """The object of `aur mem history --json`, with the other fields."""
        return {
            **self.version.as_record(),
            "kind": self.kind,
            "tries": self.tries,
            "remarks": [*self.remarks],
            "memory": self.memory,
        }


def list_entries(memory: Memory, *, most: int, replaced: bool = False) -> list[ListedEntry]:
    """The newest entries of the project's and the person's memory, newest first; with `replaced`,
    those that another one replaced."""
    listed = []
    for name, layer in memory.layers().items():
        opened = layer._opened
        chunks = find_recorded(opened.store)
        if replaced:
            chunks = list(_replaced_by(opened.store, chunks))
        chunks.sort(key=lambda chunk: _age(chunk.created_at))
        for chunk in chunks[:most]:
            reasoning = opened.store.chunks.get_reasoning(chunk.id)
            is_lesson = chunk.kind is Kind.REASONING
            listed.append(
                ListedEntry(
                    version_of(opened.store, chunk),
                    "lesson" if is_lesson else chunk.document_type or "document",
                    reasoning.usage_count if reasoning else 0,
                    find_remarks(opened, chunk),
                    name,
                )
            )
    listed.sort(key=lambda entry: _age(entry.version.at))
    return listed[:most]


def _age(at: datetime | None) -> float:
    """Smaller for what is newer. Metadata of other programs may have a time without a zone."""
    return -(at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() if at else 0.0


def _replaced_by(store: Store, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """All earlier versions of these entries."""
    seen, wanted = set[str](), [id_ for chunk in chunks for id_ in replaced_ids(chunk)]
    while wanted:
        earlier = store.chunks.get_chunks([id_ for id_ in wanted if id_ not in seen])
        seen.update(wanted)
        yield from earlier
        wanted = [id_ for chunk in earlier for id_ in replaced_ids(chunk)]


def replace_entry(memory: Memory, id_: str, text: str, *, title: str = "") -> str:
    """Write a new version of a lesson or document; the id of it. The old one is kept as history.

    The new one has the kind, the labels, and for a lesson the last success of the old one.
    """
    holder, entry = _find(memory, id_)
    private = memory.personal is not None and holder is not memory
    if entry.kind is not Kind.REASONING:
        full = f"# {title}\n\n{text}" if title and not text.lstrip().startswith("#") else text
        return memory.add(
            full,
            namespace=entry.namespace,
            document_type=entry.document_type or "document",
            replaces=entry.id,
            private=private,
        ).id
    reasoning = holder.admin.store.chunks.get_reasoning(entry.id)
    team = is_lesson_path(entry.path)
    return memory.learn(
        text,
        pattern_type=reasoning.pattern_type if reasoning else "pattern",
        score=reasoning.success_score if reasoning else 1.0,
        private=private and not team,
        team=team,
        replaces=entry.id,
    ).id


def preview_forget(memory: Memory, id_: str) -> tuple[int, list[str]]:
    """How many chunks forgetting an entry removes, and sentences about it."""
    holder, entry = _find(memory, id_)
    count = len(piece_ids([entry]))
    goes = "goes" if count == 1 else "go"
    sentences = [f"{pluralize(count, 'chunk')} of the memory {holder.label} {goes} for good."]
    if earlier := replaced_ids(entry):
        versions = pluralize(len(earlier), "earlier version")
        sentences.append(f"{versions} of it will still not be found: add one again to find it.")
    if entry.path:
        sentences.append(f"The file {entry.path} stays: the next index run reads it again.")
    return count, sentences


def forget_entry(memory: Memory, id_: str) -> int:
    """Remove an entry for good; the number of removed chunks."""
    holder, entry = _find(memory, id_)
    return holder.forget(piece_ids([entry]))


def _find(memory: Memory, id_: str) -> tuple[Memory, Chunk]:
    """The first piece of an entry, and the memory that holds it."""
    for layer in memory.layers().values():
        entry = find_entry(layer.admin.store, id_)
        if entry is not None:
            if not is_entry(entry):
                raise QueryError(f"{id_} is no lesson or document", hint="edit its file")
            return layer, entry
    raise ChunkNotFoundError(f"There is no lesson or document {id_!r}", hint="load the page again")
