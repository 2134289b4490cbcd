"""What both stores do alike, without SQL: criteria, replaced files, imports, embedders, words.

The functions take a part of a store and call the few methods in which the databases differ.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice, pairwise
from typing import Any, Protocol, TypeVar

from aurora.errors import StoreError
from aurora.globs import Rule, parse_rule
from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import Chunks, Embedder, FileState, Record, Vectors
from aurora.text import CJK, MAX_TOKEN, fold_name, has_cjk
from aurora.types import Chunk, Criteria, Json, Kind, Place

T = TypeVar("T")

# Pages

PAGE = 1000  # rows read or written at a time
_RECORDS_PAGE = 500  # records written at a time


def portions(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Values in lists of at most `size`, read lazily."""
    rest = iter(values)
    while portion := list(islice(rest, size)):
        yield portion


def iter_pages(
    read: Callable[[tuple[int, int]], Sequence[T]], row_of: Callable[[T], int]
) -> Iterator[T]:
    """All values of `read((last row, limit))`, page by page. No lock is held between pages."""
    last = 0
    while True:
        page = read((last, PAGE))
        yield from page
        if len(page) < PAGE:
            return
        last = row_of(page[-1])


# Chunks and records


class ChunkTable(Chunks, Protocol):
    """`Chunks` with the writes that differ between databases. All run inside a transaction."""

    def ids_of_file(self, path: str) -> set[str]: ...

    def write_changed(self, before: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from `before`; returns how many. Drops stale vectors."""

    def add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None: ...


def put_chunks(table: ChunkTable, chunks: Iterable[Chunk]) -> int:
    wanted = {chunk.id: chunk for chunk in chunks}
    return table.write_changed(_by_id(table, list(wanted)), wanted)


def replace_file(table: ChunkTable, state: FileState, chunks: Iterable[Chunk]) -> int:
    changed = 0
    before = table.ids_of_file(state.path)
    written: set[str] = set()
    for page in portions(chunks, PAGE):
        ids = {chunk.id for chunk in page}
        stored = _by_id(table, list(ids))
        wanted = _with_own_ids(table, page, stored, written)
        stored |= _by_id(table, list(wanted.keys() - ids))
        changed += table.write_changed(stored, wanted)
    removed = table.delete_chunks(before - written)
    table.add_files([state])
    return removed + changed


def _by_id(table: ChunkTable, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
    return {chunk.id: chunk for chunk in table.get_chunks(chunk_ids)}


def _with_own_ids(
    table: ChunkTable, chunks: Sequence[Chunk], stored: Mapping[str, Chunk], written: set[str]
) -> dict[str, Chunk]:
    """Chunks of one file by ids that neither another file nor an earlier chunk has."""
    wanted, reserved = {}, {chunk.id for chunk in chunks}
    for chunk in chunks:
        own = chunk
        if chunk.id in written or stored.get(chunk.id, chunk).path != chunk.path:
            own = _with_free_id(table, chunk, written, reserved)
        wanted[own.id] = own
        written.add(own.id)
    return wanted


def _with_free_id(table: ChunkTable, chunk: Chunk, *taken: Container[str]) -> Chunk:
    """The chunk with the first numbered id that is free or belongs to its own file."""
    for number in itertools.count(2):
        renamed = replace(chunk, id=f"{chunk.id}#{number}")
        owner = table.get_chunks([renamed.id])
        is_own = not owner or owner[0].path == chunk.path
        if is_own and not any(renamed.id in ids for ids in taken):
            break
    return renamed


def embedded_text(chunk: Chunk) -> tuple[str, ...]:
    """The text of a vector. A chunk that only moved inside its file keeps its vector."""
    return (chunk.path, chunk.qualified_name, chunk.name, chunk.content)


def put_records(
    table: ChunkTable, vectors: Vectors, records: Iterable[Record], embedder: Embedder | None
) -> int:
    """Import records; equal data is not written again. Returns how many ids were new."""
    new = 0
    for page in portions(records, _RECORDS_PAGE):
        wanted = {record.chunk.id: record.chunk for record in page}
        stored = _by_id(table, list(wanted))
        table.write_changed(stored, wanted)
        _put_attached(table, page)
        if embedder is not None:
            _put_new_vectors(vectors, embedder, page)
        new += len(wanted) - len(stored)
    return new


def _put_attached(table: ChunkTable, records: Sequence[Record]) -> None:
    table.put_histories({r.chunk.id: r.history for r in records if r.history is not None})
    accesses = {r.chunk.id: r.accesses for r in records if r.accesses}
    stored = table.get_accesses(list(accesses))
    # Counted, because two accesses at one moment are two, also when imported twice.
    table.add_accesses(
        (id_, at)
        for id_, moments in accesses.items()
        for at in (Counter(moments) - Counter(stored.get(id_, ()))).elements()
    )
    for record in records:
        id_, reasoning = record.chunk.id, record.reasoning
        if reasoning is not None and reasoning != table.get_reasoning(id_):
            table.put_reasoning(id_, reasoning)


def _put_new_vectors(vectors: Vectors, embedder: Embedder, records: Sequence[Record]) -> None:
    given = {r.chunk.id: r.vector for r in records if r.vector is not None}
    stored = vectors.get_embeddings(list(given))
    vectors.put_embeddings(
        embedder, [(id_, vector) for id_, vector in given.items() if stored.get(id_) != vector]
    )


# Embedders of vectors

USED, NEXT = "embeddings", "next_embeddings"  # tables
_FACTS = {USED: "embedder", NEXT: "next_embedder"}


class Database(Protocol):
    """What the functions on embedders need of a database."""

    def transaction(self) -> AbstractContextManager[None]: ...

    def facts(self, names: Sequence[str]) -> Mapping[str, str]: ...

    def set_fact(self, name: str, value: str) -> None: ...

    def remove_facts(self, names: Iterable[str]) -> None: ...

    def draw_generation(self) -> int: ...


class VectorTables(Protocol):
    """The writes of vectors that differ between databases. All run inside a transaction."""

    def empty_next(self) -> None:
        """Drop the vectors of the next embedder."""

    def promote_next(self) -> None:
        """Replace the vectors in use by the next ones, in constant time."""

    def put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None: ...


def read_embedder(database: Database, table: str) -> Embedder | None:
    names = _fact_names(table)
    facts = database.facts(names)
    if len(facts) < len(names):
        return None
    name, dimension, fingerprint = map(facts.__getitem__, names)
    return Embedder(name, int(dimension), fingerprint)


def start_reembedding(database: Database, tables: VectorTables, embedder: Embedder) -> None:
    with database.transaction():
        if read_embedder(database, USED) in (None, embedder):
            raise StoreError(f"There are no vectors that {embedder.name} could replace")
        if read_embedder(database, NEXT) != embedder:
            stop_reembedding(database, tables)
            _set_embedder(database, NEXT, embedder)


def stop_reembedding(database: Database, tables: VectorTables) -> None:
    with database.transaction():
        if read_embedder(database, NEXT) is not None:
            tables.empty_next()
            database.remove_facts(_fact_names(NEXT))


def finish_reembedding(database: Database, tables: VectorTables) -> None:
    with database.transaction():
        embedder = read_embedder(database, NEXT)
        if embedder is None:
            raise StoreError("No other model's vectors are being made in this memory")
        tables.promote_next()
        database.remove_facts(_fact_names(NEXT))
        _set_embedder(database, USED, embedder)
        database.draw_generation()


def put_embeddings(
    database: Database,
    tables: VectorTables,
    embedder: Embedder,
    vectors: Iterable[tuple[str, bytes]],
) -> None:
    with database.transaction():
        owner, table = read_embedder(database, USED), USED
        if owner not in (None, embedder) and read_embedder(database, NEXT) == embedder:
            table = NEXT
        elif owner is not None:
            owner.require(embedder)
        checked = [_with_right_width(id_, vector, embedder) for id_, vector in vectors]
        if checked and owner is None:
            _set_embedder(database, USED, embedder)
        tables.put_vectors(table, checked)


def _fact_names(table: str) -> list[str]:
    return [f"{_FACTS[table]}.{field}" for field in Embedder._fields]


def _set_embedder(database: Database, table: str, embedder: Embedder) -> None:
    for name, value in zip(_fact_names(table), embedder, strict=True):
        database.set_fact(name, str(value))


def _with_right_width(chunk_id: str, vector: bytes, embedder: Embedder) -> tuple[str, bytes]:
    wanted = VECTOR_WIDTH * embedder.dimension
    if len(vector) != wanted:
        raise ValueError(
            f"vector of {chunk_id!r} has {len(vector)} bytes, {embedder.name} makes {wanted}"
        )
    return chunk_id, vector


# Criteria


class RowSource(Protocol):
    """The rows that match one criterion. They may include hidden rows."""

    def all_rows(self) -> set[int]: ...

    def hidden_rows(self) -> set[int]:
        """The rows that are not searchable."""

    def rows_with_labels(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """Rows with one of the values of each label. Languages are in lower case."""

    def rows_under(self, globs: Sequence[str]) -> set[int]: ...

    def rows_named(self, glob: str) -> set[int]:
        """Rows whose name or qualified name matches."""

    def rows_with_phrase(self, phrase: str) -> set[int] | None:
        """Rows with these words next to each other; None if there is no word."""

    def rows_with_metadata(self, key: str, value: str) -> set[int]: ...

    def rows_since(self, moment: datetime) -> set[int]:
        """Rows dated or committed since; by file time if there is no date, or edits wait."""


def find_rows(source: RowSource, criteria: Criteria) -> array[int]:
    """Intersect the rows of all criteria."""
    hidden, sets = source.hidden_rows(), _matching(source, criteria)
    rows = next(sets, None)
    if rows is None:
        rows = source.all_rows()
    for matching in sets:
        rows &= matching
        if not rows:
            break
    for phrase in criteria.without:
        rows -= source.rows_with_phrase(phrase) or set()
    return array("q", sorted(rows - hidden))


def _matching(source: RowSource, criteria: Criteria) -> Iterator[set[int]]:
    """The rows of each criterion, the fastest first: texts are read last."""
    labels = {
        "kind": [str(kind) for kind in criteria.kinds],
        "language": [language.lower() for language in criteria.languages],
        "namespace": criteria.namespaces,
        "document_type": criteria.document_types,
    }
    if any(labels.values()):
        yield source.rows_with_labels({label: values for label, values in labels.items() if values})
    if criteria.paths:
        yield source.rows_under(criteria.paths)
    if criteria.names:
        yield set().union(*map(source.rows_named, criteria.names))
    for phrase in criteria.phrases:
        rows = source.rows_with_phrase(phrase)
        if rows is not None:
            yield rows
    for key, value in criteria.metadata:
        yield source.rows_with_metadata(key, value)
    if criteria.since is not None:
        yield source.rows_since(criteria.since)


def fitting_paths(paths: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The paths that match globs of `.gitignore`; a folder matches everything below it.

    An empty path and an invalid glob match nothing.
    """
    rules = [rule for glob in globs if (rule := parse_rule(_as_rule(glob)))]
    return [path for path in paths if path and _fits(path.removeprefix("/"), rules)]


def _fits(path: str, rules: Sequence[Rule]) -> bool:
    """The last rule for the file decides, else the last rule for a folder above it."""
    verdict = None
    for rule in reversed(rules):
        match = rule.regex.match(path)
        if match is not None and match.end() == len(path):
            return not rule.negated
        if match is not None and verdict is None:
            verdict = not rule.negated
    return bool(verdict)


def _as_rule(glob: str) -> str:
    """A glob as a line of `.gitignore`. Users also write `./src`, `.` and `#1.md`."""
    inside = glob.removeprefix("./")
    if inside in ("", "."):
        return "**" if glob else ""
    return f"\\{inside}" if inside.startswith("#") else inside


_WILDCARD = re.compile(r"[*?\[]")


def has_wildcard(glob: str) -> bool:
    return _WILDCARD.search(glob) is not None


def literal_parts(glob: str) -> list[str]:
    """ASCII texts that every matching name contains in this order, in any case."""
    parts = re.split(r"[*?]+", glob.partition("[")[0])
    return [part for part in parts if part and part.isascii()]


def name_test(glob: str) -> Callable[[str, str], bool]:
    """A test of name and qualified name: by wildcards, or by equality up to spelling."""
    if has_wildcard(glob):
        fits = re.compile(fnmatch.translate(glob), re.IGNORECASE).match
        return lambda name, qualified: bool(fits(name) or fits(qualified))
    folded, lowered = fold_name(glob), glob.casefold()
    return lambda name, qualified: fold_name(name) == folded or qualified.casefold() == lowered


def metadata_fits(metadata: Mapping[str, Json], key: str, value: str) -> bool:
    """Whether a top-level key has this value, or a list with it."""
    if key not in metadata:
        return False
    own = metadata[key]
    return any(_as_text(item) == value for item in (own if isinstance(own, list) else [own]))


def _as_text(value: Json) -> str | None:
    """A value as a user types it; None for objects and lists."""
    if isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)


