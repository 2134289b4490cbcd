"""Vectors in SQLite: two tables, one of which takes the place of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aurora.stores.owning import NEXT, USED, Owning
from aurora.stores.sqlite_database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import batches
from aurora.stores.sqlite_schema import NEXT_EMBEDDINGS


class SQLiteEmbeddings(SQLiteDatabase, Owning):
    """The part of `Store` that is about vectors."""

    def _empty_next(self) -> None:
        self._connection.execute(f"DELETE FROM {NEXT}")

    def _promote_next(self) -> None:
        self._connection.execute(f"DROP TABLE {USED}")
        self._connection.execute(f"ALTER TABLE {NEXT} RENAME TO {USED}")
        self._connection.execute(NEXT_EMBEDDINGS)

    def _put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        sql = f"INSERT OR REPLACE INTO {table} SELECT rowid, ? FROM chunks WHERE id = ?"
        for chunk_id, vector in vectors:
            if table == USED:
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
            f"(SELECT 1 FROM {NEXT if by_next else USED} WHERE chunk = chunks.rowid) "
            "ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]
