"""Vectors in SQLite: those in use, and beside them those of the model that takes over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aurora.errors import StoreError
from aurora.stores.base import VECTOR_WIDTH, Embedder
from aurora.stores.sqlite_database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import batches
from aurora.stores.sqlite_schema import NEXT_EMBEDDINGS

_USED, _NEXT = "embeddings", "next_embeddings"
_FACTS = {_USED: "embedder", _NEXT: "next_embedder"}
_PARTS = ("name", "dimension", "fingerprint")


class SQLiteEmbeddings(SQLiteDatabase):
    """The part of `Store` that is about vectors and who made them."""

    def embedder(self) -> Embedder | None:
        return self._owner(_USED)

    def next_embedder(self) -> Embedder | None:
        return self._owner(_NEXT)

    def _owner(self, table: str) -> Embedder | None:
        name, dimension, fingerprint = (self._fact(f"{_FACTS[table]}.{part}") for part in _PARTS)
        if name is None or dimension is None or fingerprint is None:
            return None
        return Embedder(name, int(dimension), fingerprint)

    def _claim(self, table: str, embedder: Embedder) -> None:
        for part, value in zip(_PARTS, embedder, strict=True):
            self._set_fact(f"{_FACTS[table]}.{part}", str(value))

    def start_reembedding(self, embedder: Embedder) -> None:
        with self.transaction():
            if self._owner(_USED) in (None, embedder):
                raise StoreError(f"There are no vectors that {embedder.name} could replace")
            if self._owner(_NEXT) != embedder:
                self.stop_reembedding()
                self._claim(_NEXT, embedder)

    def stop_reembedding(self) -> None:
        with self.transaction():
            if self._owner(_NEXT) is not None:
                self._connection.execute(f"DELETE FROM {_NEXT}")
                self._forget_next()

    def _forget_next(self) -> None:
        self._connection.execute("DELETE FROM facts WHERE name LIKE 'next_embedder.%'")

    def finish_reembedding(self) -> None:
        with self.transaction():
            owner = self._owner(_NEXT)
            if owner is None:
                raise StoreError("No other model's vectors are being made in this memory")
            # A table takes another's place at no cost, however many vectors it holds.
            self._connection.execute(f"DROP TABLE {_USED}")
            self._connection.execute(f"ALTER TABLE {_NEXT} RENAME TO {_USED}")
            self._connection.execute(NEXT_EMBEDDINGS)
            self._forget_next()
            self._claim(_USED, owner)
            self._draw_generation()

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self.transaction():
            table, is_new = self._table_of(embedder)
            for chunk_id, vector in vectors:
                _require_width(chunk_id, vector, embedder)
                if is_new:  # the first vector makes the memory its embedder's own
                    self._claim(table, embedder)
                    is_new = False
                self._put_vector(table, chunk_id, vector)

    def _table_of(self, embedder: Embedder) -> tuple[str, bool]:
        """Where its vectors belong, and whether they would be the first. Others' are refused."""
        owner = self._owner(_USED)
        if owner is not None and owner != embedder and self._owner(_NEXT) == embedder:
            return _NEXT, False
        if owner is not None:
            owner.require(embedder)
        return _USED, owner is None

    def _put_vector(self, table: str, chunk_id: str, vector: bytes) -> None:
        sql = f"INSERT OR REPLACE INTO {table} SELECT rowid, ? FROM chunks WHERE id = ?"
        if table == _USED:
            self._write(sql, (vector, chunk_id))
        else:  # nothing is found by it yet, so the generation stays
            self._connection.execute(sql, (vector, chunk_id))

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

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        rows = self._rows(
            f"SELECT chunks.id {SEARCHABLE} AND NOT EXISTS "
            f"(SELECT 1 FROM {_NEXT if by_next else _USED} WHERE chunk = chunks.rowid) "
            "ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]


def _require_width(chunk_id: str, vector: bytes, embedder: Embedder) -> None:
    wanted = VECTOR_WIDTH * embedder.dimension
    if len(vector) != wanted:
        raise ValueError(
            f"vector of {chunk_id!r} has {len(vector)} bytes, {embedder.name} makes {wanted}"
        )
