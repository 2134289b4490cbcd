"""Whole records on their way into a memory: merged with what is there, in every database alike.

What is the same already is not written again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import Embedder, Reasoning, Record
from aurora.stores.owning import Owning
from aurora.stores.replacing import Replacing, portions
from aurora.types import ChunkHistory

PAGE = 500  # records read or written at a time


class Uniting(Replacing, Owning):
    """`put_records` and `record_access`, for a store that can write each part of a record."""

    @abstractmethod
    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int: ...

    @abstractmethod
    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]: ...

    @abstractmethod
    def get_reasoning(self, chunk_id: str) -> Reasoning | None: ...

    @abstractmethod
    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None: ...

    @abstractmethod
    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]: ...

    @abstractmethod
    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None: ...

    def record_access(self, chunk_id: str, at: datetime) -> None:
        with self.transaction():
            self._add_accesses([(chunk_id, at)])

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        new = 0
        with self.transaction():
            for some in portions(records, PAGE):
                chunks = {record.chunk.id: record.chunk for record in some}
                known = self._by_id(list(chunks))
                self._replace(known, chunks)
                self._put_what_hangs_on(some)
                if embedder is not None:
                    self._put_other_vectors(embedder, some)
                new += len(chunks) - len(known)
        return new

    def _put_what_hangs_on(self, records: Sequence[Record]) -> None:
        self.put_histories({r.chunk.id: r.history for r in records if r.history is not None})
        self._unite_accesses({r.chunk.id: r.accesses for r in records if r.accesses})
        for record in records:
            id_, reasoning = record.chunk.id, record.reasoning
            if reasoning is not None and reasoning != self.get_reasoning(id_):
                self.put_reasoning(id_, reasoning)

    def _unite_accesses(self, wanted: Mapping[str, tuple[datetime, ...]]) -> None:
        """Two uses at one moment are two, also when they are taken in twice."""
        known = self.get_accesses(list(wanted))
        self._add_accesses(
            (id_, at)
            for id_, accesses in wanted.items()
            for at in (Counter(accesses) - Counter(known.get(id_, ()))).elements()
        )

    def _put_other_vectors(self, embedder: Embedder, records: Sequence[Record]) -> None:
        vectors = {r.chunk.id: r.vector for r in records if r.vector is not None}
        known = self.get_embeddings(list(vectors))
        other = [pair for pair in vectors.items() if known.get(pair[0]) != pair[1]]
        self.put_embeddings(embedder, other)
