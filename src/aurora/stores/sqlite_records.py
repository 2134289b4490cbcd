"""What hangs on chunks in SQLite: reasoning, accesses, vectors and git histories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import Embedder, Reasoning
from aurora.stores.sqlite_database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import (
    batches,
    history_from,
    history_values,
    moment,
    reasoning_from,
)
from aurora.types import ChunkHistory, Lines

_PUT_HISTORY = """
    INSERT INTO histories
        SELECT rowid, :tracking, :commits, :uncommitted FROM chunks WHERE id = :id
    ON CONFLICT (chunk) DO UPDATE SET
        tracking = :tracking, commits = :commits, uncommitted = :uncommitted
    WHERE (tracking, commits, uncommitted) IS NOT (:tracking, :commits, :uncommitted)"""


class SQLiteRecords(SQLiteDatabase):
    """The part of `Store` that is about what is known of chunks beside their text."""

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            self._write(
                "INSERT OR REPLACE INTO reasoning "
                "SELECT rowid, ?, ?, ?, ? FROM chunks WHERE id = ?",
                (
                    reasoning.pattern_type,
                    reasoning.success_score,
                    reasoning.usage_count,
                    reasoning.created_at.timestamp(),
                    chunk_id,
                ),
            )

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        rows = self._rows(
            "SELECT pattern_type, success_score, usage_count, reasoning.created_at "
            "FROM reasoning JOIN chunks ON chunks.rowid = reasoning.chunk WHERE chunks.id = ?",
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def record_access(self, chunk_id: str, at: datetime) -> None:
        with self.transaction():
            self._connection.execute(
                "INSERT INTO accesses SELECT rowid, ? FROM chunks WHERE id = ?",
                (at.timestamp(), chunk_id),
            )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for batch, marks in batches(chunk_ids):
            rows = self._rows(
                "SELECT chunks.id, at FROM accesses JOIN chunks ON chunks.rowid = accesses.chunk "
                f"WHERE chunks.id IN ({marks}) ORDER BY at",
                batch,
            )
            for id_, at in rows:
                found[id_] = (*found.get(id_, ()), moment(at))
        return found

    # Embeddings

    def embedder(self) -> Embedder | None:
        name, dimension, fingerprint = (
            self._fact(f"embedder.{part}") for part in ("name", "dimension", "fingerprint")
        )
        if name is None or dimension is None or fingerprint is None:
            return None
        return Embedder(name, int(dimension), fingerprint)

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self.transaction():
            owner = self._require(embedder)
            for chunk_id, vector in vectors:
                if len(vector) != 4 * embedder.dimension:
                    raise ValueError(
                        f"vector of {chunk_id!r} has {len(vector)} bytes, "
                        f"{embedder.name} makes {4 * embedder.dimension}"
                    )
                if owner is None:
                    owner = self._claim(embedder)
                self._write(
                    "INSERT OR REPLACE INTO embeddings SELECT rowid, ? FROM chunks WHERE id = ?",
                    (vector, chunk_id),
                )

    def _require(self, embedder: Embedder) -> Embedder | None:
        """Whose vectors the memory holds; another embedder's are refused."""
        owner = self.embedder()
        if owner is not None:
            owner.require(embedder)
        return owner

    def _claim(self, embedder: Embedder) -> Embedder:
        """The first vector makes the memory its embedder's own."""
        self._set_fact("embedder.name", embedder.name)
        self._set_fact("embedder.dimension", str(embedder.dimension))
        self._set_fact("embedder.fingerprint", embedder.fingerprint)
        return embedder

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        return {
            id_: vector
            for batch, marks in batches(chunk_ids)
            for id_, vector in self._rows(
                "SELECT chunks.id, vector FROM embeddings "
                f"JOIN chunks ON chunks.rowid = embeddings.chunk WHERE chunks.id IN ({marks})",
                batch,
            )
        }

    def find_unembedded(self) -> list[str]:
        rows = self._rows(
            f"SELECT chunks.id {SEARCHABLE} AND NOT EXISTS "
            "(SELECT 1 FROM embeddings WHERE chunk = chunks.rowid) ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]

    # Histories

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._rows(
            "SELECT id, start_line, end_line FROM chunks WHERE path = ? AND start_line IS NOT NULL",
            (path,),
        )
        return ((id_, Lines(start, end)) for id_, start, end in rows)

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        with self.transaction():
            return sum(
                self._connection.execute(
                    _PUT_HISTORY, {"id": id_, **history_values(history)}
                ).rowcount
                for id_, history in histories.items()
            )

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        return {
            row[0]: history_from(row[1:])
            for batch, marks in batches(chunk_ids)
            for row in self._rows(
                "SELECT chunks.id, tracking, commits, uncommitted, history_read_at "
                "FROM histories JOIN chunks ON chunks.rowid = histories.chunk "
                f"LEFT JOIN files ON files.path = chunks.path WHERE chunks.id IN ({marks})",
                batch,
            )
        }
