"""What a recall reads of the memories, and the items that it makes of chunks.

Lessons and documents of a memory are rows, each with how often it was used. A row is about a file
if it names the file, or if the file is in its provenance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from aurora.engine.exchange_text import exchange_text, has_question
from aurora.engine.opening import OpenedMemory
from aurora.indexing.provenance import provenance_of
from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple, replace
from aurora.session_facts import AGENT_MEMORY, SESSION, TALK
from aurora.stores.base import Store
from aurora.text import printable
from aurora.types import LEAST_SUCCESS, Chunk, Criteria, Kind, RecallItem

RECORDED = (Criteria(kinds=(Kind.REASONING,)), Criteria(metadata=(("source", "document"),)))
_READ = 300  # the newest lessons, documents and phases of a memory that are looked at
_PART = lazy_pattern(
    r"(?::(?:command|fix):.*|:decisions|@[0-9]+)$", re.DOTALL
)  # after an exchange's id
_LONGEST = 240  # characters of a text
_DONE = frozenset(("done", "completed", "finished", "closed", "cancelled", "abandoned", "rejected"))
_PATHS = lazy_pattern(r"[\w./-]*\w")  # a word that may be a path, without a full stop after it


class Row(NamedTuple):
    """A chunk of a memory, and how often it was learnt or opened."""

    chunk: Chunk
    memory: str
    uses: int

    @property
    def is_lesson(self) -> bool:
        return self.chunk.kind is Kind.REASONING

    @property
    def is_open(self) -> bool:
        """False for plans that are done, and for files in which agents remember: they read these
        by themselves."""
        return not _is_done(self.chunk) and self.chunk.document_type != AGENT_MEMORY


def read_rows(memories: Mapping[str, OpenedMemory], filters: Iterable[Criteria]) -> list[Row]:
    """The newest chunks that pass one of the filters, the newest first. Of a document, the first
    piece. Stores leave out what is superseded."""
    rows: list[Row] = []
    wanted = tuple(filters)
    for name, opened in memories.items():
        for chunk, uses in opened.read(partial(_read_store, opened.store, wanted))[0]:
            if chunk.metadata.get("part", 1) == 1:
                rows.append(Row(chunk, name, uses))
    return sorted(rows, key=lambda each: (-_seconds(each.chunk), each.chunk.id))


def _read_store(store: Store, filters: Sequence[Criteria]) -> list[tuple[Chunk, int]]:
    rows = {row for each in filters for row in store.search.find_rows(each)[-_READ:]}
    chunks = store.chunks.get_rows(sorted(rows - store.checkouts.hidden_rows())).values()
    accesses = store.chunks.get_accesses([chunk.id for chunk in chunks])
    return [(chunk, _tries(chunk) + len(accesses.get(chunk.id, ()))) for chunk in chunks]


def _tries(chunk: Chunk) -> int:
    tries = chunk.metadata.get("tries")
    return tries if isinstance(tries, int) else 0


def _seconds(chunk: Chunk) -> float:
    return chunk.created_at.timestamp() if chunk.created_at else 0.0


def is_plan(chunk: Chunk) -> bool:
    return chunk.document_type.lower() == "plan"


def _is_done(chunk: Chunk) -> bool:
    """A plan is done by its `status`, or when all of its boxes are ticked."""
    status, text = str(chunk.metadata.get("status", "")).strip().lower(), chunk.content.lower()
    is_ticked = "[x]" in text and "[ ]" not in text
    return is_plan(chunk) and (status in _DONE or is_ticked)


def is_about(chunk: Chunk, paths: Iterable[str]) -> str:
    """The first of the paths that a chunk is about, or "". It names the file, its path, or a folder
    above it, or it was recorded with the file."""
    words = {word.removeprefix("./") for word in _PATHS.findall(chunk.content)}
    recorded = {chunk.path, *provenance_of(chunk).files}
    for path in paths:
        above = map(str, PurePosixPath(path).parents)
        names = {path, PurePosixPath(path).name, *(folder for folder in above if "/" in folder)}
        if path in recorded or not words.isdisjoint(names):
            return path
    return ""


def outcome_of(opened: OpenedMemory, row: Row) -> str:
    """Whether a lesson worked, and how often it was used."""
    if not row.is_lesson:
        return ""
    reasoning = opened.read_again(partial(opened.store.chunks.get_reasoning, row.chunk.id))
    has_worked = reasoning is None or reasoning.success_score >= LEAST_SUCCESS
    times = f", used {row.uses} times" if row.uses > 1 else ""
    return f"{'worked' if has_worked else 'did not work'}{times}"


# Items


def make_item(chunk: Chunk, memory: str, reason: str) -> RecallItem:
    """A chunk as a line. Its tokens are counted when it is known that the line is wanted."""
    title = "" if chunk.kind is Kind.REASONING else title_of(chunk)  # the beginning of its text
    content = exchange_text(chunk) if has_question(chunk) else chunk.content
    text = on_one_line(content).lstrip("# ").removeprefix(title).lstrip()
    return RecallItem(
        chunk.id, _kind(chunk), title, shortened(text), chunk.created_at, reason, 0, memory
    )


def make_exchange_item(chunk: Chunk, memory: str, reason: str) -> RecallItem:
    """As `make_item`, without the title of the session, which is about its first question."""
    item = make_item(chunk, memory, reason)
    return replace(item, title="") if item.text.startswith("asked: ") else item


def exchange_of(id_: str) -> str:
    """The id of an exchange's first piece, by that of one of its pieces; any other id as it is."""
    return _PART.sub("", id_) if id_.startswith(f"{SESSION}:") else id_


def on_one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def shortened(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + " …"


def title_of(chunk: Chunk) -> str:
    title = chunk.metadata.get("title")
    return printable(title if isinstance(title, str) else chunk.qualified_name or chunk.name)


def _kind(chunk: Chunk) -> str:
    if chunk.kind is Kind.REASONING:
        return "lesson"
    source = chunk.metadata.get("source")
    named = str(source) if source in TALK else chunk.document_type
    return printable(named or str(chunk.kind))
