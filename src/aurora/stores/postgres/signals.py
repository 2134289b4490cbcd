"""What signals read of many chunks at once in PostgreSQL: their uses and their vectors, by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aurora.stores.base import Revision, Uses
from aurora.stores.placing import Told, place_of
from aurora.stores.postgres.database import PostgresDatabase
from aurora.stores.postgres.embeddings import from_text
from aurora.stores.postgres.nul import show
from aurora.stores.replacing import PAGE, portions
from aurora.types import Kind, Place

_USES = """
    SELECT chunks."row",
        (SELECT array_agg(extract(epoch FROM at)::float8 ORDER BY at) FROM accesses
         WHERE accesses."row" = chunks."row" AND accesses.namespace = chunks.namespace),
        histories.commits
    FROM chunks LEFT JOIN histories USING ("row", namespace)
    WHERE is_found AND chunks."row" = ANY(%s)"""
_VECTORS = """
    SELECT chunks."row", generation, vector::text
    FROM used_vectors JOIN chunks USING ("row", namespace) WHERE is_found"""
_PLACES = """
    SELECT "row", id, kind, path, namespace,
        metadata ->> 'source', metadata ->> 'session', metadata ->> 'seq'
    FROM chunks WHERE "row" = ANY(%s)"""
_DATED = """
    SELECT "row", path FROM chunks WHERE is_found AND kind = %s
        AND path ~ '[0-9]{4}-[0-9]{2}-[0-9]{2}'
        AND metadata ->> 'source' IS DISTINCT FROM 'conversation'"""


class PostgresSignals(PostgresDatabase):
    """The part of `Store` that is about what ranks chunks beside their words."""

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        return {
            row: Uses(accesses or (), commits or ())
            for some in portions(rows, PAGE)
            for row, accesses, commits in self._rows(_USES, (some,))
            if accesses or commits
        }

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return {
            row: place_of(Told(row, *(text and show(text) for text in texts)))
            for some in portions(rows, PAGE)
            for row, *texts in self._rows(_PLACES, (some,))
        }

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        if rows is None:
            yield from self._iter_all_vectors()
            return
        for some in portions(sorted(set(rows)), PAGE):
            yield from self._vectors('AND "row" = ANY(%s) ORDER BY "row"', (some,))

    def _iter_all_vectors(self) -> Iterator[tuple[Revision, bytes]]:
        page, last = PAGE, 0
        while page == PAGE:
            vectors = self._vectors('AND "row" > %s ORDER BY "row" LIMIT %s', (last, PAGE))
            yield from vectors
            page, last = len(vectors), vectors[-1][0].row if vectors else 0

    def _vectors(self, which: str, values: Sequence[object]) -> list[tuple[Revision, bytes]]:
        rows = self._rows(f"{_VECTORS} {which}", values)
        return [(Revision(row, generation), from_text(vector)) for row, generation, vector in rows]

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(
            self._rows(
                'SELECT "row", generation FROM used_vectors JOIN chunks USING ("row", namespace) '
                'WHERE is_found ORDER BY "row"'
            )
        )

    def dated_paths(self) -> Mapping[int, str]:
        return {row: show(path) for row, path in self._rows(_DATED, (str(Kind.KNOWLEDGE),))}
