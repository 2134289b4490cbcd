"""`Vectors` in PostgreSQL: `halfvec` columns in two slots, one of which is in use."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from aurora.stores.base import Revision
from aurora.stores.parts import NEXT, USED, VectorPart
from aurora.stores.postgres import binary
from aurora.stores.postgres.connection import Database
from aurora.stores.shared import PAGE, Row, portions

_NUMBERED = 'SELECT id, "row", namespace FROM chunks WHERE id = ANY(%s)'
_DROP = 'DELETE FROM embeddings WHERE "row" = ANY(%s) AND slot = %s'
_ADDED = 'embeddings ("row", namespace, slot, vector)'
_BY_ID = """
    SELECT chunks.id, vector::text FROM used_vectors JOIN chunks USING ("row", namespace)
    WHERE chunks.id IN ?"""


class PostgresVectors(VectorPart[Database]):
    """`Vectors` in one schema."""

    row, columns = '"row"', "vector::text"
    embedded = 'FROM used_vectors JOIN chunks USING ("row", namespace) WHERE is_found'

    def _slot(self, table: str) -> int:
        used = int(self._database.fact("slot") or 0)
        return used if table == USED else 1 - used

    def empty_next(self) -> None:
        self._database.execute("DELETE FROM embeddings WHERE slot = %s", (self._slot(NEXT),))

    def promote_next(self) -> None:
        self._database.set_fact("slot", str(self._slot(NEXT)))
        self.empty_next()

    def put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        slot, added = self._slot(table), 0
        for page in portions(dict(vectors).items(), PAGE):  # each id once
            ids = [id_ for id_, _ in page]
            rows = self._database.rows(_NUMBERED, (ids,))
            places = {id_: (row, namespace) for id_, row, namespace in rows}
            self._database.execute(_DROP, ([row for row, _ in places.values()], slot))
            given = ((*places[id_], vector) for id_, vector in page if id_ in places)
            self._database.copy(_ADDED, (_row(slot, *values) for values in given))
            added += len(places)
        # Vectors of the next embedder are not searchable yet, so the generation stays.
        if added and table == USED:
            self._database.draw_generation()

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        rows = self._database.rows_in(_BY_ID, chunk_ids)
        return {id_: from_text(vector) for id_, vector in rows}

    def read_vector(self, row: Row) -> tuple[Revision, bytes]:
        number, generation, vector = row
        return Revision(number, generation), from_text(vector)

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        rows = self._database.rows(
            "SELECT id FROM chunks WHERE is_found AND NOT EXISTS ("
            f"SELECT 1 FROM {'next' if by_next else 'used'}_vectors AS made "
            'WHERE made."row" = chunks."row" AND made.namespace = chunks.namespace) '
            'ORDER BY "row"'
        )
        return [id_ for (id_,) in rows]


def _row(slot: int, number: int, namespace: str, vector: bytes) -> bytes:
    return binary.row(
        (
            binary.bigint(number), binary.text(namespace), binary.smallint(slot),
            binary.halfvec(vector),
        )
    )  # fmt: skip


def from_text(written: str) -> bytes:
    numbers = list(map(float, written[1:-1].split(",")))
    return struct.pack(f"<{len(numbers)}e", *numbers)