# Places

_KINDS = frozenset(map(str, Kind))


def place_of(columns: Sequence[Any]) -> Place:
    """The place of a chunk, from row, id, kind, path, namespace, and three metadata values.

    Pieces of a document have its id before `@`. Turns without a number are numbered by row.
    """
    row, id_, kind, path, namespace, source, session, seq = columns
    known_kind = Kind(kind) if kind in _KINDS else Kind.CODE  # reading the chunk reports damage
    home = path or id_.partition("@")[0]
    if session is not None:
        turn = int(seq) if seq is not None and seq.isdecimal() else row
        return Place(known_kind, path, home, f"{namespace}\0{session}", turn)
    if source == "conversation":
        return Place(known_kind, path, home, path, row)
    return Place(known_kind, path, home)


# Words of a query for the database's own text search. An underscore between letters or digits is
# part of a word. Han, Kana and Hangul are written without spaces: a run of them is its own word.

MAX_TERMS = 32  # words of one query; a longer text is a document, and its start is enough

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_LETTER = rf"[^\W_{CJK}]"
_BETWEEN = r"[\W_]"


def find_terms(text: str) -> list[str]:
    """The first distinct words of a text, in order, without regard to case."""
    terms: dict[str, str] = {}
    for word in _words(text, _WORD):
        terms.setdefault(word.casefold(), word)
        if len(terms) == MAX_TERMS:
            break
    return list(terms.values())


def phrase_words(text: str) -> list[str]:
    """The words of a phrase in order, with repetitions; `get_user` is two words."""
    return list(islice(_words(text, _PART), MAX_TERMS))


def phrase_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """A pattern for these words next to each other, in any case.

    Words are whole, except in scripts without spaces, where any part is a word.
    """
    start = "" if has_cjk(words[0]) else f"(?<!{_LETTER})"
    end = "" if has_cjk(words[-1]) else f"(?!{_LETTER})"
    middle = re.escape(words[0])
    for before, word in pairwise(words):
        apart = "*" if has_cjk(before) or has_cjk(word) else "+"
        middle += f"{_BETWEEN}{apart}{re.escape(word)}"
    return re.compile(start + middle + end, re.IGNORECASE)


def _words(text: str, shape: re.Pattern[str]) -> Iterator[str]:
    # A combining accent would end the word, so it is composed with its letter first.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for match in shape.finditer(composed):
        word = match[0][:MAX_TOKEN]
        if not has_cjk(word):
            yield word
            continue
        for _, run in groupby(word, key=has_cjk):
            yield "".join(run).strip("_")
