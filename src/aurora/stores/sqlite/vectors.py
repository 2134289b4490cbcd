"""`Vectors` in SQLite: two tables. After reembedding, the second takes the place of the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aurora.stores.base import Revision
from aurora.stores.parts import NEXT, USED, VectorPart
from aurora.stores.shared import Row
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.rows import revision_from, vector_from
from aurora.stores.sqlite.schema import CHECKED_EMBEDDINGS, HIDDEN_ROWS, SEARCHABLE

_BY_ID = """
    SELECT chunks.id, embeddings.* FROM embeddings
        JOIN chunks ON chunks.rowid = embeddings.chunk
    WHERE chunks.id IN ?"""


class SQLiteVectors(VectorPart[Database]):
    """`Vectors` in one file."""

    row, columns = "embeddings.chunk", "vector, embeddings.checksum"
    embedded = f"""
        FROM embeddings JOIN chunks ON chunks.rowid = embeddings.chunk
        WHERE embeddings.chunk NOT IN ({HIDDEN_ROWS})"""

    def empty_next(self) -> None:
        self._database.execute(f"DELETE FROM {NEXT}")

    def promote_next(self) -> None:
        database = self._database
        if database.waiting:  # a rename reads all triggers and would find the view
            database.execute("DROP VIEW temp.chunks")
        database.execute(f"DROP TABLE {USED}")
        database.execute(f"ALTER TABLE {NEXT} RENAME TO {USED}")
        database.execute(CHECKED_EMBEDDINGS)
        database.hide_waiting(database.connection)

    def put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        sql = (
            f"INSERT OR REPLACE INTO {table} "
            "SELECT rowid, :vector, checksum(rowid, :vector) FROM chunks WHERE id = :id"
        )
        rows = ({"id": chunk_id, "vector": vector} for chunk_id, vector in vectors)
        written = self._database.connection.executemany(sql, rows).rowcount
        if written > 0 and table == USED:  # those of the next embedder are not searchable yet
            self._database.draw_generation()

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        rows = self._database.rows_in(_BY_ID, chunk_ids)
        return {id_: vector_from(*values) for id_, *values in rows}

    def read_vector(self, row: Row) -> tuple[Revision, bytes]:
        number, generation, vector, written = row
        return revision_from(number, generation), vector_from(number, vector, written)

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        rows = self._database.rows(
            f"SELECT chunks.id {SEARCHABLE} AND NOT EXISTS "
            f"(SELECT 1 FROM {NEXT if by_next else USED} WHERE chunk = chunks.rowid) "
            "ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]
