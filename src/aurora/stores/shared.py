"""What fits a criterion: globs on paths and names, and values of metadata. No database in sight.

Whose vectors a memory holds: those in use, and beside them those of the model that takes over.

The rules are the same in every database; only where vectors lie is not.

Where a chunk stands, from what a store's row says of it.

A file's chunks take the place of those it had: the same in every database.

Which chunks fit all criteria: each criterion is one question, and sets meet.

What an index can answer is asked first; texts are read only for what is left to decide by them.

Whole records on their way into a memory: merged with what is there, in every database alike.

What is the same already is not written again.

The words of a question, as every store's own text search takes them.

Letters and digits are words, and an underscore between them is part of one. Han, Kana and Hangul
are written without spaces: a run of them is a word of its own, also next to a letter.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import re
import unicodedata
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice, pairwise
from typing import NamedTuple, TypeVar

from aurora.errors import StoreError
from aurora.globs import Rule, parse_rule
from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import Embedder, FileState, Reasoning, Record
from aurora.text import CJK, MAX_TOKEN, fold_name, has_cjk
from aurora.types import Chunk, ChunkHistory, Criteria, Json, Kind, Place

_WILDCARD = re.compile(r"[*?\[]")


def fitting_paths(paths: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The paths that globs of `.gitignore` match; a folder's name matches all below it.

    An empty path matches no glob, and a glob that git cannot read matches nothing.
    """
    rules = [rule for glob in globs if (rule := parse_rule(_as_rule(glob)))]
    return [path for path in paths if path and _fits(path.removeprefix("/"), rules)]


def _fits(path: str, rules: Sequence[Rule]) -> bool:
    """The last rule that means the file decides, else the last that means a folder above it."""
    verdict = None
    for rule in reversed(rules):
        match = rule.regex.match(path)
        if match is not None and match.end() == len(path):
            return not rule.negated
        if match is not None and verdict is None:
            verdict = not rule.negated
    return bool(verdict)


def _as_rule(glob: str) -> str:
    """A glob as a line of `.gitignore`: people also write `./src`, `.` and `#1.md`."""
    inside = glob.removeprefix("./")
    if inside in ("", "."):
        return "**" if glob else ""
    return f"\\{inside}" if inside.startswith("#") else inside


def has_wildcard(glob: str) -> bool:
    return _WILDCARD.search(glob) is not None


def literal_parts(glob: str) -> list[str]:
    """Texts that every name fitting a glob holds in this order, in ASCII of any case."""
    parts = re.split(r"[*?]+", glob.partition("[")[0])
    return [part for part in parts if part and part.isascii()]


def name_test(glob: str) -> Callable[[str, str], bool]:
    """Whether a name and a qualified name fit: by wildcards, or else equal up to spelling."""
    if has_wildcard(glob):
        fits = re.compile(fnmatch.translate(glob), re.IGNORECASE).match
        return lambda name, qualified: bool(fits(name) or fits(qualified))
    folded, lowered = fold_name(glob), glob.casefold()
    return lambda name, qualified: fold_name(name) == folded or qualified.casefold() == lowered


def metadata_fits(metadata: Mapping[str, Json], key: str, value: str) -> bool:
    """Whether the value of a top-level key, or an item of its list, reads so."""
    if key not in metadata:
        return False
    own = metadata[key]
    return any(_as_text(item) == value for item in (own if isinstance(own, list) else [own]))


def _as_text(value: Json) -> str | None:
    """A value as a person would type it; objects and lists are none."""
    if isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)


USED, NEXT = "embeddings", "next_embeddings"  # tables
_FACTS = {USED: "embedder", NEXT: "next_embedder"}
_PARTS = ("name", "dimension", "fingerprint")


