"""The chunks of a memory in PostgreSQL: written, found, counted, and named by their revisions.

What is remembered of files in PostgreSQL, and how their chunks come, go and move with them.

What hangs on chunks in PostgreSQL: reasoning, accesses and git histories.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from aurora.stores.base import SEARCHABLE_SUCCESS, FileState, Reasoning, Revision
from aurora.stores.postgres.database import Parameters, PostgresDatabase
from aurora.stores.postgres.rows import (
    COLUMNS,
    FILE_COLUMNS,
    WRITTEN,
    as_json,
    chunk_from,
    chunk_values,
    file_state_from,
    file_values,
    history_from,
    moment,
    reasoning_from,
    show,
    words_of,
)
from aurora.stores.shared import PAGE, Replacing, embedded_text, portions
from aurora.text import chunk_labels, is_text
from aurora.types import Chunk, ChunkHistory, Kind, Lines

_UPDATES = ", ".join(
    f"{name} = excluded.{name}" for name in WRITTEN if name not in ("id", "namespace")
)
_TYPED = ", ".join(f"{name} {type_}" for name, type_ in WRITTEN.items())
# All rows of a page are one value: the driver writes arrays in Python, text by text.
_UPSERT = f"""
    INSERT INTO chunks AS known ({", ".join(WRITTEN)}, generation)
        SELECT given.*, %s FROM json_to_recordset(%s) AS given ({_TYPED})
    ON CONFLICT (id, namespace) DO UPDATE SET {_UPDATES}, generation = excluded.generation"""
_ADD_WORDS = """
    INSERT INTO words ("row", namespace, length, weights, tsv)
        SELECT chunks."row", chunks.namespace, given.length, given.weights, given.tsv::tsvector
        FROM json_to_recordset(%s) AS given (id text, length integer, weights real[], tsv text)
        JOIN chunks ON chunks.id = given.id
    WHERE chunks.is_found"""
_MOVE = """
    UPDATE chunks SET namespace = given.namespace
    FROM unnest(%s::text[], %s::text[]) AS given (id, namespace) WHERE chunks.id = given.id"""
_RELATIVE = "path <> '' AND path NOT LIKE '/%%' AND path NOT LIKE '_:/%%'"


class PostgresChunks(PostgresDatabase, Replacing):
    """The part of `Store` that is about chunks."""

    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        changed = [chunk for id_, chunk in wanted.items() if known.get(id_) != chunk]
        before = [known[chunk.id] for chunk in changed if chunk.id in known]
        reworded = [
            chunk
            for chunk in changed
            if chunk.id not in known or _worded(known[chunk.id]) != _worded(chunk)
        ]
        self._remove_words([chunk.id for chunk in reworded if chunk.id in known])
        self._move([wanted[old.id] for old in before if old.namespace != wanted[old.id].namespace])
        for some in portions(changed, PAGE):
            self._write(_UPSERT, (self._draw_generation(), as_json(map(chunk_values, some))))
        self._add_words(reworded)
        self._drop_vectors(
            [old.id for old in before if embedded_text(old) != embedded_text(wanted[old.id])]
        )
        return len(changed)

    def _move(self, chunks: Sequence[Chunk]) -> None:
        """Into other namespaces, with all that hangs on them."""
        if chunks:
            moved = ([chunk.id for chunk in chunks], [chunk.namespace for chunk in chunks])
            self._write(_MOVE, moved)

    def _add_words(self, chunks: Iterable[Chunk]) -> None:
        """Words of those that may be found; statistics follow by a trigger."""
        for some in portions(chunks, PAGE):
            words = ({"id": chunk.id, **words_of(chunk)._asdict()} for chunk in some)
            self._execute(_ADD_WORDS, (as_json(words),))

    def _remove_words(self, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            self._execute(
                'DELETE FROM words USING chunks WHERE words."row" = chunks."row" '
                "AND words.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def _drop_vectors(self, chunk_ids: Sequence[str]) -> None:
        """What they were made of has changed."""
        if chunk_ids:
            self._write(
                'DELETE FROM embeddings AS made USING chunks WHERE made."row" = chunks."row" '
                "AND made.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        gone = 0
        with self.transaction():
            for some in portions(chunk_ids, PAGE):
                self._remove_words(some)  # at once: statistics are counted by statement
                gone += self._write("DELETE FROM chunks WHERE id = ANY(%s)", (some,))
        return gone

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        wanted = [id_ for id_ in dict.fromkeys(chunk_ids) if is_text(id_)]
        found = {
            chunk.id: chunk
            for some in portions(wanted, PAGE)
            for chunk in map(
                chunk_from,
                self._rows(f"SELECT {COLUMNS} FROM chunks WHERE id = ANY(%s)", (some,)),
            )
        }
        return [found[id_] for id_ in chunk_ids if id_ in found]

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        return {revision.row: chunk for revision, chunk in self.iter_revised(rows)}

    def _ids(self, which: str, values: Parameters = ()) -> list[str]:
        rows = self._rows(f"SELECT id FROM chunks WHERE {which}", values)
        return [show(id_) for (id_,) in rows]

    def _ids_of_file(self, path: str) -> set[str]:
        return set(self._ids("path = %s", (path,)))

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        if not suffix or not is_text(suffix):
            return []
        return self._ids(
            "right(id, length(%(end)s::text)) = %(end)s ORDER BY id LIMIT %(limit)s",
            {"end": suffix, "limit": limit},
        )

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        if not is_text(prefix):
            return []
        # A range, so that the index of ids answers: nothing sorts behind the last letter there is.
        return self._ids(
            "id >= %s AND id < %s ORDER BY id LIMIT %s",
            (prefix, f"{prefix}{chr(sys.maxunicode)}", limit),
        )

    def find_below(self, path: str) -> list[str]:
        if path == ".":
            return self._ids(f"{_RELATIVE} ORDER BY id", {})
        below = "path = %(path)s OR left(path, length(%(folder)s::text)) = %(folder)s"
        values = {"path": path, "folder": f"{path.rstrip('/')}/"}
        return self._ids(f"{below} ORDER BY id", values) if is_text(path) else []

    def find_in_namespace(self, namespace: str) -> list[str]:
        if not is_text(namespace):
            return []
        return self._ids("namespace = %s ORDER BY id", (namespace,))

    def iter_chunks(self) -> Iterator[Chunk]:
        return (chunk for _, chunk in self.iter_revised())

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        if rows is None:
            yield from self._iter_all()
            return
        for some in portions(sorted(set(rows)), PAGE):
            yield from self._revised('"row" = ANY(%s) ORDER BY "row"', (some,))

    def _iter_all(self) -> Iterator[tuple[Revision, Chunk]]:
        page, last = PAGE, 0
        while page == PAGE:
            revised = self._revised('"row" > %s ORDER BY "row" LIMIT %s', (last, PAGE))
            yield from revised
            page, last = len(revised), revised[-1][0].row if revised else 0

    def _revised(self, which: str, values: Sequence[object]) -> list[tuple[Revision, Chunk]]:
        rows = self._rows(
            f'SELECT {COLUMNS}, "row", generation FROM chunks WHERE is_found AND {which}', values
        )
        return [(Revision(*row[-2:]), chunk_from(row)) for row in rows]

    def revisions(self) -> Mapping[int, int]:
        return dict(
            self._rows('SELECT "row", generation FROM chunks WHERE is_found ORDER BY "row"')
        )

    def count_chunks(self) -> Mapping[Kind, int]:
        rows = self._rows("SELECT kind, count(*) FROM chunks WHERE is_found GROUP BY kind")
        return {Kind(kind): count for kind, count in rows}

    def list_languages(self) -> list[str]:
        rows = self._rows(
            "SELECT DISTINCT language FROM chunks WHERE language <> '' ORDER BY language"
        )
        return [show(language) for (language,) in rows]

    def count_namespaces(self) -> Mapping[str, int]:
        rows = self._rows("SELECT namespace, count(*) FROM chunks GROUP BY namespace")
        return {show(namespace): count for namespace, count in rows}


def _worded(chunk: Chunk) -> tuple[str, ...]:
    """What its words are made of and where they lie."""
    return (chunk.namespace, chunk.name, chunk_labels(chunk), chunk.content)


_COLUMNS = FILE_COLUMNS.split(", ")
_MARKS = ", ".join(["%s"] * len(_COLUMNS))
_FILE_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])


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
                f"ON CONFLICT (path) DO UPDATE SET {_FILE_UPDATES}",
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


_PUT_REASONING = """
    INSERT INTO reasoning
        SELECT "row", namespace, %s, %s, %s, %s FROM chunks WHERE id = %s
    ON CONFLICT ("row", namespace) DO UPDATE SET
        pattern_type = excluded.pattern_type, success_score = excluded.success_score,
        usage_count = excluded.usage_count, created_at = excluded.created_at"""
# Commits come as the text of an array: arrays of arrays must all be of one length.
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
_FAR = 1 << 63


class PostgresRecords(PostgresChunks):
    """The part of `Store` that is about what is known of chunks beside their text."""

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            written = self._write(
                _PUT_REASONING,
                (
                    reasoning.pattern_type,
                    reasoning.success_score,
                    reasoning.usage_count,
                    reasoning.created_at,
                    chunk_id,
                ),
            )
            if written:
                self._show(chunk_id, is_found=reasoning.success_score >= SEARCHABLE_SUCCESS)

    def _show(self, chunk_id: str, *, is_found: bool) -> None:
        """Let a chunk be found, or not; its words come and go with that."""
        changed = self._execute(
            "UPDATE chunks SET is_found = %s WHERE id = %s AND is_found <> %s",
            (is_found, chunk_id, is_found),
        )
        if changed and is_found:
            self._add_words(self.get_chunks([chunk_id]))
        elif changed:
            self._remove_words([chunk_id])

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        if not is_text(chunk_id):
            return None
        rows = self._rows(
            "SELECT pattern_type, success_score, usage_count, reasoning.created_at "
            'FROM reasoning JOIN chunks USING ("row", namespace) WHERE chunks.id = %s',
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        for some in portions(accesses, PAGE):
            self._execute(
                'INSERT INTO accesses SELECT chunks."row", chunks.namespace, given.at '
                "FROM unnest(%s::text[], %s::timestamptz[]) AS given (id, at) "
                "JOIN chunks ON chunks.id = given.id",
                ([chunk_id for chunk_id, _ in some], [at for _, at in some]),
            )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for some in portions(filter(is_text, chunk_ids), PAGE):
            rows = self._rows(
                "SELECT chunks.id, array_agg(at ORDER BY at) FROM accesses "
                'JOIN chunks USING ("row", namespace) WHERE chunks.id = ANY(%s) GROUP BY chunks.id',
                (some,),
            )
            for id_, moments in rows:
                found[show(id_)] = tuple(map(moment, moments))
        return found

    # Histories

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._rows(
            "SELECT id, start_line, end_line FROM chunks "
            "WHERE path = %s AND start_line IS NOT NULL",
            (path,),
        )
        return ((show(id_), Lines(start, end)) for id_, start, end in rows)

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        changed = 0
        with self.transaction():
            for some in portions(histories.items(), PAGE):
                told = [history for _, history in some]
                changed += self._execute(
                    _PUT_HISTORIES,
                    (
                        [id_ for id_, _ in some],
                        [str(history.tracking) for history in told],
                        [_as_array(history.commits) for history in told],
                        [history.uncommitted for history in told],
                    ),
                )
        return changed

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        return {
            show(row[0]): history_from(row[1:])
            for some in portions(filter(is_text, chunk_ids), PAGE)
            for row in self._rows(
                "SELECT chunks.id, tracking, commits, uncommitted, history_read_at "
                'FROM histories JOIN chunks USING ("row", namespace) '
                "LEFT JOIN files ON files.path = chunks.path WHERE chunks.id = ANY(%s)",
                (some,),
            )
        }


def _as_array(commits: Sequence[int]) -> str:
    return "{" + ",".join(str(max(-_FAR, min(at, _FAR - 1))) for at in commits) + "}"
