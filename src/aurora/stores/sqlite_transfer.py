"""Whole records in SQLite: chunks with all that hangs on them, on their way out of a memory or in.

Going in, they are merged with what is there; what is the same already is not written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from aurora.stores.base import Embedder, Record
from aurora.stores.sqlite_chunks import QUALIFIED, SQLiteChunks
from aurora.stores.sqlite_embeddings import SQLiteEmbeddings
from aurora.stores.sqlite_records import SQLiteRecords
from aurora.stores.sqlite_rows import (
    Row,
    chunk_from,
    history_from,
    moment,
    portions,
    reasoning_from,
)

PAGE = 500  # records read or written at a time

_RECORDS = f"""
    SELECT {QUALIFIED}, chunks.rowid, vector, tracking, commits, uncommitted,
        pattern_type, success_score, usage_count, reasoning.created_at
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
        LEFT JOIN histories ON histories.chunk = chunks.rowid
        LEFT JOIN embeddings ON embeddings.chunk = chunks.rowid
    WHERE chunks.rowid > ? ORDER BY chunks.rowid LIMIT ?"""
_ROW = 13  # where the row's number stands; what hangs on the chunk comes after it
_ACCESSES = "SELECT chunk, at FROM accesses WHERE chunk BETWEEN ? AND ? ORDER BY chunk, at"


class SQLiteTransfer(SQLiteChunks, SQLiteRecords, SQLiteEmbeddings):
    """The part of `Store` that is about going from one memory into another."""

    def iter_records(self) -> Iterator[Record]:
        last = 0
        while True:
            page = self._rows(_RECORDS, (last, PAGE))
            yield from self._records(page)
            if len(page) < PAGE:
                return
            last = page[-1][_ROW]

    def _records(self, page: Sequence[Row]) -> Iterator[Record]:
        if not page:
            return
        accesses: dict[int, list[datetime]] = {}
        for row, at in self._rows(_ACCESSES, (page[0][_ROW], page[-1][_ROW])):
            accesses.setdefault(row, []).append(moment(at))
        for values in page:
            row, vector, *rest = values[_ROW:]
            history, reasoning = rest[:3], rest[3:]
            yield Record(
                chunk_from(values),
                None if reasoning[0] is None else reasoning_from(tuple(reasoning)),
                tuple(accesses.get(row, ())),
                None if history[0] is None else history_from((*history, None)),
                vector,
            )

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        new = 0
        with self.transaction():
            for some in portions(records, PAGE):
                chunks = {record.chunk.id: record.chunk for record in some}
                known = self._by_id(list(chunks))
                self._replace(known, chunks)
                self._put_what_hangs_on(some)
                if embedder is not None:
                    self._put_vectors(embedder, some)
                new += len(chunks) - len(known)
        return new

    def _put_what_hangs_on(self, records: Sequence[Record]) -> None:
        self.put_histories({r.chunk.id: r.history for r in records if r.history is not None})
        self._unite_accesses({r.chunk.id: r.accesses for r in records if r.accesses})
        for record in records:
            id_, reasoning = record.chunk.id, record.reasoning
            if reasoning is not None and reasoning != self.get_reasoning(id_):
                self.put_reasoning(id_, reasoning)

    def _unite_accesses(self, wanted: dict[str, tuple[datetime, ...]]) -> None:
        """Two uses at one moment are two, also when they are taken in twice."""
        known = self.get_accesses(list(wanted))
        for id_, accesses in wanted.items():
            for at in (Counter(accesses) - Counter(known.get(id_, ()))).elements():
                self.record_access(id_, at)

    def _put_vectors(self, embedder: Embedder, records: Sequence[Record]) -> None:
        vectors = {r.chunk.id: r.vector for r in records if r.vector is not None}
        known = self.get_embeddings(list(vectors))
        other = [pair for pair in vectors.items() if known.get(pair[0]) != pair[1]]
        self.put_embeddings(embedder, other)
