"""Vectors in PostgreSQL: `halfvec`, the numbers as they are packed; an HNSW index beyond a size."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import Embedder
from aurora.stores.postgres.database import PostgresDatabase
from aurora.stores.postgres.rows import as_json, show
from aurora.stores.shared import NEXT, PAGE, USED, Owning, portions
from aurora.text import is_text

_PUT = """
    INSERT INTO embeddings ("row", namespace, slot, vector)
        SELECT chunks."row", chunks.namespace, %s, given.vector::halfvec
        FROM json_to_recordset(%s) AS given (id text, vector text)
        JOIN chunks ON chunks.id = given.id
    ON CONFLICT ("row", namespace, slot) DO UPDATE SET vector = excluded.vector"""
_UNEMBEDDED = """
    is_found AND NOT EXISTS (
        SELECT 1 FROM {vectors} AS made
        WHERE made."row" = chunks."row" AND made.namespace = chunks.namespace)
    ORDER BY "row" """


class PostgresEmbeddings(PostgresDatabase, Owning):
    """The part of `Store` that is about vectors."""

    def _slot(self, table: str) -> int:
        used = int(self._fact("slot") or 0)
        return used if table == USED else 1 - used

    def _empty_next(self) -> None:
        self._execute("DELETE FROM embeddings WHERE slot = %s", (self._slot(NEXT),))

    def _promote_next(self) -> None:
        self._set_fact("slot", str(self._slot(NEXT)))
        self._empty_next()

    def _put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        # A vector is put in once, however often it is given.
        for some in portions(dict(vectors).items(), PAGE):
            given = as_json({"id": id_, "vector": as_text(vector)} for id_, vector in some)
            written = self._execute(_PUT, (self._slot(table), given))
            if written and table == USED:  # of those to come nothing is found yet
                self._draw_generation()

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        return {
            show(id_): from_text(vector)
            for some in portions(filter(is_text, chunk_ids), PAGE)
            for id_, vector in self._rows(
                "SELECT chunks.id, vector::text FROM used_vectors "
                'JOIN chunks USING ("row", namespace) WHERE chunks.id = ANY(%s)',
                (some,),
            )
        }

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        which = _UNEMBEDDED.format(vectors="next_vectors" if by_next else "used_vectors")
        return [show(id_) for (id_,) in self._rows(f"SELECT id FROM chunks WHERE {which}")]

    def count_vectors(self) -> int:
        return int(
            self._rows(
                'SELECT count(*) FROM used_vectors JOIN chunks USING ("row", namespace) '
                "WHERE is_found"
            )[0][0]
        )

    def _dimension(self) -> int:
        owner: Embedder | None = self.embedder()
        return owner.dimension if owner is not None else 0


def as_text(vector: bytes) -> str:
    """A packed vector as pgvector reads it, to the last bit."""
    numbers = struct.unpack(f"<{len(vector) // VECTOR_WIDTH}H", vector)
    return "[" + ",".join(map(_texts.__getitem__, numbers)) + "]"


class _Texts(dict[int, str]):
    """The bits of a half → its digits: there are 65,536 of them, and vectors repeat them."""

    def __missing__(self, bits: int) -> str:
        self[bits] = text = repr(struct.unpack("<e", struct.pack("<H", bits))[0])
        return text


_texts = _Texts()


def from_text(written: str) -> bytes:
    numbers = list(map(float, written[1:-1].split(",")))
    return struct.pack(f"<{len(numbers)}e", *numbers)
