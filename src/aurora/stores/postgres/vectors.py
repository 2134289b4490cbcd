"""`Vectors` in PostgreSQL: `halfvec` columns in two slots, one of which is in use."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import Revision
from aurora.stores.parts import NEXT, USED, VectorPart
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.rows import as_json
from aurora.stores.shared import PAGE, Row, portions

_PUT = """
    INSERT INTO embeddings ("row", namespace, slot, vector)
        SELECT chunks."row", chunks.namespace, %s, given.vector::halfvec
        FROM json_to_recordset(%s) AS given (id text, vector text)
        JOIN chunks ON chunks.id = given.id
    ON CONFLICT ("row", namespace, slot) DO UPDATE SET vector = excluded.vector"""
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
        # Vectors of the next embedder are not searchable yet, so the generation stays.
        write = self._database.write if table == USED else self._database.execute
        for page in portions(dict(vectors).items(), PAGE):  # each id once
            given = as_json({"id": id_, "vector": as_text(vector)} for id_, vector in page)
            write(_PUT, (self._slot(table), given))

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


def as_text(vector: bytes) -> str:
    """A packed vector in pgvector's syntax, without loss."""
    numbers = struct.unpack(f"<{len(vector) // VECTOR_WIDTH}H", vector)
    return "[" + ",".join(map(_texts.__getitem__, numbers)) + "]"


class _Texts(dict[int, str]):
    """The bits of a half-precision number → its digits, cached: vectors repeat the numbers."""

    def __missing__(self, bits: int) -> str:
        self[bits] = text = repr(struct.unpack("<e", struct.pack("<H", bits))[0])
        return text


_texts = _Texts()


def from_text(written: str) -> bytes:
    numbers = list(map(float, written[1:-1].split(",")))
    return struct.pack(f"<{len(numbers)}e", *numbers)
