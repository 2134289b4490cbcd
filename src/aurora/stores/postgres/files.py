"""What is remembered of files in PostgreSQL, and how their chunks come, go and move with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from aurora.stores.base import FileState
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.rows import FILE_COLUMNS, file_state_from, file_values
from aurora.stores.replacing import PAGE, portions
from aurora.text import is_text

_COLUMNS = FILE_COLUMNS.split(", ")
_MARKS = ", ".join(["%s"] * len(_COLUMNS))
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])


class PostgresFiles(PostgresChunks):
    """The part of `Store` that is about files."""

    def move_file(self, old: str, new: str) -> int:
        with self.transaction():
            chunks = self.get_chunks(self._ids("path = %s", (old,)))
            ids = {chunk.id: _moved_id(chunk.id, old, new) for chunk in chunks}
            taken = {chunk.id for chunk in self.get_chunks(list(ids.values()))} - ids.keys()
            moving = [chunk for chunk in chunks if ids[chunk.id] not in taken]
            self._drop_vectors([chunk.id for chunk in moving])  # they are made of the path, too
            self._remove_words([chunk.id for chunk in moving])
            for chunk in moving:
                self._write(
                    "UPDATE chunks SET path = %s, id = %s, generation = %s WHERE id = %s",
                    (new, ids[chunk.id], self._draw_generation(), chunk.id),
                )
            self._add_words(replace(chunk, path=new, id=ids[chunk.id]) for chunk in moving)
            self.forget_files([old])
        return len(moving)

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        sql = f"SELECT {FILE_COLUMNS} FROM files"
        if paths is None:
            rows = self._rows(sql)
        else:
            rows = [
                row
                for some in portions(filter(is_text, paths), PAGE)
                for row in self._rows(f"{sql} WHERE path = ANY(%s)", (some,))
            ]
        return {state.path: state for state in map(file_state_from, rows)}

    def count_files(self) -> int:
        return int(self._rows("SELECT count(*) FROM files WHERE left_out = ''")[0][0])

    def put_file_states(self, states: Iterable[FileState]) -> None:
        with self.transaction():
            self._for_each(
                f"UPDATE files SET ({FILE_COLUMNS}) = ({_MARKS}) WHERE path = %s",
                ((*file_values(state), state.path) for state in states),
            )

    def add_files(self, states: Iterable[FileState]) -> None:
        with self.transaction():
            self._for_each(
                f"INSERT INTO files ({FILE_COLUMNS}) VALUES ({_MARKS}) "
                f"ON CONFLICT (path) DO UPDATE SET {_UPDATES}",
                map(file_values, states),
            )

    def forget_files(self, paths: Iterable[str]) -> int:
        gone = 0
        with self.transaction():
            for some in portions(paths, PAGE):
                gone += self.delete_chunks(self._ids("path = ANY(%s)", (some,)))
                self._execute("DELETE FROM files WHERE path = ANY(%s)", (some,))
        return gone

    def indexed_at(self) -> datetime | None:
        at = self._fact("indexed_at")
        return None if at is None else datetime.fromisoformat(at)

    def put_indexed_at(self, at: datetime) -> None:
        with self.transaction():
            self._set_fact("indexed_at", at.isoformat())


def _moved_id(id_: str, old: str, new: str) -> str:
    return f"{new}{id_.removeprefix(old)}" if id_.startswith(f"{old}:") else id_
