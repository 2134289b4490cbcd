"""`Chunks` in SQLite: chunks, files, reasoning, accesses and git histories."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from aurora.quick_classes import replace
from aurora.stores.base import FileFacts, FileState, Reasoning, Revision
from aurora.stores.parts import NEXT, OF_FILES, USED, ChunkPart, embedded_text
from aurora.stores.shared import Row, portions
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.integrity import damaged
from aurora.stores.sqlite.rows import (
    COLUMNS,
    FILE_COLUMNS,
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
from aurora.stores.sqlite.schema import SEARCHABLE, SUM_UP, is_damaged
from aurora.types import Chunk, ChunkHistory, Kind

QUALIFIED = ", ".join(f"chunks.{name}" for name in COLUMNS.split(", "))
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
_UPSERT = f"""
    INSERT INTO main.chunks ({COLUMNS}, has_cjk, generation) VALUES {{rows}}
    ON CONFLICT (id) DO UPDATE SET {_UPDATES},
        has_cjk = excluded.has_cjk, generation = excluded.generation"""
_VALUES = 16  # of a row
_ROWS = 500  # in a statement: the text index writes to the file after each
# Leaves the generation and the text indexes alone: the words are the same.
_MOVE_LINES = """
    UPDATE main.chunks SET start_line = ?, end_line = ?, metadata = ?, checksum = ? WHERE id = ?"""
_START, _END, _METADATA, _CHECKSUM = (
    COLUMNS.split(", ").index(name) for name in ("start_line", "end_line", "metadata", "checksum")
)
_MOVE = """
    UPDATE OR IGNORE main.chunks SET path = :new, generation = :generation, id =
        CASE WHEN substr(id, 1, length(:old) + 1) = :old || ':'
             THEN :new || substr(id, length(:old) + 1) ELSE id END
    WHERE path = :old"""
_FILE_MARKS = ", ".join("?" * len(FILE_COLUMNS.split(", ")))
_ACCESSES = """
    SELECT chunks.id, accesses.* FROM accesses JOIN chunks ON chunks.rowid = accesses.chunk
    WHERE chunks.id IN ? ORDER BY at"""
_HISTORIES = f"""
    SELECT chunks.id, histories.*, history_read_at
    FROM histories JOIN chunks ON chunks.rowid = histories.chunk
        LEFT JOIN files ON files.path = chunks.path AND files.checkout = {{checkout}}
            AND NOT {is_damaged("files")}
    WHERE chunks.id IN ?"""
_PUT_HISTORY = """
    INSERT INTO histories
        SELECT rowid, :tracking, :commits, :uncommitted,
            checksum(rowid, :tracking, :commits, :uncommitted) FROM chunks WHERE id = :id
    ON CONFLICT (chunk) DO UPDATE SET tracking = :tracking, commits = :commits,
        uncommitted = :uncommitted, checksum = excluded.checksum
    WHERE (tracking, commits, uncommitted) IS NOT (:tracking, :commits, :uncommitted)"""


_FILE_FACTS = f"""
    SELECT files.path, files.size, files.modified_ns, count(chunks.rowid),
        coalesce(max(chunks.end_line), 0), coalesce(sum(
            (SELECT count(*) FROM accesses WHERE accesses.chunk = chunks.rowid)), 0),
        group_concat(hex(histories.commits), '')
    FROM files
        LEFT JOIN chunks ON chunks.path = files.path
            AND chunks.rowid NOT IN (SELECT value FROM json_each(?))
        LEFT JOIN histories ON histories.chunk = chunks.rowid
    WHERE files.checkout = ? AND files.left_out = '' AND {OF_FILES.replace("path", "files.path")}
    GROUP BY files.path ORDER BY files.path"""


class SQLiteChunks(ChunkPart[Database]):
    """`Chunks` in one file."""

    revised = f"SELECT {QUALIFIED}, chunks.rowid, chunks.generation {SEARCHABLE}"

    # Writing

    def write_changed(self, before: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        database = self._database
        changed = [chunk for id_, chunk in wanted.items() if before.get(id_) != chunk]
        rows: list[tuple[object, ...]] = []
        for chunk in changed:
            old, values = before.get(chunk.id), chunk_values(chunk)
            if (
                old is not None
                and replace(old, lines=chunk.lines, metadata=chunk.metadata) == chunk
            ):
                numbers = (values[at] for at in (_START, _END, _METADATA, _CHECKSUM))
                database.write(_MOVE_LINES, (*numbers, chunk.id))
                continue
            rows.append((*values, database.draw_generation()))
            if old is not None and embedded_text(old) != embedded_text(chunk):
                self._drop_vectors("id = ?", chunk.id)
        most = database.connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // _VALUES
        for page in portions(rows, min(most, _ROWS)):
            marks = ", ".join([f"({', '.join('?' * _VALUES)})"] * len(page))
            database.write(_UPSERT.format(rows=marks), [*chain.from_iterable(page)])
        return len(changed)

    def _drop_vectors(self, condition: str, value: object) -> None:
        """Drop vectors whose embedded text has changed."""
        for table in (USED, NEXT):
            chunks = f"SELECT rowid FROM chunks WHERE {condition}"
            self._database.write(f"DELETE FROM {table} WHERE chunk IN ({chunks})", (value,))

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        with self._database.transaction():
            return sum(
                self._database.write(f"DELETE FROM main.chunks WHERE id IN ({marks})", batch)
                for batch, marks in batches(list(chunk_ids))
            )

    # Reading

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        sql = f"SELECT {COLUMNS} FROM chunks WHERE id IN ?"
        chunks = {row[0]: chunk_from(row) for row in self._database.rows_in(sql, chunk_ids)}
        return [chunks[id_] for id_ in chunk_ids if id_ in chunks]

    def read_revised(self, row: Row) -> tuple[Revision, Chunk]:
        return revision_from(*row[-2:]), chunk_from(row)

    def count_chunks(self) -> Mapping[Kind, int]:
        rows = self._database.rows(
            f"SELECT chunks.kind, count(*) {SEARCHABLE} GROUP BY chunks.kind"
        )
        try:
            return {Kind(kind): count for kind, count in rows}
        except ValueError as exc:
            raise damaged(str(self._database.path), exc) from exc

    def iter_waiting(self) -> Iterator[Chunk]:
        """The chunks that the user has not adopted."""
        for row in sorted(self._database.waiting_rows()):
            rows = self._database.rows(f"SELECT {COLUMNS} FROM main.chunks WHERE rowid = ?", (row,))
            yield from map(chunk_from, rows)

    # Files

    def move_file(self, old: str, new: str) -> int:
        database = self._database
        with database.transaction():
            if self.states_elsewhere([old, new]):
                return 0  # another checkout has it where it was
            self._drop_vectors("path = ?", old)  # the path is part of the embedded text
            generation = database.draw_generation()
            moved = database.write(_MOVE, {"old": old, "new": new, "generation": generation})
            database.execute(f"{SUM_UP} WHERE path = ?", (new,))
            self.forget_files([old])
        return moved

    def states_of(
        self, checkout: int, paths: Iterable[str] | None = None
    ) -> Mapping[str, FileState]:
        sql = f"SELECT {FILE_COLUMNS} FROM files WHERE checkout = {checkout:d}"
        if paths is None:
            return _states_from(self._database.rows(f"{sql} AND {OF_FILES}"))
        wanted = list(paths)
        states = _states_from(self._database.rows_in(f"{sql} AND path IN ?", wanted))
        return {path: states[path] for path in wanted if path in states}  # damage may add others

    def list_file_facts(self, hidden: Collection[int] = ()) -> list[FileFacts]:
        values = (json.dumps(sorted(hidden)), self._database.checkout)
        facts = []
        for path, *numbers, digits in self._database.rows(_FILE_FACTS, values):
            blob = bytes.fromhex(digits or "")
            commits = {at for (at,) in struct.iter_unpack("<q", blob)}
            last = max(commits, default=None)
            size, modified, chunks, lines, uses = numbers
            facts.append(FileFacts(path, size, modified, chunks, lines, uses, len(commits), last))
        return facts

    def put_file_states(self, states: Iterable[FileState]) -> None:
        checkout = self._database.checkout
        with self._database.transaction():
            self._database.connection.executemany(
                f"UPDATE files SET ({FILE_COLUMNS}) = ({_FILE_MARKS}) "
                f"WHERE path = ? AND checkout = {checkout:d}",
                ((*file_values(state, checkout), state.path) for state in states),
            )

    def add_files(self, states: Iterable[FileState]) -> None:
        with self._database.transaction():
            checkout = self._database.own_checkout()
            self._database.connection.executemany(
                f"INSERT OR REPLACE INTO files ({FILE_COLUMNS}) VALUES ({_FILE_MARKS})",
                (file_values(state, checkout) for state in states),
            )

    def delete_files(self, paths: Collection[str]) -> int:
        return sum(
            self._database.write(f"DELETE FROM main.chunks WHERE path IN ({marks})", batch)
            for batch, marks in batches(paths)
        )

    def indexed_at(self) -> datetime | None:
        at = self._database.fact("indexed_at")
        return None if at is None else moment(float(at))

    def put_indexed_at(self, at: datetime) -> None:
        with self._database.transaction():
            self._database.set_fact("indexed_at", repr(at.timestamp()))

    # Reasoning, accesses and histories

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self._database.transaction():
            for (row,) in self._database.rows("SELECT rowid FROM chunks WHERE id = ?", (chunk_id,)):
                self._database.write(
                    "INSERT OR REPLACE INTO reasoning VALUES (?, ?, ?, ?, ?, ?)",
                    reasoning_values(row, reasoning),
                )

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        rows = self._database.rows(
            "SELECT reasoning.* "
            "FROM reasoning JOIN chunks ON chunks.rowid = reasoning.chunk WHERE chunks.id = ?",
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        self._database.connection.executemany(
            "INSERT INTO accesses "
            "SELECT rowid, :at, access_checksum(rowid, :at) FROM chunks WHERE id = :id",
            ({"at": at.timestamp(), "id": chunk_id} for chunk_id, at in accesses),
        )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        moments: dict[str, list[datetime]] = {}
        for id_, *access in self._database.rows_in(_ACCESSES, chunk_ids):
            moments.setdefault(id_, []).append(moment(access_from(*access)[1]))
        return {id_: tuple(values) for id_, values in moments.items()}

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        with self._database.transaction():
            rows = ({"id": id_, **history_values(each)} for id_, each in histories.items())
            return max(0, self._database.connection.executemany(_PUT_HISTORY, rows).rowcount)

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        sql = _HISTORIES.format(checkout=self._database.checkout)
        rows = self._database.rows_in(sql, chunk_ids)
        return {row[0]: history_from(row[1:]) for row in rows}


def _states_from(rows: Iterable[Row]) -> dict[str, FileState]:
    return {state.path: state for state in map(file_state_from, rows) if state is not None}
