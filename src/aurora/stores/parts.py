"""Chunks, vectors and maintenance as far as both databases do them alike.

The abstract methods and class attributes of a part are what differs between the databases. SQL
here is what both understand, with `?` for a bound value.
"""

from __future__ import annotations

import itertools
import json
import sys
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from typing import ClassVar

from aurora.errors import StoreError
from aurora.packing import VECTOR_WIDTH
from aurora.quick_classes import replace
from aurora.stores.base import (
    SESSION_NOTES,
    Chunks,
    Embedder,
    FileState,
    Maintenance,
    Record,
    Revision,
    RevisionGroup,
    Vectors,
)
from aurora.stores.checkouts import missing_uses, same_definitions, variant_of
from aurora.stores.shared import PAGE, UNKNOWN, D, Database, Part, Row, iter_pages, portions
from aurora.text import is_text
from aurora.types import VARIANT, Chunk, Lines

# A condition: the state is of a file.
OF_FILES = f"substr(path, 1, {len(SESSION_NOTES)}) <> '{SESSION_NOTES}'"
_RELEASED = 500  # files in one statement
_RECORDS_PAGE = 500  # records written at a time
USED, NEXT = "embeddings", "next_embeddings"  # tables of vectors
_FACTS = {USED: "embedder", NEXT: "next_embedder"}
_RELATIVE = "path <> '' AND substr(path, 1, 1) <> '/' AND substr(path, 2, 2) <> ':/'"
_ANY_CHUNK = "SELECT 1 FROM chunks WHERE path IN ? LIMIT 1"
_PLACES = "indexed_places"  # the fact that holds them, as JSON