class Owning(ABC):
    """The part of `Store` that is about who made the vectors."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _facts(self, names: Sequence[str]) -> Mapping[str, str]: ...

    @abstractmethod
    def _set_fact(self, name: str, value: str) -> None: ...

    @abstractmethod
    def _forget_facts(self, names: Iterable[str]) -> None: ...

    @abstractmethod
    def _draw_generation(self) -> int: ...

    @abstractmethod
    def _empty_next(self) -> None:
        """Drop the vectors of the next embedder."""

    @abstractmethod
    def _promote_next(self) -> None:
        """Let them take the place of those in use, at no cost, however many there are."""

    @abstractmethod
    def _put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None: ...

    def embedder(self) -> Embedder | None:
        return self._owner(USED)

    def next_embedder(self) -> Embedder | None:
        return self._owner(NEXT)

    def _owner(self, table: str) -> Embedder | None:
        names = [f"{_FACTS[table]}.{part}" for part in _PARTS]
        facts = self._facts(names)
        if len(facts) < len(names):
            return None
        name, dimension, fingerprint = map(facts.__getitem__, names)
        return Embedder(name, int(dimension), fingerprint)

    def _claim(self, table: str, embedder: Embedder) -> None:
        for part, value in zip(_PARTS, embedder, strict=True):
            self._set_fact(f"{_FACTS[table]}.{part}", str(value))

    def start_reembedding(self, embedder: Embedder) -> None:
        with self.transaction():
            if self._owner(USED) in (None, embedder):
                raise StoreError(f"There are no vectors that {embedder.name} could replace")
            if self._owner(NEXT) != embedder:
                self.stop_reembedding()
                self._claim(NEXT, embedder)

    def stop_reembedding(self) -> None:
        with self.transaction():
            if self._owner(NEXT) is not None:
                self._empty_next()
                self._forget_next()

    def _forget_next(self) -> None:
        self._forget_facts(f"{_FACTS[NEXT]}.{part}" for part in _PARTS)

    def finish_reembedding(self) -> None:
        with self.transaction():
            owner = self._owner(NEXT)
            if owner is None:
                raise StoreError("No other model's vectors are being made in this memory")
            self._promote_next()
            self._forget_next()
            self._claim(USED, owner)
            self._draw_generation()

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self.transaction():
            table, is_new = self._table_of(embedder)
            checked = [_of_its_width(chunk_id, vector, embedder) for chunk_id, vector in vectors]
            if checked and is_new:  # the first vector makes the memory its embedder's own
                self._claim(table, embedder)
            self._put_vectors(table, checked)

    def _table_of(self, embedder: Embedder) -> tuple[str, bool]:
        """Where its vectors belong, and whether they would be the first. Others' are refused."""
        owner = self._owner(USED)
        if owner is not None and owner != embedder and self._owner(NEXT) == embedder:
            return NEXT, False
        if owner is not None:
            owner.require(embedder)
        return USED, owner is None


def _of_its_width(chunk_id: str, vector: bytes, embedder: Embedder) -> tuple[str, bytes]:
    wanted = VECTOR_WIDTH * embedder.dimension
    if len(vector) != wanted:
        raise ValueError(
            f"vector of {chunk_id!r} has {len(vector)} bytes, {embedder.name} makes {wanted}"
        )
    return chunk_id, vector


class Told(NamedTuple):
    """The columns and the metadata that tell it, as text where there is any."""

    row: int
    id: str
    kind: str
    path: str
    namespace: str
    source: str | None
    session: str | None
    seq: str | None


_KINDS = frozenset(map(str, Kind))


def place_of(told: Told) -> Place:
    """Pieces of a document have its id in front. Who numbers no turns adds them in order, as the
    phases of a conversation log are: then rows number them."""
    kind = Kind(told.kind) if told.kind in _KINDS else Kind.CODE  # who reads it tells of damage
    home = told.path or told.id.partition("@")[0]
    if told.session is not None:
        numbered = told.seq is not None and told.seq.isdecimal()
        turn = int(told.seq or 0) if numbered else told.row
        return Place(kind, told.path, home, f"{told.namespace}\0{told.session}", turn)
    if told.source == "conversation":
        return Place(kind, told.path, home, told.path, told.row)
    return Place(kind, told.path, home)


