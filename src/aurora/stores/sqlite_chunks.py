"""The chunks of a memory in SQLite: written, found, counted, and named by their revisions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aurora.stores.base import Revision
from aurora.stores.replacing import PAGE, Replacing, embedded_text
from aurora.stores.sqlite_checksums import damaged
from aurora.stores.sqlite_database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import (
    COLUMNS,
    Row,
    batches,
    chunk_from,
    chunk_values,
    revision_from,
)
from aurora.stores.sqlite_schema import is_damaged
from aurora.types import Chunk, Kind

QUALIFIED = ", ".join(f"chunks.{name}" for name in COLUMNS.split(", "))
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
_UPSERT = f"""
    INSERT INTO main.chunks ({COLUMNS}, has_cjk, generation) VALUES ({", ".join("?" * 16)})
    ON CONFLICT (id) DO UPDATE SET {_UPDATES},
        has_cjk = excluded.has_cjk, generation = excluded.generation"""
_JUDGED = f"reasoning.chunk IS NOT NULL AND {is_damaged('reasoning')}"
_RELATIVE = "path <> '' AND substr(path, 1, 1) <> '/' AND path NOT LIKE '_:/%'"


class SQLiteChunks(SQLiteDatabase, Replacing):
    """The part of `Store` that is about chunks."""

    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from what is known; an embedding follows its text."""
        changed = [chunk for id_, chunk in wanted.items() if known.get(id_) != chunk]
        for chunk in changed:
            self._write(_UPSERT, (*chunk_values(chunk), self._draw_generation()))
            before = known.get(chunk.id)
            if before is not None and embedded_text(before) != embedded_text(chunk):
                self._drop_vectors("id = ?", chunk.id)
        return len(changed)

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        with self.transaction():
            return sum(
                self._write(f"DELETE FROM main.chunks WHERE id IN ({marks})", batch)
                for batch, marks in batches(list(chunk_ids))
            )

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        found = {
            chunk.id: chunk
            for batch, marks in batches(chunk_ids)
            for chunk in self._chunks(f"SELECT {COLUMNS} FROM chunks WHERE id IN ({marks})", batch)
        }
        return [found[id_] for id_ in chunk_ids if id_ in found]

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        return {revision.row: chunk for revision, chunk in self.iter_revised(rows)}

    def _chunks(self, sql: str, values: Sequence[object] = ()) -> list[Chunk]:
        return [chunk_from(row) for row in self._rows(sql, values)]

    def _ids_of_file(self, path: str) -> set[str]:
        return {id_ for (id_,) in self._rows("SELECT id FROM chunks WHERE path = ?", (path,))}

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        rows = self._rows(
            "SELECT id FROM chunks WHERE substr(id, -length(?)) = ? ORDER BY id LIMIT ?",
            (suffix, suffix, limit),
        )
        return [row[0] for row in rows] if suffix else []

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        # A range, so that the index of ids answers: nothing sorts behind the last letter there is.
        rows = self._rows(
            "SELECT id FROM chunks WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (prefix, f"{prefix}{chr(sys.maxunicode)}", limit),
        )
        return [row[0] for row in rows]

    def find_below(self, path: str) -> list[str]:
        folder = f"{path.rstrip('/')}/"
        if path == ".":
            rows = self._rows(f"SELECT id FROM chunks WHERE {_RELATIVE} ORDER BY id")
        else:
            below = "path = ? OR substr(path, 1, length(?)) = ?"
            rows = self._rows(
                f"SELECT id FROM chunks WHERE {below} ORDER BY id", (path, folder, folder)
            )
        return [row[0] for row in rows]

    def find_in_namespace(self, namespace: str) -> list[str]:
        rows = self._rows("SELECT id FROM chunks WHERE namespace = ? ORDER BY id", (namespace,))
        return [row[0] for row in rows]

    def iter_chunks(self) -> Iterator[Chunk]:
        return (chunk for _, chunk in self.iter_revised())

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        if rows is None:
            yield from self._iter_all()
            return
        for batch, marks in batches(sorted(set(rows))):
            yield from self._revised(f"AND chunks.rowid IN ({marks}) ORDER BY chunks.rowid", batch)

    def _iter_all(self) -> Iterator[tuple[Revision, Chunk]]:
        last = 0
        while True:
            page = self._revised("AND chunks.rowid > ? ORDER BY chunks.rowid LIMIT ?", (last, PAGE))
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1][0].row

    def _revised(self, which: str, values: Sequence[object]) -> list[tuple[Revision, Chunk]]:
        rows = self._rows(
            f"SELECT {QUALIFIED}, {_JUDGED}, chunks.rowid, chunks.generation {SEARCHABLE} {which}",
            values,
        )
        return [(revision_from(*row[-2:]), _judged(row)) for row in rows]

    def revisions(self) -> Mapping[int, int]:
        # `+`: read the index of generations and sort, instead of walking through all texts.
        rows = self._rows(
            f"SELECT chunks.rowid, chunks.generation {SEARCHABLE} ORDER BY +chunks.rowid"
        )
        return dict(rows)

    def count_chunks(self) -> Mapping[Kind, int]:
        rows = self._rows(f"SELECT chunks.kind, count(*) {SEARCHABLE} GROUP BY chunks.kind")
        try:
            return {Kind(kind): count for kind, count in rows}
        except ValueError as exc:
            raise damaged(str(self.path), exc) from exc

    def list_languages(self) -> list[str]:
        rows = self._rows(
            "SELECT DISTINCT language FROM chunks WHERE language <> '' ORDER BY language"
        )
        return [row[0] for row in rows]

    def count_namespaces(self) -> Mapping[str, int]:
        rows = self._rows("SELECT namespace, count(*) FROM chunks GROUP BY namespace")
        return dict(rows)


def _judged(row: Row) -> Chunk:
    """A chunk that may be found, unless what it is judged by is damaged."""
    *_, is_wrong, _row, _generation = row
    chunk = chunk_from(row)
    if is_wrong:
        raise damaged(f"What is known of {chunk.id!r}")
    return chunk
