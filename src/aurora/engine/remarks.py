"""What a reader should know of results: a document or lesson failed, is stale, or replaces another
one; sessions edited a file.

Only these few rows are looked at. The files that they are about are compared with their sketches,
without git.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aurora.engine.session_lookup import checkout_folders, count_sessions, has_sessions
from aurora.indexing.provenance import find_changed
from aurora.quick_classes import replace
from aurora.types import (
    LEAST_SUCCESS,
    PROVENANCE,
    REPLACED_BY,
    REPLACES,
    Chunk,
    Kind,
    SearchResult,
    SearchResults,
)

if TYPE_CHECKING:
    from aurora.engine.memory import Memory
    from aurora.engine.opening import OpenedMemory

DID_NOT_WORK = "did not work"
_SHOWN = 3  # files, or ids


def with_remarks(
    found: SearchResults, memories: Mapping[str, tuple[OpenedMemory, str]]
) -> SearchResults:
    """The results with remarks. `memories` are theirs, by name, with the prefix of their paths."""

    def remarked(result: SearchResult) -> SearchResult:
        if result.memory not in memories or not result.chunk.kind.is_prose:
            return result
        remarks = find_remarks(memories[result.memory][0], result.chunk)
        return replace(result, remarks=remarks) if remarks else result

    weak = remarked(found.weak) if found.weak else None
    return replace(found, results=tuple(map(remarked, found.results)), weak=weak)


def with_sessions(found: SearchResults, memory: Memory, person: Memory | None) -> SearchResults:
    """The results with the number of sessions that edited their files. They are in the memory of
    the person, and the code is in that of a project."""
    root, home = memory.root, person._opened if person and person.exists else None
    files = {each.chunk.path for each in found.results if _is_code(each, memory.label)}
    if root is None or home is None or not files or not has_sessions(home.store):
        return found
    folders = checkout_folders(root.resolve())
    counts = home.read_again(lambda: count_sessions(home.store, files, folders))

    def counted(result: SearchResult) -> SearchResult:
        count = counts.get(result.chunk.path, 0) if _is_code(result, memory.label) else 0
        return replace(result, sessions=count) if count else result

    return replace(found, results=tuple(map(counted, found.results))) if counts else found


def _is_code(result: SearchResult, label: str) -> bool:
    is_here = result.memory in ("", label) and bool(result.chunk.path)
    return is_here and not result.chunk.is_recorded


def remarks_of(memory: Memory, chunk: Chunk) -> tuple[str, ...]:
    """The remarks on a chunk of this memory; none on code."""
    return find_remarks(memory._opened, chunk) if chunk.kind.is_prose else ()


def find_remarks(opened: OpenedMemory, chunk: Chunk) -> tuple[str, ...]:
    """Short phrases about a document or lesson."""
    facts, remarks = chunk.metadata, list[str]()
    if chunk.kind is Kind.REASONING:
        reasoning = opened.store.chunks.get_reasoning(chunk.id)
        if reasoning is not None and reasoning.success_score < LEAST_SUCCESS:
            remarks.append(DID_NOT_WORK)
    root = opened.root if PROVENANCE in facts else None
    if root is not None and (changed := find_changed(root, chunk)):
        remarks.append(f"stale: {_listed(changed)} changed since")
    if chunk.is_replaced:
        by = str(facts[REPLACED_BY]) or "an entry that is forgotten"
        remarks.append(f"replaced by {by}")
    replaced = facts.get(REPLACES)
    if isinstance(replaced, list) and replaced:
        remarks.append(f"replaces {_listed([str(id_) for id_ in replaced])}")
    return tuple(remarks)


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more
