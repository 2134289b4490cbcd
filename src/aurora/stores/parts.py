"""The four parts of a store as far as both databases do them alike.

The abstract methods and class attributes of a part are what differs between the databases. SQL
here is what both understand, with `?` for a bound value.
"""

from __future__ import annotations

import itertools
import json
import sys
from abc import abstractmethod
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import ClassVar

from aurora.errors import StoreError, StoreFormatError
from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import (
    Chunks,
    Definition,
    Embedder,
    FileState,
    Maintenance,
    Record,
    Revision,
    Search,
    Vectors,
)
from aurora.stores.checkouts import missing_uses, same_definitions, variant_of
from aurora.stores.matching import has_wildcard, like, literal_parts, name_test, phrase_pattern
from aurora.stores.shared import PAGE, UNKNOWN, D, Database, Part, Row, iter_pages, portions
from aurora.text import fold_name, has_cjk, is_text
from aurora.types import VARIANT, Chunk, Criteria, Json, Kind, Lines, symbols_of

_RELEASED = 500  # files in one statement
_RECORDS_PAGE = 500  # records written at a time
USED, NEXT = "embeddings", "next_embeddings"  # tables of vectors
_FACTS = {USED: "embedder", NEXT: "next_embedder"}
_RELATIVE = "path <> '' AND substr(path, 1, 1) <> '/' AND substr(path, 2, 2) <> ':/'"
_PLACES = "indexed_places"  # the fact that holds them, as JSON
_SHORTEST_LIKE = 3  # shorter words are part of nearly every text


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
        """The states of files in one checkout, by path."""

    @abstractmethod
    def delete_files(self, paths: Collection[str]) -> int:
        """Remove all chunks of files; returns how many."""

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        return self.states_of(self._database.checkout, paths)

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

    def list_languages(self) -> list[str]:
        return self._texts(
            "SELECT DISTINCT language FROM chunks WHERE language <> '' ORDER BY language"
        )

    def count_namespaces(self) -> Mapping[str, int]:
        sql = "SELECT namespace, count(*) FROM chunks GROUP BY namespace"
        return dict(self._database.rows(sql))

    def count_files(self) -> int:
        sql = "SELECT count(DISTINCT path) FROM files WHERE left_out = ''"
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
        below = "path = ? OR substr(path, 1, length(?)) = ? ORDER BY id"
        return self.ids(below, path, folder, folder)

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


def _definition(columns: Row) -> tuple[Definition, dict[str, Json]]:
    row, kind, name, qualified, path, written = columns
    try:
        metadata = json.loads(written, strict=False)
        is_whole = metadata.get("part", 1) == 1 and not metadata.get("overload")
        return Definition(row, Kind(kind), name, qualified, path, is_whole=is_whole), metadata
    except (ValueError, TypeError, AttributeError) as exc:  # Aurora never writes such a row
        raise StoreFormatError(
            f"The chunk of row {row} is damaged: {exc}", hint="`aur doctor` looks for more damage"
        ) from exc


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


