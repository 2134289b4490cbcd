"""What signals read of many chunks at once in SQLite: their uses and their vectors, by row."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap

from aurora.stores.base import Revision, Uses
from aurora.stores.placing import Told, place_of
from aurora.stores.sqlite_checksums import damaged
from aurora.stores.sqlite_database import MAY_BE_FOUND, SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import (
    Row,
    access_from,
    batches,
    commits_from,
    revision_from,
    vector_from,
)
from aurora.types import Kind, Place

_NEEDED = 5  # columns of a place that are never empty, unless damaged
PAGE = 1000  # vectors read at a time; no lock is held in between

_ACCESSES = f"""
    SELECT accesses.* FROM accesses
        LEFT JOIN reasoning ON reasoning.chunk = accesses.chunk
    WHERE {MAY_BE_FOUND} AND accesses.chunk IN ({{marks}}) ORDER BY accesses.chunk, at"""
_COMMITS = f"""
    SELECT histories.* FROM histories
        LEFT JOIN reasoning ON reasoning.chunk = histories.chunk
    WHERE {MAY_BE_FOUND} AND histories.chunk IN ({{marks}}) AND commits <> x''"""
_VECTORS = f"""
    SELECT chunks.rowid, chunks.generation, vector, embeddings.checksum
    FROM embeddings JOIN chunks ON chunks.rowid = embeddings.chunk
        LEFT JOIN reasoning ON reasoning.chunk = embeddings.chunk
    WHERE {MAY_BE_FOUND}"""

_EMBEDDED = _VECTORS.replace(", vector, embeddings.checksum\n", "\n")
_DATED = f"""
    SELECT chunks.rowid, path {SEARCHABLE} AND kind = ? AND path GLOB ?
        AND json_extract(metadata, '$.source') IS NOT 'conversation'"""
_PLACES = """
    SELECT rowid, id, kind, path, namespace, json_extract(told, '$.source'),
        CAST(json_extract(told, '$.session') AS TEXT), CAST(json_extract(told, '$.seq') AS TEXT)
    FROM (SELECT *, iif(json_valid(metadata), metadata, '{{}}') AS told FROM chunks
          WHERE rowid IN ({marks}))"""
_DATE = f"*{'[0-9]' * 4}-{'[0-9]' * 2}-{'[0-9]' * 2}*"


class SQLiteSignals(SQLiteDatabase):
    """The part of `Store` that is about what ranks chunks beside their words."""

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        uses: dict[int, Uses] = {}
        for batch, marks in batches(rows):
            accesses: dict[int, list[float]] = {}
            for row, at in starmap(access_from, self._rows(_ACCESSES.format(marks=marks), batch)):
                accesses.setdefault(row, []).append(at)
            histories = self._rows(_COMMITS.format(marks=marks), batch)
            commits = {history[0]: commits_from(*history) for history in histories}
            for row in accesses.keys() | commits.keys():
                packed = commits.get(row, b"")
                uses[row] = Uses(
                    accesses.get(row, ()), struct.unpack(f"<{len(packed) // 8}q", packed)
                )
        return uses

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return {
            told.row: place_of(told)
            for batch, marks in batches(rows)
            for told in map(_told, self._rows(_PLACES.format(marks=marks), batch))
        }

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        if rows is None:
            yield from self._iter_all_vectors()
            return
        for batch, marks in batches(sorted(set(rows))):
            which = f"AND embeddings.chunk IN ({marks}) ORDER BY embeddings.chunk"
            yield from self._vectors(which, batch)

    def _iter_all_vectors(self) -> Iterator[tuple[Revision, bytes]]:
        page, last = PAGE, 0
        while page == PAGE:
            which = "AND embeddings.chunk > ? ORDER BY embeddings.chunk LIMIT ?"
            vectors = self._vectors(which, (last, PAGE))
            yield from vectors
            page, last = len(vectors), vectors[-1][0].row if vectors else 0

    def _vectors(self, which: str, values: Sequence[object]) -> list[tuple[Revision, bytes]]:
        rows = self._rows(f"{_VECTORS} {which}", values)
        return [
            (revision_from(row, generation), vector_from(row, vector, written))
            for row, generation, vector, written in rows
        ]

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(self._rows(f"{_EMBEDDED} ORDER BY embeddings.chunk"))

    def count_vectors(self) -> int:
        return int(self._rows(f"SELECT count(*) FROM ({_EMBEDDED})")[0][0])

    def dated_paths(self) -> Mapping[int, str]:
        return dict(self._rows(_DATED, (str(Kind.KNOWLEDGE), _DATE)))


def _told(row: Row) -> Told:
    if None in row[:_NEEDED]:
        raise damaged(f"The chunk of row {row[0]}")
    return Told._make(row)
