"""The default store: one SQLite file in WAL mode, one writer and many readers.

Each thread has its own connection, so readers never wait for each other or for the writer.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeAlias
from weakref import WeakSet

from aurora.errors import EmbedderMismatchError, StoreError
from aurora.stores.base import SEARCHABLE_SUCCESS, Embedder, FileState, Reasoning, Revision
from aurora.stores.file_lock import hold
from aurora.stores.sqlite_connection import Connection, connect, transaction, translated
from aurora.stores.sqlite_rows import (
    COLUMNS,
    FILE_COLUMNS,
    Row,
    batches,
    chunk_from,
    chunk_values,
    file_state_from,
    file_values,
    history_from,
    history_values,
    moment,
    portions,
    reasoning_from,
)
from aurora.types import Chunk, ChunkHistory, Kind, Lines

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

_PAGE = 1000  # chunks read at a time while iterating
_SEARCHABLE = f"""
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
    WHERE (reasoning.success_score IS NULL OR reasoning.success_score >= {SEARCHABLE_SUCCESS})"""
_QUALIFIED = ", ".join(f"chunks.{name}" for name in COLUMNS.split(", "))
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
_UPSERT = f"""
    INSERT INTO chunks ({COLUMNS}, has_cjk, generation) VALUES ({", ".join("?" * 15)})
    ON CONFLICT (id) DO UPDATE SET {_UPDATES},
        has_cjk = excluded.has_cjk, generation = excluded.generation"""


_FILE_MARKS = ", ".join("?" * len(FILE_COLUMNS.split(", ")))
_RELATIVE = "path <> '' AND substr(path, 1, 1) <> '/' AND path NOT LIKE '_:/%'"
_IDS_OF_FILE = "SELECT id FROM chunks WHERE path = ?"
_PUT_HISTORY = """
    INSERT INTO histories
        SELECT rowid, :tracking, :commits, :uncommitted FROM chunks WHERE id = :id
    ON CONFLICT (chunk) DO UPDATE SET
        tracking = :tracking, commits = :commits, uncommitted = :uncommitted
    WHERE (tracking, commits, uncommitted) IS NOT (:tracking, :commits, :uncommitted)"""

# A generation lies a random step above the last: a copy of a memory that goes its own way must not
# come to one that the original had with other chunks, or an index of those would pass for its own.
_STEP_BYTES = 4


class SQLiteStore:
    """`Store` in one file. Opening it makes the file and its folder when they are missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: WeakSet[Connection] = WeakSet()
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as exc:
            raise StoreError(f"Cannot make the folder {path.parent}: {exc}") from exc
        self.identity = str(self._fact("identity"))

    # Connections and transactions

    @property
    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self.path)
            with self._lock:
                self._connections.add(connection)
        return connection

    def close(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        connection = self._connection
        with translated(self.path):
            if connection.in_transaction:
                yield
                return
            with transaction(connection):
                self._local.drawn = None
                yield
                if self._local.drawn is not None:
                    self._set_fact("generation", str(self._local.drawn))

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with translated(self.path), closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def _write(self, sql: str, values: Parameters = ()) -> int:
        """Run one change of what can be found, inside a transaction; returns the rows changed."""
        count = self._connection.execute(sql, values).rowcount
        if count:
            self._draw_generation()
        return count

    def _draw_generation(self) -> int:
        """What the generation will be when this transaction has made its changes."""
        if self._local.drawn is None:
            step = int.from_bytes(os.urandom(_STEP_BYTES))
            self._local.drawn = self.generation() + 1 + step
        drawn: int = self._local.drawn
        return drawn

    # Facts about the whole memory

    def _fact(self, name: str) -> str | None:
        rows = self._rows("SELECT value FROM facts WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def _set_fact(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def generation(self) -> int:
        return int(self._fact("generation") or 0)

    # Chunks

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        with self.transaction():
            wanted = {chunk.id: chunk for chunk in chunks}
            return self._replace(self._by_id(list(wanted)), wanted)

    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from what is known; an embedding follows its text."""
        changed = [chunk for id_, chunk in wanted.items() if known.get(id_) != chunk]
        for chunk in changed:
            self._write(_UPSERT, (*chunk_values(chunk), self._draw_generation()))
            before = known.get(chunk.id)
            if before is not None and _embedded_text(before) != _embedded_text(chunk):
                self._write(
                    "DELETE FROM embeddings WHERE chunk = (SELECT rowid FROM chunks WHERE id = ?)",
                    (chunk.id,),
                )
        return len(changed)

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        with self.transaction():
            return sum(
                self._write(f"DELETE FROM chunks WHERE id IN ({marks})", batch)
                for batch, marks in batches(list(chunk_ids))
            )

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        found = {
            chunk.id: chunk
            for batch, marks in batches(chunk_ids)
            for chunk in self._chunks(f"SELECT {COLUMNS} FROM chunks WHERE id IN ({marks})", batch)
        }
        return [found[id_] for id_ in chunk_ids if id_ in found]

    def _by_id(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self.get_chunks(chunk_ids)}

    def _chunks(self, sql: str, values: Sequence[object] = ()) -> list[Chunk]:
        return [chunk_from(row) for row in self._rows(sql, values)]

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        rows = self._rows(
            "SELECT id FROM chunks WHERE substr(id, -length(?)) = ? ORDER BY id LIMIT ?",
            (suffix, suffix, limit),
        )
        return [row[0] for row in rows] if suffix else []

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
            page = self._revised(
                "AND chunks.rowid > ? ORDER BY chunks.rowid LIMIT ?", (last, _PAGE)
            )
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1][0].row

    def _revised(self, which: str, values: Sequence[object]) -> list[tuple[Revision, Chunk]]:
        rows = self._rows(
            f"SELECT {_QUALIFIED}, chunks.rowid, chunks.generation {_SEARCHABLE} {which}", values
        )
        return [(Revision(*row[-2:]), chunk_from(row)) for row in rows]

    def revisions(self) -> Mapping[int, int]:
        # `+`: read the index of generations and sort, instead of walking through all texts.
        rows = self._rows(
            f"SELECT chunks.rowid, chunks.generation {_SEARCHABLE} ORDER BY +chunks.rowid"
        )
        return dict(rows)

    def count_chunks(self) -> Mapping[Kind, int]:
        rows = self._rows(f"SELECT chunks.kind, count(*) {_SEARCHABLE} GROUP BY chunks.kind")
        return {Kind(kind): count for kind, count in rows}

    def count_namespaces(self) -> Mapping[str, int]:
        rows = self._rows("SELECT namespace, count(*) FROM chunks GROUP BY namespace")
        return dict(rows)

    # Files

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        changed = 0
        with self.transaction():
            before = {id_ for (id_,) in self._rows(_IDS_OF_FILE, (state.path,))}
            written: set[str] = set()
            for some in portions(chunks, _PAGE):
                known = self._by_id([chunk.id for chunk in some])
                wanted = self._under_own_ids(some, known, written)
                known |= self._by_id(list(wanted.keys() - {chunk.id for chunk in some}))
                changed += self._replace(known, wanted)
            gone = self.delete_chunks(before - written)
            self._connection.execute(
                f"INSERT OR REPLACE INTO files ({FILE_COLUMNS}) VALUES ({_FILE_MARKS})",
                file_values(state),
            )
        return gone + changed

    def _under_own_ids(
        self, chunks: Sequence[Chunk], known: Mapping[str, Chunk], written: set[str]
    ) -> dict[str, Chunk]:
        """Chunks of one file by ids that are no other file's, nor given to this one's before."""
        wanted, reserved = {}, {chunk.id for chunk in chunks}
        for chunk in chunks:
            own = chunk
            if chunk.id in written or known.get(chunk.id, chunk).path != chunk.path:
                own = self._with_free_id(chunk, written, reserved)
            wanted[own.id] = own
            written.add(own.id)
        return wanted

    def _with_free_id(self, chunk: Chunk, *taken: Container[str]) -> Chunk:
        """The chunk under the first number of its id that is free or its own file's."""
        for number in itertools.count(2):
            renamed = replace(chunk, id=f"{chunk.id}#{number}")
            owner = self.get_chunks([renamed.id])
            own = not owner or owner[0].path == chunk.path
            if own and not any(renamed.id in ids for ids in taken):
                break
        return renamed

    def move_file(self, old: str, new: str) -> int:
        with self.transaction():
            # Vectors are made of the path, too.
            self._write(
                "DELETE FROM embeddings WHERE chunk IN (SELECT rowid FROM chunks WHERE path = ?)",
                (old,),
            )
            moved = self._write(
                """UPDATE OR IGNORE chunks SET path = :new, generation = :generation, id =
                       CASE WHEN substr(id, 1, length(:old) + 1) = :old || ':'
                            THEN :new || substr(id, length(:old) + 1) ELSE id END
                   WHERE path = :old""",
                {"old": old, "new": new, "generation": self._draw_generation()},
            )
            self.forget_files([old])
        return moved

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        sql = f"SELECT {FILE_COLUMNS} FROM files"
        if paths is None:
            rows = self._rows(sql)
        else:
            named = ((f"{sql} WHERE path IN ({marks})", batch) for batch, marks in batches(paths))
            rows = [row for statement, batch in named for row in self._rows(statement, batch)]
        return {state.path: state for state in map(file_state_from, rows)}

    def count_files(self) -> int:
        return int(self._rows("SELECT count(*) FROM files WHERE left_out = ''")[0][0])

    def put_file_states(self, states: Iterable[FileState]) -> None:
        with self.transaction():
            self._connection.executemany(
                f"UPDATE files SET ({FILE_COLUMNS}) = ({_FILE_MARKS}) WHERE path = ?",
                ((*file_values(state), state.path) for state in states),
            )

    def forget_files(self, paths: Iterable[str]) -> int:
        gone = 0
        with self.transaction():
            for batch, marks in batches(list(paths)):
                gone += self._write(f"DELETE FROM chunks WHERE path IN ({marks})", batch)
                self._connection.execute(f"DELETE FROM files WHERE path IN ({marks})", batch)
        return gone

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            self._write(
                "INSERT OR REPLACE INTO reasoning "
                "SELECT rowid, ?, ?, ?, ? FROM chunks WHERE id = ?",
                (
                    reasoning.pattern_type,
                    reasoning.success_score,
                    reasoning.usage_count,
                    reasoning.created_at.timestamp(),
                    chunk_id,
                ),
            )

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        rows = self._rows(
            "SELECT pattern_type, success_score, usage_count, reasoning.created_at "
            "FROM reasoning JOIN chunks ON chunks.rowid = reasoning.chunk WHERE chunks.id = ?",
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def record_access(self, chunk_id: str, at: datetime) -> None:
        with self.transaction():
            self._connection.execute(
                "INSERT INTO accesses SELECT rowid, ? FROM chunks WHERE id = ?",
                (at.timestamp(), chunk_id),
            )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for batch, marks in batches(chunk_ids):
            rows = self._rows(
                "SELECT chunks.id, at FROM accesses JOIN chunks ON chunks.rowid = accesses.chunk "
                f"WHERE chunks.id IN ({marks}) ORDER BY at",
                batch,
            )
            for id_, at in rows:
                found[id_] = (*found.get(id_, ()), moment(at))
        return found

    # Embeddings

    def embedder(self) -> Embedder | None:
        name, dimension, fingerprint = (
            self._fact(f"embedder.{part}") for part in ("name", "dimension", "fingerprint")
        )
        if name is None or dimension is None or fingerprint is None:
            return None
        return Embedder(name, int(dimension), fingerprint)

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self.transaction():
            owner = self._require(embedder)
            for chunk_id, vector in vectors:
                if len(vector) != 4 * embedder.dimension:
                    raise ValueError(
                        f"vector of {chunk_id!r} has {len(vector)} bytes, "
                        f"{embedder.name} makes {4 * embedder.dimension}"
                    )
                if owner is None:
                    owner = self._claim(embedder)
                self._write(
                    "INSERT OR REPLACE INTO embeddings SELECT rowid, ? FROM chunks WHERE id = ?",
                    (vector, chunk_id),
                )

    def _require(self, embedder: Embedder) -> Embedder | None:
        """Whose vectors the memory holds; another embedder's are refused."""
        owner = self.embedder()
        if owner is not None and owner != embedder:
            raise EmbedderMismatchError(
                f"This memory holds vectors of {owner.name} ({owner.dimension} dimensions), "
                f"not of {embedder.name} ({embedder.dimension})",
                hint="set `embedding.provider` back, or index into a new memory",
            )
        return owner

    def _claim(self, embedder: Embedder) -> Embedder:
        """The first vector makes the memory its embedder's own."""
        self._set_fact("embedder.name", embedder.name)
        self._set_fact("embedder.dimension", str(embedder.dimension))
        self._set_fact("embedder.fingerprint", embedder.fingerprint)
        return embedder

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]:
        return {
            id_: vector
            for batch, marks in batches(chunk_ids)
            for id_, vector in self._rows(
                "SELECT chunks.id, vector FROM embeddings "
                f"JOIN chunks ON chunks.rowid = embeddings.chunk WHERE chunks.id IN ({marks})",
                batch,
            )
        }

    def find_unembedded(self) -> list[str]:
        rows = self._rows(
            f"SELECT chunks.id {_SEARCHABLE} AND NOT EXISTS "
            "(SELECT 1 FROM embeddings WHERE chunk = chunks.rowid) ORDER BY chunks.rowid"
        )
        return [id_ for (id_,) in rows]

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
                "SELECT chunks.id, tracking, commits, uncommitted, history_read_at "
                "FROM histories JOIN chunks ON chunks.rowid = histories.chunk "
                f"LEFT JOIN files ON files.path = chunks.path WHERE chunks.id IN ({marks})",
                batch,
            )
        }

    def alone(self) -> AbstractContextManager[None]:
        return hold(self.path.with_name(f"{self.path.name}-indexing"))

    def check(self) -> list[str]:
        problems = [str(row[0]) for row in self._rows("PRAGMA quick_check") if row[0] != "ok"]
        problems += [
            f"dangling reference in {row[0]}" for row in self._rows("PRAGMA foreign_key_check")
        ]
        for table in ("chunks_words", "chunks_trigrams"):
            try:
                # rank 1 compares the index with the rows it was made of, not only with itself
                self._rows(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except StoreError as exc:
                problems.append(f"text index {table}: {exc.message}")
        return problems


def _embedded_text(chunk: Chunk) -> tuple[str, ...]:
    """What a vector is made of: a chunk that only moved down its file keeps its vector."""
    return (chunk.path, chunk.qualified_name, chunk.name, chunk.content)