class ChunkPart(Part[D], Chunks):
    """`Chunks`. The abstract methods that write run inside a transaction."""

    revised: ClassVar[str]  # a query of searchable chunks, before `AND …`

    @abstractmethod
    def read_revised(self, row: Row) -> tuple[Revision, Chunk]:
        """A row of `revised`."""

    @abstractmethod
    def write_changed(self, before: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from `before`; returns how many. Drops stale vectors."""

    @abstractmethod
    def add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None: ...

    @abstractmethod
    def states_of(
        self, checkout: int, paths: Iterable[str] | None = None
    ) -> Mapping[str, FileState]:
        """The states of files in one checkout, by path; without `paths`, none of sessions."""

    @abstractmethod
    def delete_files(self, paths: Collection[str]) -> int:
        """Remove all chunks of files; returns how many."""

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        return self.states_of(self._database.checkout, paths)

    def states_from(self, prefix: str) -> Mapping[str, FileState]:
        rows = self._database.rows(
            "SELECT path FROM files WHERE checkout = ? AND substr(path, 1, length(?)) = ?",
            (self._database.checkout, prefix, prefix),
        )
        return self.file_states(path for (path,) in rows)

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        return {revision.row: chunk for revision, chunk in self.iter_revised(rows)}

    def iter_chunks(self) -> Iterator[Chunk]:
        return (chunk for _, chunk in self.iter_revised())

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        if rows is None:
            return iter_pages(self.revised_page, lambda revised: revised[0].row)
        sql = f"{self.revised} AND {self._database.row} IN ? ORDER BY {self._database.row}"
        return map(self.read_revised, self._database.rows_in(sql, sorted(set(rows))))

    def revised_page(self, last: int, limit: int) -> list[tuple[Revision, Chunk]]:
        """Searchable chunks after a row, at most so many."""
        row = self._database.row
        sql = f"{self.revised} AND {row} > ? ORDER BY {row} LIMIT ?"
        return [*map(self.read_revised, self._database.rows(sql, (last, limit)))]

    def revisions(self, generations: Collection[int] | None = None) -> Mapping[int, int]:
        database = self._database
        sql = f"SELECT {database.row}, generation {database.searchable}"
        if generations is None:
            return dict(sorted(database.rows(sql)))
        return dict(sorted(database.rows_in(f"{sql} AND generation IN ?", generations)))

    def generations(self, chunk_ids: Sequence[str]) -> Mapping[str, int]:
        sql = "SELECT id, generation FROM chunks WHERE id IN ?"
        return dict(self._database.rows_in(sql, chunk_ids))

    def revision_groups(self, *, old: int = -1) -> Mapping[int, RevisionGroup]:
        row, searchable = self._database.row, self._database.searchable
        sums = f"count(*), sum({row}), sum({row} * (({row} + generation) & 1023))"
        groups = self._database.rows(
            f"SELECT CAST(? AS BIGINT), {sums} {searchable} AND generation <= ? UNION ALL "
            f"SELECT generation, {sums} {searchable} AND generation > ? GROUP BY generation",
            (old, old, old),
        )
        return {
            generation: RevisionGroup(rows, *map(int, sums))
            for generation, rows, *sums in groups
            if rows
        }

    def list_languages(self) -> list[str]:
        return self._texts(
            "SELECT DISTINCT language FROM chunks WHERE language <> '' ORDER BY language"
        )

    def count_namespaces(self) -> Mapping[str, int]:
        sql = "SELECT namespace, count(*) FROM chunks GROUP BY namespace"
        return dict(self._database.rows(sql))

    def count_files(self) -> int:
        sql = f"SELECT count(DISTINCT path) FROM files WHERE left_out = '' AND {OF_FILES}"
        own = self._database.checkout
        if own == UNKNOWN:
            return int(self._database.rows(sql)[0][0])
        return int(self._database.rows(f"{sql} AND checkout = ?", (own,))[0][0])

    def indexed_places(self) -> Mapping[str, bool]:
        try:
            places = json.loads(self._database.facts([_PLACES]).get(_PLACES, "{}"))
            return {str(place): bool(git) for place, git in places.items()}
        except (ValueError, AttributeError):  # Aurora never writes this
            return {}

    def put_indexed_places(self, places: Mapping[str, bool]) -> None:
        with self._database.transaction():
            self._database.set_fact(_PLACES, json.dumps(dict(places)))

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._database.rows(
            "SELECT id, start_line, end_line FROM chunks WHERE path = ? AND start_line IS NOT NULL",
            (path,),
        )
        state = self.file_states([path]).get(path) if self._database.other_checkouts() else None
        if state is not None:
            own = {id_ for _, id_, _, variant in self.variants([path]) if variant == state.variant}
            rows = [row for row in rows if row[0] in own]
        return ((id_, Lines(start, end)) for id_, start, end in rows)

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        condition = "substr(id, length(id) - length(?) + 1) = ? ORDER BY id LIMIT ?"
        return self.ids(condition, suffix, suffix, limit) if suffix else []

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        # A range can use the index of ids. No character sorts after the last one.
        condition = "id >= ? AND id < ? ORDER BY id LIMIT ?"
        return self.ids(condition, prefix, f"{prefix}{chr(sys.maxunicode)}", limit)

    def find_below(self, path: str) -> list[str]:
        if path == ".":
            return self.ids(f"{_RELATIVE} ORDER BY id")
        folder = f"{path.rstrip('/')}/"
        # As above, by the index of paths.
        below = "path = ? OR (path >= ? AND path < ?) ORDER BY id"
        return self.ids(below, path, folder, f"{folder}{chr(sys.maxunicode)}")

    def find_in_namespace(self, namespace: str) -> list[str]:
        return self.ids("namespace = ? ORDER BY id", namespace)

    def ids(self, condition: str, *values: object) -> list[str]:
        """Ids of chunks. No stored text equals one that is not UTF-8."""
        if not all(is_text(value) for value in values if isinstance(value, str)):
            return []
        return self._texts(f"SELECT id FROM chunks WHERE {condition}", values)

    def _texts(self, sql: str, values: Sequence[object] = ()) -> list[str]:
        return [text for (text,) in self._database.rows(sql, values)]

    def record_access(self, chunk_id: str, at: datetime) -> None:
        with self._database.transaction():
            self.add_accesses([(chunk_id, at)])

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        wanted = {chunk.id: chunk for chunk in chunks}
        with self._database.transaction():
            return self.write_changed(self.by_id(list(wanted)), wanted)

    def by_id(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self.get_chunks(chunk_ids)}

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        path, database = state.path, self._database
        with database.transaction():
            others = self.states_elsewhere([path]).get(path, ())
            same = next((other for other in others if other.digest == state.digest), None)
            if same is not None:
                self.add_files([replace(state, variant=same.variant)])
                database.draw_generation()  # other rows are hidden now
                return self.drop_unheld([path])
            before, variant = set(self.ids("path = ?", path)), ""
            if others:
                variant = self._own_variant(state, others)
                before = {id_ for _, id_, _, other in self.variants([path]) if other == variant}
            changed, written = self._write_file(map(partial(_varied, variant), chunks), before)
            self._keep_uses(before - written if not others else self.ids("path = ?", path), written)
            removed = self.delete_chunks(before - written)
            self.add_files([replace(state, variant=variant)])
            return removed + changed

    def replace_files(self, files: Sequence[tuple[FileState, Sequence[Chunk]]]) -> int:
        chunks = {chunk.id: chunk for _, of_file in files for chunk in of_file}
        paths = [state.path for state, _ in files]
        with self._database.transaction():
            if (
                len(chunks) == sum(len(of_file) for _, of_file in files)
                and not any(self._database.rows_in(_ANY_CHUNK, paths))
                and not self.by_id(list(chunks))
                and not self.states_elsewhere(paths)
            ):
                self.add_files(state for state, _ in files)
                return self.write_changed({}, chunks)
            return sum(self.replace_file(state, of_file) for state, of_file in files)

    def _own_variant(self, state: FileState, others: Sequence[FileState]) -> str:
        """The variant of this checkout's version, which no other checkout may have."""
        mine, taken = self.file_states([state.path]).get(state.path), {o.variant for o in others}
        return mine.variant if mine and mine.variant not in taken else variant_of(state)

    def _write_file(self, chunks: Iterable[Chunk], before: Set[str]) -> tuple[int, set[str]]:
        """Write the chunks of a file that has the ids `before`; how many changed, and their ids."""
        changed = 0
        written: set[str] = set()
        for page in portions(chunks, PAGE):
            ids = {chunk.id for chunk in page}
            stored = self.by_id(list(ids))
            wanted = self._with_own_ids(page, stored.keys() - before, before, written)
            stored |= self.by_id(list(wanted.keys() - ids))
            changed += self.write_changed(stored, wanted)
        return changed, written

    def _with_own_ids(
        self, chunks: Sequence[Chunk], taken: Set[str], before: Set[str], written: set[str]
    ) -> dict[str, Chunk]:
        """Chunks of one file by ids that neither another file nor an earlier chunk has."""
        wanted, reserved = {}, {chunk.id for chunk in chunks}
        for chunk in chunks:
            own = chunk
            if chunk.id in written or chunk.id in taken:
                own = self._with_free_id(chunk, before, written, reserved)
            wanted[own.id] = own
            written.add(own.id)
        return wanted

    def _with_free_id(self, chunk: Chunk, before: Set[str], *taken: Container[str]) -> Chunk:
        """The chunk with the first numbered id that is free or belongs to its own file."""
        for number in itertools.count(2):
            id_ = f"{chunk.id}#{number}"
            is_own = id_ in before or not self.get_chunks([id_])
            if is_own and not any(id_ in ids for ids in taken):
                break
        return replace(chunk, id=id_)

    # Checkouts

    def states_elsewhere(
        self, paths: Iterable[str] | None = None
    ) -> Mapping[str, Sequence[FileState]]:
        """The states of files in the other checkouts, by path."""
        states: defaultdict[str, list[FileState]] = defaultdict(list)
        for number in sorted(self._database.other_checkouts()):
            for path, state in self.states_of(number, paths).items():
                states[path].append(state)
        return states

    def variants(self, paths: Iterable[str]) -> Iterator[tuple[int, str, str, str]]:
        """Row, id, path and variant of the chunks of files."""
        database = self._database
        sql = f"SELECT {database.row}, id, path, {database.metadata_text} FROM chunks"
        for row, id_, path, metadata in database.rows_in(f"{sql} WHERE path IN ?", paths):
            read = json.loads(metadata, strict=False) if VARIANT in metadata else {}
            yield row, id_, path, str(read.get(VARIANT, "")) if isinstance(read, dict) else ""

    def forget_files(self, paths: Iterable[str], *, everywhere: bool = False) -> int:
        database = self._database
        owners = {database.checkout} | (database.other_checkouts() if everywhere else set())
        with database.transaction():
            return self.release(list(paths), owners)

    def release(self, paths: Sequence[str], owners: Collection[int]) -> int:
        """Remove files of some checkouts, and their chunks unless another one has them."""
        if not paths:
            return 0
        database = self._database
        for owner in owners:
            for page in portions(paths, _RELEASED):
                marks = ", ".join("?" * len(page))
                database.execute(
                    f"DELETE FROM files WHERE checkout = ? AND path IN ({marks})", (owner, *page)
                )
        rows = database.rows_in("SELECT path FROM files WHERE path IN ?", paths)
        held = {path for (path,) in rows}
        return self.delete_files(set(paths) - held) + self.drop_unheld(held)

    def drop_unheld(self, paths: Collection[str]) -> int:
        """Remove the versions of files that no checkout has any more."""
        held = set(self._database.rows_in("SELECT path, variant FROM files WHERE path IN ?", paths))
        kept: list[str] = []
        dropped: list[str] = []
        for _, id_, path, variant in self.variants(paths):
            (kept if (path, variant) in held else dropped).append(id_)
        self._keep_uses(dropped, kept)
        return self.delete_chunks(dropped)

    def _keep_uses(self, old: Iterable[str], new: Iterable[str]) -> None:
        """Give the chunks of one version of a file the uses that another version had."""
        pairs = same_definitions(old, new)
        if pairs:
            uses = self.get_accesses([*pairs.keys(), *pairs.values()])
            self.add_accesses(missing_uses(pairs, uses))


def _varied(variant: str, chunk: Chunk) -> Chunk:
    return replace(chunk, metadata={**chunk.metadata, VARIANT: variant}) if variant else chunk


def embedded_text(chunk: Chunk) -> tuple[str, ...]:
    """The text of a vector. A chunk that only moved inside its file keeps its vector."""
    return (chunk.path, chunk.qualified_name, chunk.name, chunk.content)


class VectorPart(Part[D], Vectors):
    """`Vectors`. The abstract methods that write run inside a transaction."""

    row: ClassVar[str]  # the number of a vector's chunk
    columns: ClassVar[str]  # of a vector
    embedded: ClassVar[str]  # `FROM … WHERE …` of searchable chunks with a vector, before `AND …`

    @abstractmethod
    def read_vector(self, row: Row) -> tuple[Revision, bytes]:
        """From row, generation and `columns`."""

    @abstractmethod
    def empty_next(self) -> None:
        """Drop the vectors of the next embedder."""

    @abstractmethod
    def promote_next(self) -> None:
        """Replace the vectors in use by the next ones, in constant time."""

    @abstractmethod
    def put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None: ...

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        if rows is None:
            return iter_pages(self._vectors_page, lambda vector: vector[0].row)
        sql = f"{self._select(self.columns)} AND {self.row} IN ? ORDER BY {self.row}"
        return map(self.read_vector, self._database.rows_in(sql, sorted(set(rows))))

    def _vectors_page(self, last: int, limit: int) -> list[tuple[Revision, bytes]]:
        sql = f"{self._select(self.columns)} AND {self.row} > ? ORDER BY {self.row} LIMIT ?"
        return [*map(self.read_vector, self._database.rows(sql, (last, limit)))]

    def _select(self, *columns: str) -> str:
        numbers = (self._database.row, "chunks.generation")
        return f"SELECT {', '.join((*numbers, *columns))} {self.embedded}"

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(self._database.rows(f"{self._select()} ORDER BY {self.row}"))

    def count_vectors(self) -> int:
        return int(self._database.rows(f"SELECT count(*) {self.embedded}")[0][0])

    def embedder(self) -> Embedder | None:
        return read_embedder(self._database, USED)

    def next_embedder(self) -> Embedder | None:
        return read_embedder(self._database, NEXT)

    def start_reembedding(self, embedder: Embedder) -> None:
        with self._database.transaction():
            if self.embedder() in (None, embedder):
                raise StoreError(f"There are no vectors that {embedder.name} could replace")
            if self.next_embedder() != embedder:
                self.stop_reembedding()
                self._set_embedder(NEXT, embedder)

    def stop_reembedding(self) -> None:
        with self._database.transaction():
            if self.next_embedder() is not None:
                self.empty_next()
                self._database.remove_facts(_fact_names(NEXT))

    def finish_reembedding(self) -> None:
        with self._database.transaction():
            embedder = self.next_embedder()
            if embedder is None:
                raise StoreError("No other model's vectors are being made in this memory")
            self.promote_next()
            self._database.remove_facts(_fact_names(NEXT))
            self._set_embedder(USED, embedder)
            self._database.draw_generation()

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self._database.transaction():
            owner, table = self.embedder(), USED
            if owner not in (None, embedder) and self.next_embedder() == embedder:
                table = NEXT
            elif owner is not None:
                owner.require(embedder)
            checked = [_with_right_width(id_, vector, embedder) for id_, vector in vectors]
            if checked and owner is None:
                self._set_embedder(USED, embedder)
            self.put_vectors(table, checked)

    def _set_embedder(self, table: str, embedder: Embedder) -> None:
        for name, value in zip(_fact_names(table), embedder, strict=True):
            self._database.set_fact(name, str(value))


def read_embedder(database: Database, table: str) -> Embedder | None:
    names = _fact_names(table)
    facts = database.facts(names)
    if len(facts) < len(names):
        return None
    name, dimension, fingerprint = map(facts.__getitem__, names)
    return Embedder(name, int(dimension), fingerprint)


def _fact_names(table: str) -> list[str]:
    return [f"{_FACTS[table]}.{field}" for field in Embedder._fields]


def _with_right_width(chunk_id: str, vector: bytes, embedder: Embedder) -> tuple[str, bytes]:
    wanted = VECTOR_WIDTH * embedder.dimension
    if len(vector) != wanted:
        raise ValueError(
            f"vector of {chunk_id!r} has {len(vector)} bytes, {embedder.name} makes {wanted}"
        )
    return chunk_id, vector


class MaintenancePart(Part[D], Maintenance):
    """`Maintenance`: the export and import of records."""

    def __init__(self, database: D, chunks: ChunkPart[D], vectors: Vectors) -> None:
        super().__init__(database)
        self._chunks, self._vectors = chunks, vectors

    @abstractmethod
    def records_page(self, last: int, limit: int) -> list[tuple[int, Record]]:
        """Records after a row, at most so many, with their rows."""

    def iter_records(self) -> Iterator[Record]:
        return (record for _, record in iter_pages(self.records_page, lambda paged: paged[0]))

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        """Equal data is not written again."""
        new = 0
        with self._database.transaction():
            for page in portions(records, _RECORDS_PAGE):
                wanted = {record.chunk.id: record.chunk for record in page}
                stored = self._chunks.by_id(list(wanted))
                self._chunks.write_changed(stored, wanted)
                self._put_attached(page)
                if embedder is not None:
                    self._put_new_vectors(embedder, page)
                new += len(wanted) - len(stored)
        return new

    def _put_attached(self, records: Sequence[Record]) -> None:
        chunks = self._chunks
        chunks.put_histories({r.chunk.id: r.history for r in records if r.history is not None})
        accesses = {r.chunk.id: r.accesses for r in records if r.accesses}
        stored = chunks.get_accesses(list(accesses))
        # Counted, because two accesses at one moment are two, also when imported twice.
        chunks.add_accesses(
            (id_, at)
            for id_, moments in accesses.items()
            for at in (Counter(moments) - Counter(stored.get(id_, ()))).elements()
        )
        for record in records:
            id_, reasoning = record.chunk.id, record.reasoning
            if reasoning is not None and reasoning != chunks.get_reasoning(id_):
                chunks.put_reasoning(id_, reasoning)

    def _put_new_vectors(self, embedder: Embedder, records: Sequence[Record]) -> None:
        given = {r.chunk.id: r.vector for r in records if r.vector is not None}
        stored = self._vectors.get_embeddings(list(given))
        new = [(id_, vector) for id_, vector in given.items() if stored.get(id_) != vector]
        self._vectors.put_embeddings(embedder, new)
