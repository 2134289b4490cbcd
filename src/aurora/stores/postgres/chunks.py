"""`Chunks` in PostgreSQL: chunks, their words, files, reasoning, accesses and git histories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from aurora.stores.base import FileFacts, FileState, Reasoning, Revision
from aurora.stores.matching import FILE_FIELDS, file_values
from aurora.stores.parts import OF_FILES, ChunkPart, embedded_text
from aurora.stores.postgres import binary
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.rows import (
    COLUMNS,
    WRITTEN,
    as_json,
    chunk_from,
    chunk_values,
    file_state_from,
    history_from,
    moment,
    reasoning_from,
)
from aurora.stores.shared import PAGE, Row, portions
from aurora.text import chunk_labels, is_text
from aurora.types import Chunk, ChunkHistory, Kind

_UPDATES = ", ".join(f"{name} = given.{name}" for name in WRITTEN if name != "id")
_TYPED = ", ".join(f"{name} {type_}" for name, type_ in WRITTEN.items())
# All rows of a page are one JSON value: the driver writes arrays in Python, text by text.
_UPDATE = f"""
    UPDATE chunks SET {_UPDATES}, generation = %s
    FROM json_to_recordset(%s) AS given ({_TYPED}) WHERE chunks.id = given.id"""
_ADDED = f"chunks ({', '.join(WRITTEN)}, generation)"
_ADDED_WORDS = 'words ("row", namespace, length, weights, tsv, impacts)'
_NUMBERED = 'SELECT id, "row" FROM chunks WHERE is_found AND id = ANY(%s)'
_MOVE = """
    UPDATE chunks SET namespace = given.namespace
    FROM unnest(%s::text[], %s::text[]) AS given (id, namespace) WHERE chunks.id = given.id"""

_FILE_COLUMNS, _FILE_MARKS = ", ".join(FILE_FIELDS), ", ".join(["%s"] * len(FILE_FIELDS))
_FILE_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in FILE_FIELDS[1:])

_PUT_REASONING = """
    INSERT INTO reasoning
        SELECT "row", namespace, %s, %s, %s, %s FROM chunks WHERE id = %s
    ON CONFLICT ("row", namespace) DO UPDATE SET
        pattern_type = excluded.pattern_type, success_score = excluded.success_score,
        usage_count = excluded.usage_count, created_at = excluded.created_at"""
_ACCESSES = """
    SELECT chunks.id, array_agg(at ORDER BY at) FROM accesses JOIN chunks USING ("row", namespace)
    WHERE chunks.id IN ? GROUP BY chunks.id"""
_FILE_FACTS = f"""
    WITH shown AS (
        SELECT "row", namespace, path, end_line FROM chunks WHERE NOT ("row" = ANY(%s::bigint[]))
    ), chunked AS (
        SELECT path, count(*) AS chunks, max(end_line) AS lines FROM shown GROUP BY path
    ), used AS (
        SELECT path, count(*) AS uses FROM shown JOIN accesses USING ("row", namespace)
        GROUP BY path
    ), changed AS (
        SELECT path, count(DISTINCT at) AS commits, max(at) AS last_commit
        FROM shown JOIN histories USING ("row", namespace), unnest(commits) AS at GROUP BY path
    )
    SELECT path, size, modified_ns, coalesce(chunks, 0), coalesce(lines, 0), coalesce(uses, 0),
        coalesce(commits, 0), last_commit
    FROM files LEFT JOIN chunked USING (path) LEFT JOIN used USING (path)
        LEFT JOIN changed USING (path)
    WHERE checkout = %s AND left_out = '' AND {OF_FILES} ORDER BY path"""
_HISTORIES = """
    SELECT chunks.id, tracking, commits, uncommitted, history_read_at
    FROM histories JOIN chunks USING ("row", namespace)
        LEFT JOIN files ON files.path = chunks.path AND files.checkout = {checkout}
    WHERE chunks.id IN ?"""
# Commits come as the text of an array: an array of arrays needs rows of one length.
_PUT_HISTORIES = """
    INSERT INTO histories AS known
        SELECT chunks."row", chunks.namespace, given.tracking, given.commits::bigint[],
            given.uncommitted
        FROM unnest(%s::text[], %s::text[], %s::text[], %s::boolean[])
            AS given (id, tracking, commits, uncommitted) JOIN chunks ON chunks.id = given.id
    ON CONFLICT ("row", namespace) DO UPDATE SET tracking = excluded.tracking,
        commits = excluded.commits, uncommitted = excluded.uncommitted
    WHERE (known.tracking, known.commits, known.uncommitted)
        IS DISTINCT FROM (excluded.tracking, excluded.commits, excluded.uncommitted)"""
_FAR = 1 << 63  # beyond a bigint


class PostgresChunks(ChunkPart[Database]):
    """`Chunks` in one schema."""

    revised = f'SELECT {COLUMNS}, "row", generation FROM chunks WHERE is_found'

    # Writing

    def write_changed(self, before: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        database = self._database
        changed = [chunk for id_, chunk in wanted.items() if before.get(id_) != chunk]
        pairs = [(before[chunk.id], chunk) for chunk in changed if chunk.id in before]
        reworded = {new.id for old, new in pairs if _words_key(old) != _words_key(new)}
        self.remove_words(list(reworded))
        self._move([new for old, new in pairs if old.namespace != new.namespace])
        generation = database.draw_generation() if changed else 0
        for page in portions((new for _, new in pairs), PAGE):
            database.execute(_UPDATE, (generation, as_json(map(chunk_values, page))))
        database.copy(
            _ADDED,
            (
                binary.row(
                    [*binary.columns(chunk_values(chunk), WRITTEN), binary.bigint(generation)]
                )
                for chunk in changed
                if chunk.id not in before
            ),
        )
        self.add_words(chunk for chunk in changed if chunk.id not in before or chunk.id in reworded)
        self._drop_vectors(
            [new.id for old, new in pairs if embedded_text(old) != embedded_text(new)]
        )
        return len(changed)

    def _move(self, chunks: Sequence[Chunk]) -> None:
        """Move chunks into other namespaces, with everything attached."""
        if chunks:
            moved = ([chunk.id for chunk in chunks], [chunk.namespace for chunk in chunks])
            self._database.write(_MOVE, moved)

    def add_words(self, chunks: Iterable[Chunk]) -> None:
        """Add the words of searchable chunks. A trigger updates the statistics."""
        from aurora.stores.postgres.word_rows import word_rows  # noqa: PLC0415 - numpy, for writers

        for page in portions(chunks, PAGE):
            rows: dict[str, int] = dict(
                self._database.rows(_NUMBERED, ([chunk.id for chunk in page],))
            )
            found = ((rows[chunk.id], chunk) for chunk in page if chunk.id in rows)
            self._database.copy(_ADDED_WORDS, word_rows(found))

    def remove_words(self, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            self._database.execute(
                'DELETE FROM words USING chunks WHERE words."row" = chunks."row" '
                "AND words.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def _drop_vectors(self, chunk_ids: Sequence[str]) -> None:
        """Drop vectors whose embedded text has changed."""
        if chunk_ids:
            self._database.write(
                'DELETE FROM embeddings AS made USING chunks WHERE made."row" = chunks."row" '
                "AND made.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        removed = 0
        with self._database.transaction():
            for page in portions(chunk_ids, PAGE):
                self.remove_words(page)  # in one statement, because the trigger counts by statement
                removed += self._database.write("DELETE FROM chunks WHERE id = ANY(%s)", (page,))
        return removed

    # Reading

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        rows = self._database.rows_in(f"SELECT {COLUMNS} FROM chunks WHERE id IN ?", chunk_ids)
        chunks = {chunk.id: chunk for chunk in map(chunk_from, rows)}
        return [chunks[id_] for id_ in chunk_ids if id_ in chunks]

    def read_revised(self, row: Row) -> tuple[Revision, Chunk]:
        return Revision(*row[-2:]), chunk_from(row)

    def count_chunks(self) -> Mapping[Kind, int]:
        sql = "SELECT kind, count(*) FROM chunks WHERE is_found GROUP BY kind"
        return {Kind(kind): count for kind, count in self._database.rows(sql)}

    # Files

    def move_file(self, old: str, new: str) -> int:
        database = self._database
        with database.transaction():
            if self.states_elsewhere([old, new]):
                return 0  # another checkout has it where it was
            chunks = self.get_chunks(self.ids("path = ?", old))
            ids = {chunk.id: _moved_id(chunk.id, old, new) for chunk in chunks}
            taken = {chunk.id for chunk in self.get_chunks(list(ids.values()))} - ids.keys()
            moving = [chunk for chunk in chunks if ids[chunk.id] not in taken]
            self._drop_vectors([chunk.id for chunk in moving])  # embedded text includes the path
            self.remove_words([chunk.id for chunk in moving])
            for chunk in moving:
                database.write(
                    "UPDATE chunks SET path = %s, id = %s, generation = %s WHERE id = %s",
                    (new, ids[chunk.id], database.draw_generation(), chunk.id),
                )
            self.add_words(replace(chunk, path=new, id=ids[chunk.id]) for chunk in moving)
            self.forget_files([old])
        return len(moving)

    def states_of(
        self, checkout: int, paths: Iterable[str] | None = None
    ) -> Mapping[str, FileState]:
        sql = f"SELECT {_FILE_COLUMNS} FROM files WHERE checkout = {checkout:d}"
        if paths is not None:
            rows = self._database.rows_in(f"{sql} AND path IN ?", paths)
        else:
            rows = iter(self._database.rows(f"{sql} AND {OF_FILES}"))
        return {state.path: state for state in map(file_state_from, rows)}

    def list_file_facts(self, hidden: Collection[int] = ()) -> list[FileFacts]:
        values = (sorted(hidden), self._database.checkout)
        return [FileFacts(*row) for row in self._database.rows(_FILE_FACTS, values)]

    def put_file_states(self, states: Iterable[FileState]) -> None:
        checkout = self._database.checkout
        with self._database.transaction():
            self._database.execute_many(
                f"UPDATE files SET ({_FILE_COLUMNS}) = ({_FILE_MARKS}) "
                "WHERE path = %s AND checkout = %s",
                ((*file_values(state), state.path, checkout) for state in states),
            )

    def add_files(self, states: Iterable[FileState]) -> None:
        with self._database.transaction():
            checkout = self._database.own_checkout()
            self._database.execute_many(
                f"INSERT INTO files ({_FILE_COLUMNS}, checkout) VALUES ({_FILE_MARKS}, %s) "
                f"ON CONFLICT (path, checkout) DO UPDATE SET {_FILE_UPDATES}",
                ((*file_values(state), checkout) for state in states),
            )

    def delete_files(self, paths: Collection[str]) -> int:
        pages = portions(paths, PAGE)
        return sum(self.delete_chunks(self.ids("path = ANY(?)", page)) for page in pages)

    def indexed_at(self) -> datetime | None:
        at = self._database.fact("indexed_at")
        return None if at is None else datetime.fromisoformat(at)

    def put_indexed_at(self, at: datetime) -> None:
        with self._database.transaction():
            self._database.set_fact("indexed_at", at.isoformat())

    # Reasoning, accesses and histories

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        values = (
            reasoning.pattern_type, reasoning.success_score, reasoning.usage_count,
            reasoning.created_at, chunk_id,
        )  # fmt: skip
        with self._database.transaction():
            self._database.write(_PUT_REASONING, values)

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        if not is_text(chunk_id):
            return None
        rows = self._database.rows(
            "SELECT pattern_type, success_score, usage_count, reasoning.created_at "
            'FROM reasoning JOIN chunks USING ("row", namespace) WHERE chunks.id = %s',
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        for page in portions(accesses, PAGE):
            self._database.execute(
                'INSERT INTO accesses SELECT chunks."row", chunks.namespace, given.at '
                "FROM unnest(%s::text[], %s::timestamptz[]) AS given (id, at) "
                "JOIN chunks ON chunks.id = given.id",
                ([chunk_id for chunk_id, _ in page], [at for _, at in page]),
            )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        rows = self._database.rows_in(_ACCESSES, chunk_ids)
        return {id_: tuple(map(moment, moments)) for id_, moments in rows}

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        changed = 0
        with self._database.transaction():
            for page in portions(histories.items(), PAGE):
                columns = zip(
                    *((id_, str(history.tracking), _as_array(history.commits), history.uncommitted)
                      for id_, history in page),
                    strict=True,
                )  # fmt: skip
                changed += self._database.execute(_PUT_HISTORIES, [*map(list, columns)])
        return changed

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        sql = _HISTORIES.format(checkout=self._database.checkout)
        rows = self._database.rows_in(sql, chunk_ids)
        return {row[0]: history_from(row[1:]) for row in rows}


def _words_key(chunk: Chunk) -> tuple[object, ...]:
    """What the words of a chunk depend on. Only searchable chunks have words."""
    return (chunk.namespace, chunk.name, chunk_labels(chunk), chunk.content, chunk.is_replaced)


def _moved_id(id_: str, old: str, new: str) -> str:
    return f"{new}{id_.removeprefix(old)}" if id_.startswith(f"{old}:") else id_


def _as_array(commits: Sequence[int]) -> str:
    return "{" + ",".join(str(max(-_FAR, min(at, _FAR - 1))) for at in commits) + "}"
