"""One memory into another, whatever keeps them: in pages, each whole, so that it can go on.

It is the memory of one moment. What the other has already is compared, not written again: killed
and started anew, a copy comes to the same end. Vectors that a model to come has made so far stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from aurora.errors import StoreAwayError, TransferError
from aurora.indexing.insisting import insist
from aurora.indexing.merging import mark_robbed, merge_files, put_indexed_at, require_embedder
from aurora.indexing.turns import take_turn
from aurora.stores.base import Embedder, FileState, Record, RecordCounts, Store
from aurora.stores.ranking import RankingStore
from aurora.types import Listener, Progress, ignore_events

T = TypeVar("T")

_PAGE = 500  # records, or states of files, in one transaction
_GROWTH = 4  # times as many chunks, until statistics are renewed


@dataclass(frozen=True, slots=True)
class Copied:
    """What there was to copy, and what the other memory holds now."""

    files: int
    new: int  # chunks whose ids the other memory did not have
    source: RecordCounts
    target: RecordCounts

    @property
    def is_merged(self) -> bool:
        """Whether the other memory holds more than was copied into it."""
        return self.target != self.source


class _Target(NamedTuple):
    store: Store
    embedder: Embedder | None
    listen: Listener

    def put(self, page: Sequence[Record]) -> int:
        with self.store.transaction():
            mark_robbed(self.store, page)
            return self.store.put_records(page, embedder=self.embedder)

    def put_files(self, page: Sequence[FileState]) -> int:
        with self.store.transaction():
            merge_files(self.store, page)
        return len(page)

    def renew_statistics(self) -> None:
        """Or a database that does not know yet how much it holds would read all of it each time."""
        if isinstance(self.store, RankingStore):
            with suppress(StoreAwayError):  # the next page says so, and waits
                self.store.renew_statistics()

    def again(self, write: Callable[[Sequence[T]], int], page: Sequence[T]) -> int:
        """A page that did not arrive is sent again: one that did is not written twice."""
        return insist(partial(write, page), listen=self.listen)


def copy_memory(
    source: Store, target: Store, *, vectors: bool = True, listen: Listener = ignore_events
) -> Copied:
    """Take all of one memory into another, which may hold something already.

    A chunk that both have becomes as it is in the source, accesses are united, and nothing is taken
    away. Raises `EmbedderMismatchError` where vectors of two models would mix.
    """
    with source.snapshot() as still, take_turn(target, listen=listen):
        if vectors:
            require_embedder(target, still.embedder(), doing="copies")
        into = _Target(target, still.embedder() if vectors else None, listen)
        counts, before = still.count_records(), target.count_records()
        new = _copy_records(still, into, counts.chunks)
        files = _copy_files(still, into)
        put_indexed_at(target, still.indexed_at())
    copied = Copied(files, new, counts, target.count_records())
    _require_all(copied, before, vectors=vectors)
    return copied


def _copy_records(source: Store, into: _Target, total: int) -> int:
    done = new = next_look = 0
    records = source.iter_records()
    while page := list(islice(records, _PAGE)):
        if done >= next_look:
            into.renew_statistics()
            next_look = done * _GROWTH
        new += into.again(into.put, page)
        done += len(page)
        into.listen(Progress("Copying", done, total))
    return new


def _copy_files(source: Store, into: _Target) -> int:
    """After all chunks: a file whose state is known is not read again by an index."""
    states = source.file_states()
    rest = iter([states[path] for path in sorted(states)])
    while page := list(islice(rest, _PAGE)):
        into.again(into.put_files, page)
    return len(states)


def _require_all(copied: Copied, before: RecordCounts, *, vectors: bool) -> None:
    """Counted on the other side: no fewer than were sent, nor than there were and came."""
    wanted = copied.source if vectors else copied.source._replace(vectors=0)
    too_few = [
        f"{there:,} {name} of {sent:,}"
        for name, sent, there in zip(RecordCounts._fields, wanted, copied.target, strict=True)
        if there < sent
    ]
    if copied.target.chunks < (expected := before.chunks + copied.new):
        too_few.append(f"{copied.target.chunks:,} chunks of {expected:,}")
    if too_few:
        raise TransferError(
            f"The copy is not whole: it holds {', '.join(too_few)}",
            hint="somebody may have removed chunks meanwhile; copy again: it goes on",
        )