class SearchPart(Part[D], Search):
    """`Search`. The abstract methods may include hidden rows."""

    cjk_only: ClassVar[str]  # `AND …`: chunks with CJK text
    has_symbol: ClassVar[str]  # a condition: the chunk has a symbol with the folded name `?`

    @abstractmethod
    def all_rows(self) -> set[int]: ...

    @abstractmethod
    def hidden_rows(self) -> set[int]:
        """The rows that are not searchable."""

    @abstractmethod
    def rows_with_labels(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """Rows with one of the values of each label. Languages are in lower case."""

    @abstractmethod
    def rows_under(self, globs: Sequence[str]) -> set[int]: ...

    @abstractmethod
    def rows_with_phrase(self, phrase: str) -> set[int] | None:
        """Rows with these words next to each other; None if there is no word."""

    @abstractmethod
    def rows_with_metadata(self, key: str, value: str) -> set[int]: ...

    @abstractmethod
    def rows_since(self, moment: datetime) -> set[int]:
        """Rows dated or committed since; by file time if there is no date, or edits wait."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded, database = fold_name(name), self._database
        if not name or not is_text(name):
            return []
        # `_` and `__` both fold to nothing, so these are compared as they are.
        named = f"{database.folded_name} = ? AND (? OR name = ?)"
        chunks = self._defining(named, folded, folded != "", name, limit=limit)
        found = [definition for definition, _ in chunks]
        for chunk, metadata in self._defining(self.has_symbol, folded, limit=limit - len(found)):
            found += [
                chunk._replace(
                    name=symbol.name,
                    qualified_name=f"{chunk.qualified_name}.{symbol.name}".lstrip("."),
                    symbol=symbol,
                )
                for symbol in symbols_of(metadata)
                if fold_name(symbol.name) == folded and (folded or symbol.name == name)
            ]
        return found[:limit]

    def _defining(
        self, condition: str, *values: object, limit: int
    ) -> list[tuple[Definition, dict[str, Json]]]:
        """Chunks with a condition, and their metadata."""
        database = self._database
        rows = database.rows(
            f"SELECT {database.row}, kind, name, qualified_name, path, {database.metadata_text} "
            f"{database.searchable} AND {condition} ORDER BY {database.row} LIMIT ?",
            (*values, limit),
        )
        return [_definition(row) for row in rows]

    def iter_names(self) -> Iterator[str]:
        rows = self._database.rows(f"SELECT DISTINCT name {self._database.searchable}")
        return (name for (name,) in rows)

    def rows_named(self, glob: str) -> set[int]:
        """Rows whose name or qualified name matches. The database only preselects."""
        if not is_text(glob):
            return set()
        fits, pattern, database = name_test(glob), like(*literal_parts(glob)), self._database
        by_name, first = f"{database.folded_name} = ?", fold_name(glob)
        if has_wildcard(glob):
            by_name, first = self._like("name"), pattern
        rows = database.rows(
            f"SELECT {database.row}, name, qualified_name {database.searchable} "
            f"AND ({by_name} OR {self._like('qualified_name')})",
            (first, pattern),
        )
        return {row for row, name, qualified in rows if fits(name, qualified)}

    def _like(self, column: str) -> str:
        return f"{column} {self._database.like} ? ESCAPE '!'"

    def rows_by_text(self, words: Sequence[str], condition: str = "") -> set[int]:
        """Rows with a phrase in their texts. LIKE, which may ignore only ASCII case, preselects."""
        pattern = like(*(word for word in words if word.isascii() or has_cjk(word)))
        rows = self._database.rows(
            f"SELECT {self._database.row}, name, content {self._database.searchable} {condition} "
            f"AND ({self._like('name')} OR {self._like('content')})",
            (pattern, pattern),
        )
        if not rows:  # the usual case: compiling the pattern takes 20 ms
            return set()
        regex = phrase_pattern(words)
        return {row for row, name, content in rows if regex.search(name) or regex.search(content)}

    def find_by_like(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """By the number of terms in name or content, then by the number of terms in the name."""
        kept = [term for term in terms if has_cjk(term) or len(term) >= _SHORTEST_LIKE]
        if not kept:
            return []
        in_name, in_content = self._like("name"), self._like("content")
        # LIKE is slow to reject CJK in a text without CJK, and AND would evaluate both sides.
        skips = ("WHEN NOT has_cjk THEN 0 " if has_cjk(term) else "" for term in kept)
        either = (f"CASE {skip}WHEN {in_name} OR {in_content} THEN 1 ELSE 0 END" for skip in skips)
        names = " + ".join([f"CASE WHEN {in_name} THEN 1 ELSE 0 END"] * len(kept))
        points = f"{' + '.join(either)} + CAST({names} AS double precision) / {len(kept) + 1}"
        condition = self.cjk_only if all(map(has_cjk, kept)) else ""
        patterns = [like(term) for term in kept]
        # The inner limit keeps the database from computing the points once per use.
        rows = self._database.rows(
            f"SELECT * FROM (SELECT {self._database.row} AS number, {points} AS points "
            f"{self._database.searchable} {condition} LIMIT {sys.maxsize}) AS judged "
            "WHERE points > 0 ORDER BY points DESC, number LIMIT ?",
            (*(pattern for pattern in patterns for _ in range(2)), *patterns, limit),
        )
        return [(row, points / (1 + points)) for row, points in rows]

    def find_rows(self, criteria: Criteria) -> array[int]:
        hidden, sets = self.hidden_rows(), self._matching(criteria)
        rows = next(sets, None)
        if rows is None:
            rows = self.all_rows()
        for matching in sets:
            rows &= matching
            if not rows:
                break
        for phrase in criteria.without:
            rows -= self.rows_with_phrase(phrase) or set()
        return array("q", sorted(rows - hidden))

    def _matching(self, criteria: Criteria) -> Iterator[set[int]]:
        """The rows of each criterion, the fastest first: texts are read last."""
        labels = {
            "kind": [str(kind) for kind in criteria.kinds],
            "language": [language.lower() for language in criteria.languages],
            "namespace": criteria.namespaces,
            "document_type": criteria.document_types,
        }
        if any(labels.values()):
            yield self.rows_with_labels({name: values for name, values in labels.items() if values})
        if criteria.paths:
            yield self.rows_under(criteria.paths)
        if criteria.names:
            yield set().union(*map(self.rows_named, criteria.names))
        for phrase in criteria.phrases:
            rows = self.rows_with_phrase(phrase)
            if rows is not None:
                yield rows
        for key, value in criteria.metadata:
            yield self.rows_with_metadata(key, value)
        if criteria.since is not None:
            yield self.rows_since(criteria.since)


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
