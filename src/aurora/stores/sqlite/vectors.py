"""`Vectors` in SQLite: two tables. After reembedding, the second takes the place of the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from aurora.stores.base import Revision
from aurora.stores.shared import NEXT, USED, VectorPart
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.rows import batches, revision_from, vector_from
from aurora.stores.sqlite.schema import CHECKED_EMBEDDINGS, MAY_BE_FOUND, SEARCHABLE

_FROM_EMBEDDED = f"""
    FROM embeddings JOIN chunks ON chunks.rowid = embeddings.chunk
        LEFT JOIN reasoning ON reasoning.chunk = embeddings.chunk
    WHERE {MAY_BE_FOUND}"""
_EMBEDDED = f"SELECT chunks.rowid, chunks.generation {_FROM_EMBEDDED}"
_VECTORS = f"""
    SELECT chunks.rowid, chunks.generation, vector, embeddings.checksum {_FROM_EMBEDDED}"""


class SQLiteVectors(VectorPart[Database]):
    """`Vectors` in one file."""

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
        # Vectors of the next embedder are not searchable yet, so the generation stays.
        write = self._database.write if table == USED else self._database.execute
        for chunk_id, vector in vectors:
            write(sql, {"id": chunk_id, "vector": vector})

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        return {
            id_: vector_from(*values)
            for batch, marks in batches(chunk_ids)
            for id_, *values in self._database.rows(
                "SELECT chunks.id, embeddings.* FROM embeddings "
                f"JOIN chunks ON chunks.rowid = embeddings.chunk WHERE chunks.id IN ({marks})",
                batch,
            )
        }

    def vectors_page(self, last: int, limit: int) -> list[tuple[Revision, bytes]]:
        condition = "embeddings.chunk > ? ORDER BY embeddings.chunk LIMIT ?"
        return self._vectors(condition, (last, limit))

    def vectors_of(self, rows: Sequence[int]) -> Iterator[tuple[Revision, bytes]]:
        for batch, marks in batches(rows):
            condition = f"embeddings.chunk IN ({marks}) ORDER BY embeddings.chunk"
            yield from self._vectors(condition, batch)

    def _vectors(self, condition: str, values: Sequence[object]) -> list[tuple[Revision, bytes]]:
        rows = self._database.rows(f"{_VECTORS} AND {condition}", values)
        return [
            (revision_from(row, generation), vector_from(row, vector, written))
            for row, generation, vector, written in rows
        ]

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(self._database.rows(f"{_EMBEDDED} ORDER BY embeddings.chunk"))

    def count_vectors(self) -> int:
        return int(self._database.rows(f"SELECT count(*) FROM ({_EMBEDDED})")[0][0])

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        rows = self._database.rows(
            f"SELECT chunks.id {SEARCHABLE} AND NOT EXISTS "
            f"(SELECT 1 FROM {NEXT if by_next else USED} WHERE chunk = chunks.rowid) "
            "ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]
