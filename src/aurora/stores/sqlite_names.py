"""Chunks by their names in SQLite, however they are spelt."""

from __future__ import annotations

from collections.abc import Iterator

from aurora.stores.base import Definition
from aurora.stores.fitting import has_wildcard, literal_parts, name_test
from aurora.stores.sqlite_database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import like
from aurora.stores.sqlite_schema import FOLDED_NAME
from aurora.text import fold_name, is_text
from aurora.types import Kind

_DEFINITION = "chunks.rowid, kind, name, qualified_name, path"
# LIKE and equality of ASCII only narrow down; `name_test` decides.
_LIKE = "AND (name LIKE ? ESCAPE '!' OR qualified_name LIKE ? ESCAPE '!')"
_EQUAL = f"AND ({FOLDED_NAME} = ? OR qualified_name LIKE ? ESCAPE '!')"


class SQLiteNames(SQLiteDatabase):
    """The part of `Store` that is about names."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded = fold_name(name)
        if not name or not is_text(name):
            return []
        # `_` and `__` are both nothing once folded, and only then does the spelling matter.
        rows = self._rows(
            f"SELECT {_DEFINITION} {SEARCHABLE} AND {FOLDED_NAME} = ? AND (? <> '' OR name = ?) "
            "ORDER BY chunks.rowid LIMIT ?",
            (folded, folded, name, limit),
        )
        return [Definition(row, Kind(kind), *rest) for row, kind, *rest in rows]

    def iter_names(self) -> Iterator[str]:
        return (name for (name,) in self._rows(f"SELECT DISTINCT name {SEARCHABLE}"))

    def _named(self, glob: str) -> set[int]:
        """The rows whose name or qualified name fits a glob."""
        if not is_text(glob):
            return set()
        fits = name_test(glob)
        if has_wildcard(glob):
            pattern = like(*literal_parts(glob))
            rows = self._names(_LIKE, pattern, pattern)
        else:
            rows = self._names(_EQUAL, fold_name(glob), like(*literal_parts(glob)))
        return {row for row, name, qualified in rows if fits(name, qualified)}

    def _names(self, which: str, *values: str) -> list[tuple[int, str, str]]:
        return self._rows(f"SELECT chunks.rowid, name, qualified_name {SEARCHABLE} {which}", values)
