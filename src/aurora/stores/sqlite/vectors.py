"""Vectors in SQLite: two tables, one of which takes the place of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aurora.stores.shared import NEXT, USED, Owning
from aurora.stores.sqlite.database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite.rows import batches, vector_from
from aurora.stores.sqlite.schema import CHECKED_EMBEDDINGS


class SQLiteEmbeddings(SQLiteDatabase, Owning):
    """The part of `Store` that is about vectors."""

    def _empty_next(self) -> None:
        self._connection.execute(f"DELETE FROM {NEXT}")

    def _promote_next(self) -> None:
        if self.waiting:  # to rename a table, SQLite reads all triggers, and would find the view
            self._connection.execute("DROP VIEW temp.chunks")
        self._connection.execute(f"DROP TABLE {USED}")
        self._connection.execute(f"ALTER TABLE {NEXT} RENAME TO {USED}")
        self._connection.execute(CHECKED_EMBEDDINGS)
        self._hide(self._connection)

    def _put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        sql = (
            f"INSERT OR REPLACE INTO {table} "
            "SELECT rowid, :vector, checksum(rowid, :vector) FROM chunks WHERE id = :id"
        )
        for chunk_id, vector in vectors:
            values = {"id": chunk_id, "vector": vector}
            if table == USED:
                self._write(sql, values)
            else:  # nothing is found by it yet, so the generation stays
                self._connection.execute(sql, values)

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        return {
            id_: vector_from(*values)
            for batch, marks in batches(chunk_ids)
            for id_, *values in self._rows(
                "SELECT chunks.id, embeddings.* FROM embeddings "
                f"JOIN chunks ON chunks.rowid = embeddings.chunk WHERE chunks.id IN ({marks})",
                batch,
            )
        }

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        rows = self._rows(
            f"SELECT chunks.id {SEARCHABLE} AND NOT EXISTS "
            f"(SELECT 1 FROM {NEXT if by_next else USED} WHERE chunk = chunks.rowid) "
            "ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]
