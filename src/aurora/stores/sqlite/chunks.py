"""The chunks of a memory in SQLite: written, found, counted, and named by their revisions.

What is remembered of files in SQLite, and how their chunks come, go and move with them.

What hangs on chunks in SQLite: reasoning, accesses and git histories.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import FileState, Reasoning, Revision
from aurora.stores.shared import PAGE, Replacing, embedded_text
from aurora.stores.sqlite.database import SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite.integrity import damaged
from aurora.stores.sqlite.rows import (
    COLUMNS,
    FILE_COLUMNS,
    Row,
    access_from,
    batches,
    chunk_from,
    chunk_values,
    file_state_from,
    file_values,
    history_from,
    history_values,
    moment,
    reasoning_from,
    reasoning_values,
    revision_from,
)
from aurora.stores.sqlite.schema import SUM_UP, is_damaged
from aurora.types import Chunk, ChunkHistory, Kind, Lines

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


_FILE_MARKS = ", ".join("?" * len(FILE_COLUMNS.split(", ")))


class SQLiteFiles(SQLiteChunks):
    """The part of `Store` that is about files."""

    def move_file(self, old: str, new: str) -> int:
        with self.transaction():
            self._drop_vectors("path = ?", old)  # they are made of the path, too
            moved = self._write(
                """UPDATE OR IGNORE main.chunks SET path = :new, generation = :generation, id =
                       CASE WHEN substr(id, 1, length(:old) + 1) = :old || ':'
                            THEN :new || substr(id, length(:old) + 1) ELSE id END
                   WHERE path = :old""",
                {"old": old, "new": new, "generation": self._draw_generation()},
            )
            self._connection.execute(f"{SUM_UP} WHERE path = ?", (new,))
            self.forget_files([old])
        return moved

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        sql = f"SELECT {FILE_COLUMNS} FROM files"
        asked = list(paths or ())
        if paths is None:
            rows = self._rows(sql)
        else:
            named = ((f"{sql} WHERE path IN ({marks})", batch) for batch, marks in batches(asked))
            rows = [row for statement, batch in named for row in self._rows(statement, batch)]
        states = {state.path: state for state in map(file_state_from, rows) if state is not None}
        if paths is None:
            return states
        return {path: states[path] for path in asked if path in states}  # a torn page has others

    def count_files(self) -> int:
        return int(self._rows("SELECT count(*) FROM files WHERE left_out = ''")[0][0])

    def put_file_states(self, states: Iterable[FileState]) -> None:
        with self.transaction():
            self._connection.executemany(
                f"UPDATE files SET ({FILE_COLUMNS}) = ({_FILE_MARKS}) WHERE path = ?",
                ((*file_values(state), state.path) for state in states),
            )

    def add_files(self, states: Iterable[FileState]) -> None:
        with self.transaction():
            self._connection.executemany(
                f"INSERT OR REPLACE INTO files ({FILE_COLUMNS}) VALUES ({_FILE_MARKS})",
                map(file_values, states),
            )

    def forget_files(self, paths: Iterable[str]) -> int:
        gone = 0
        with self.transaction():
            for batch, marks in batches(list(paths)):
                gone += self._write(f"DELETE FROM main.chunks WHERE path IN ({marks})", batch)
                self._connection.execute(f"DELETE FROM files WHERE path IN ({marks})", batch)
        return gone

    def indexed_at(self) -> datetime | None:
        at = self._fact("indexed_at")
        return None if at is None else moment(float(at))

    def put_indexed_at(self, at: datetime) -> None:
        with self.transaction():
            self._set_fact("indexed_at", repr(at.timestamp()))


_PUT_HISTORY = """
    INSERT INTO histories
        SELECT rowid, :tracking, :commits, :uncommitted,
            checksum(rowid, :tracking, :commits, :uncommitted) FROM chunks WHERE id = :id
    ON CONFLICT (chunk) DO UPDATE SET tracking = :tracking, commits = :commits,
        uncommitted = :uncommitted, checksum = excluded.checksum
    WHERE (tracking, commits, uncommitted) IS NOT (:tracking, :commits, :uncommitted)"""


class SQLiteRecords(SQLiteDatabase):
    """The part of `Store` that is about what is known of chunks beside their text."""

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            for (row,) in self._rows("SELECT rowid FROM chunks WHERE id = ?", (chunk_id,)):
                self._write(
                    "INSERT OR REPLACE INTO reasoning VALUES (?, ?, ?, ?, ?, ?)",
                    reasoning_values(row, reasoning),
                )

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        rows = self._rows(
            "SELECT reasoning.* "
            "FROM reasoning JOIN chunks ON chunks.rowid = reasoning.chunk WHERE chunks.id = ?",
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        self._connection.executemany(
            "INSERT INTO accesses "
            "SELECT rowid, :at, access_checksum(rowid, :at) FROM chunks WHERE id = :id",
            ({"at": at.timestamp(), "id": chunk_id} for chunk_id, at in accesses),
        )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for batch, marks in batches(chunk_ids):
            rows = self._rows(
                "SELECT chunks.id, accesses.* "
                "FROM accesses JOIN chunks ON chunks.rowid = accesses.chunk "
                f"WHERE chunks.id IN ({marks}) ORDER BY at",
                batch,
            )
            for id_, *access in rows:
                found[id_] = (*found.get(id_, ()), moment(access_from(*access)[1]))
        return found

    # Histories

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._rows(
            "SELECT id, start_line, end_line FROM chunks WHERE path = ? AND start_line IS NOT NULL",
            (path,),
        )
        return ((id_, Lines(start, end)) for id_, start, end in rows)

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        with self.transaction():
            return sum(
                self._connection.execute(
                    _PUT_HISTORY, {"id": id_, **history_values(history)}
                ).rowcount
                for id_, history in histories.items()
            )

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        return {
            row[0]: history_from(row[1:])
            for batch, marks in batches(chunk_ids)
            for row in self._rows(
                "SELECT chunks.id, histories.*, history_read_at "
                "FROM histories JOIN chunks ON chunks.rowid = histories.chunk "
                f"LEFT JOIN files ON files.path = chunks.path AND NOT {is_damaged('files')} "
                f"WHERE chunks.id IN ({marks})",
                batch,
            )
        }