PAGE = 1000  # chunks read or written at a time

T = TypeVar("T")


def portions(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Values in lists of at most so many, taken as they come."""
    rest = iter(values)
    while portion := list(islice(rest, size)):
        yield portion


def embedded_text(chunk: Chunk) -> tuple[str, ...]:
    """What a vector is made of: a chunk that only moved down its file keeps its vector."""
    return (chunk.path, chunk.qualified_name, chunk.name, chunk.content)


class Replacing(ABC):
    """`replace_file`, for a store that can read and write chunks by their ids."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]: ...

    @abstractmethod
    def delete_chunks(self, chunk_ids: Iterable[str]) -> int: ...

    @abstractmethod
    def add_files(self, states: Iterable[FileState]) -> None: ...

    @abstractmethod
    def _ids_of_file(self, path: str) -> set[str]: ...

    @abstractmethod
    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from what is known; tells how many did."""

    def _by_id(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self.get_chunks(chunk_ids)}

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        with self.transaction():
            wanted = {chunk.id: chunk for chunk in chunks}
            return self._replace(self._by_id(list(wanted)), wanted)

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        changed = 0
        with self.transaction():
            before = self._ids_of_file(state.path)
            written: set[str] = set()
            for some in portions(chunks, PAGE):
                known = self._by_id([chunk.id for chunk in some])
                wanted = self._under_own_ids(some, known, written)
                known |= self._by_id(list(wanted.keys() - {chunk.id for chunk in some}))
                changed += self._replace(known, wanted)
            gone = self.delete_chunks(before - written)
            self.add_files([state])
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


class Selecting(ABC):
    """`find_rows`, for a store that can answer each criterion alone."""

    def find_rows(self, criteria: Criteria) -> array[int]:
        hidden, sets = self._hidden_rows(), self._fitting(criteria)
        rows = next(sets, None)
        if rows is None:
            rows = self._all_rows()
        for fitting in sets:
            rows &= fitting
            if not rows:
                break
        for word in criteria.without:
            rows -= self._with_phrase(word) or set()
        return array("q", sorted(rows - hidden))

    def _fitting(self, criteria: Criteria) -> Iterator[set[int]]:
        """The rows that fit each criterion, the quickest to answer first."""
        labels = {
            "kind": [str(kind) for kind in criteria.kinds],
            "language": [language.lower() for language in criteria.languages],
            "namespace": criteria.namespaces,
            "document_type": criteria.document_types,
        }
        if any(labels.values()):
            yield self._labelled({label: values for label, values in labels.items() if values})
        if criteria.paths:
            yield self._under(criteria.paths)
        if criteria.names:
            yield set().union(*map(self._named, criteria.names))
        for phrase in criteria.phrases:
            found = self._with_phrase(phrase)
            if found is not None:
                yield found
        for key, value in criteria.metadata:
            yield self._with_metadata(key, value)
        if criteria.since is not None:
            yield self._since(criteria.since)

    @abstractmethod
    def _all_rows(self) -> set[int]: ...

    @abstractmethod
    def _hidden_rows(self) -> set[int]:
        """Those that may not be found; any criterion may give some of them."""

    @abstractmethod
    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """The rows with one of the values of each label. Languages are in small letters."""

    @abstractmethod
    def _under(self, globs: Sequence[str]) -> set[int]: ...

    @abstractmethod
    def _named(self, glob: str) -> set[int]:
        """The rows whose name or qualified name fits a glob."""

    @abstractmethod
    def _with_phrase(self, phrase: str) -> set[int] | None:
        """The rows that have these words next to each other; None if there is no word."""

    @abstractmethod
    def _with_metadata(self, key: str, value: str) -> set[int]: ...

    @abstractmethod
    def _since(self, moment: datetime) -> set[int]:
        """Dated, committed, or - where no date is known or edits wait - written to disk since."""


RECORDS_PAGE = 500  # records read or written at a time


class Uniting(Replacing, Owning):
    """`put_records` and `record_access`, for a store that can write each part of a record."""

    @abstractmethod
    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int: ...

    @abstractmethod
    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]: ...

    @abstractmethod
    def get_reasoning(self, chunk_id: str) -> Reasoning | None: ...

    @abstractmethod
    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None: ...

    @abstractmethod
    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]: ...

    @abstractmethod
    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None: ...

    def record_access(self, chunk_id: str, at: datetime) -> None:
        with self.transaction():
            self._add_accesses([(chunk_id, at)])

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        new = 0
        with self.transaction():
            for some in portions(records, RECORDS_PAGE):
                chunks = {record.chunk.id: record.chunk for record in some}
                known = self._by_id(list(chunks))
                self._replace(known, chunks)
                self._put_what_hangs_on(some)
                if embedder is not None:
                    self._put_other_vectors(embedder, some)
                new += len(chunks) - len(known)
        return new

    def _put_what_hangs_on(self, records: Sequence[Record]) -> None:
        self.put_histories({r.chunk.id: r.history for r in records if r.history is not None})
        self._unite_accesses({r.chunk.id: r.accesses for r in records if r.accesses})
        for record in records:
            id_, reasoning = record.chunk.id, record.reasoning
            if reasoning is not None and reasoning != self.get_reasoning(id_):
                self.put_reasoning(id_, reasoning)

    def _unite_accesses(self, wanted: Mapping[str, tuple[datetime, ...]]) -> None:
        """Two uses at one moment are two, also when they are taken in twice."""
        known = self.get_accesses(list(wanted))
        self._add_accesses(
            (id_, at)
            for id_, accesses in wanted.items()
            for at in (Counter(accesses) - Counter(known.get(id_, ()))).elements()
        )

    def _put_other_vectors(self, embedder: Embedder, records: Sequence[Record]) -> None:
        vectors = {r.chunk.id: r.vector for r in records if r.vector is not None}
        known = self.get_embeddings(list(vectors))
        other = [pair for pair in vectors.items() if known.get(pair[0]) != pair[1]]
        self.put_embeddings(embedder, other)


MAX_TERMS = 32  # words of one question; a longer text is a document, and its start says enough

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_LETTER = rf"[^\W_{CJK}]"
_BETWEEN = r"[\W_]"


def find_terms(text: str) -> list[str]:
    """The first distinct words of a text, in order; the same word in capitals comes once."""
    found: dict[str, str] = {}
    for word in _words(text, _WORD):
        found.setdefault(word.casefold(), word)
        if len(found) == MAX_TERMS:
            break
    return list(found.values())


def phrase_words(text: str) -> list[str]:
    """The words of a phrase in order, each as often as it comes; `get_user` is two of them."""
    return list(islice(_words(text, _PART), MAX_TERMS))


def phrase_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """What finds these words next to each other in a text, in any case.

    Words are whole: they end at what is no letter, or where a script without spaces begins. Of
    that script itself, any part is a word.
    """
    start = "" if has_cjk(words[0]) else f"(?<!{_LETTER})"
    end = "" if has_cjk(words[-1]) else f"(?!{_LETTER})"
    middle = re.escape(words[0])
    for before, word in pairwise(words):
        apart = "*" if has_cjk(before) or has_cjk(word) else "+"
        middle += f"{_BETWEEN}{apart}{re.escape(word)}"
    return re.compile(start + middle + end, re.IGNORECASE)


def _words(text: str, shape: re.Pattern[str]) -> Iterator[str]:
    # Accents that stand behind their letter would cut it off; lone surrogates are no letters.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for match in shape.finditer(composed):
        word = match[0][:MAX_TOKEN]
        if not has_cjk(word):
            yield word
            continue
        for _, run in groupby(word, key=has_cjk):
            yield "".join(run).strip("_")
