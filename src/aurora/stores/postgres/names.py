"""Chunks by their names in PostgreSQL, however they are spelt."""

from __future__ import annotations

from collections.abc import Iterator

from aurora.stores.base import Definition
from aurora.stores.fitting import has_wildcard, literal_parts, name_test
from aurora.stores.postgres.database import PostgresDatabase
from aurora.stores.postgres.nul import show
from aurora.stores.postgres.rows import like
from aurora.text import fold_name, is_text
from aurora.types import Kind

# ILIKE and equality only narrow down; `name_test` decides.
_LIKE = "(name ILIKE %s ESCAPE '!' OR qualified_name ILIKE %s ESCAPE '!')"
_EQUAL = "(folded_name = %s OR qualified_name ILIKE %s ESCAPE '!')"


class PostgresNames(PostgresDatabase):
    """The part of `Store` that is about names."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded = fold_name(name)
        if not name or not is_text(name):
            return []
        # `_` and `__` are both nothing once folded, and only then does the spelling matter.
        rows = self._rows(
            'SELECT "row", kind, name, qualified_name, path FROM chunks '
            "WHERE is_found AND folded_name = %s AND (%s OR name = %s) "
            'ORDER BY "row" LIMIT %s',
            (folded, folded != "", name, limit),
        )
        return [Definition(row, Kind(kind), *map(show, rest)) for row, kind, *rest in rows]

    def iter_names(self) -> Iterator[str]:
        rows = self._rows("SELECT DISTINCT name FROM chunks WHERE is_found")
        return (show(name) for (name,) in rows)

    def _named(self, glob: str) -> set[int]:
        if not is_text(glob):
            return set()
        fits, pattern = name_test(glob), like(*literal_parts(glob))
        if has_wildcard(glob):
            rows = self._names(_LIKE, pattern, pattern)
        else:
            rows = self._names(_EQUAL, fold_name(glob), pattern)
        return {row for row, name, qualified in rows if fits(show(name), show(qualified))}

    def _names(self, which: str, *values: str) -> list[tuple[int, str, str]]:
        sql = f'SELECT "row", name, qualified_name FROM chunks WHERE is_found AND {which}'
        return [(row, name, qualified) for row, name, qualified in self._rows(sql, values)]
