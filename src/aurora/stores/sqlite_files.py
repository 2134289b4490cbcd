"""What is remembered of files in SQLite, and how their chunks come, go and move with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from aurora.stores.base import FileState
from aurora.stores.sqlite_chunks import SQLiteChunks
from aurora.stores.sqlite_rows import (
    FILE_COLUMNS,
    batches,
    file_state_from,
    file_values,
    moment,
)
from aurora.stores.sqlite_schema import SUM_UP

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
