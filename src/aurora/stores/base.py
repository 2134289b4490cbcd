"""What every store promises. `tests/stores/conformance.py` holds each implementation to it.

Promises that hold for all methods:

* A write is durable and whole when its transaction ends; a failure leaves what was there before.
* Ids are unique. Writing an id again replaces the chunk; accesses stay, and the embedding stays
  while the text it was made of does.
* Asking for an id that is not there is no error: it is left out of the answer.
* Every error is an `AuroraError`; none of the database's own leaks out.

What a store promises that ranks chunks by itself, where a memory is too large to bring it here.

A store without this is read into index files beside it (`signals.bm25_signal`, `signals.vectors`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from aurora.errors import EmbedderMismatchError
from aurora.types import Chunk, ChunkHistory, Criteria, Kind, Lines, Listener, Place

SEARCHABLE_SUCCESS = 0.5  # reasoning below this is kept but not found (seed 000, FR-4.4)


class Revision(NamedTuple):
    """Names one text of one chunk. No other text ever has the same revision, not even in a copy of
    the store that goes its own way: what was derived from a revision stays true of it."""

    row: int  # older chunks have smaller ones; one that was given is never given again
    generation: int  # the store's since the change that wrote the chunk as it is


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file was when its chunks were made, to tell whether it must be read again.

    A file that was read and left out has no chunks, but the reason. `history_stamp` names the
    state of the repository that its chunks' histories were read at; it is empty before they were.
    `identity` is the one of `SourceFile`, empty where it is not known.
    """

    path: str
    size: int
    modified_ns: int
    digest: str
    left_out: str = ""
    history_stamp: str = ""
    history_read_at: datetime | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The record behind a chunk of kind `reasoning` (seed 000, FR-4.3)."""

    pattern_type: str
    success_score: float
    usage_count: int
    created_at: datetime


class Embedder(NamedTuple):
    """Which model made the vectors of a memory. Vectors of two embedders never mix."""

    name: str
    dimension: int
    fingerprint: str

    def require(self, other: Embedder) -> None:
        """Raise `EmbedderMismatchError` if the other's vectors are not like these."""
        if other == self:
            return
        same_name = (other.name, other.dimension) == (self.name, self.dimension)
        version = f" as it is now: {other.fingerprint}, not {self.fingerprint}" if same_name else ""
        raise EmbedderMismatchError(
            f"This memory holds vectors of {self.name} ({self.dimension} dimensions), "
            f"not of {other.name} ({other.dimension}){version}",
            hint="make its vectors anew with `aur mem reembed`, or set `embedding.provider` back",
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A chunk with all that hangs on it, as it goes from one memory into another.

    When the history was read is not part of it: that is kept with the state of the file.
    """

    chunk: Chunk
    reasoning: Reasoning | None = None
    accesses: tuple[datetime, ...] = ()  # oldest first
    history: ChunkHistory | None = None
    vector: bytes | None = None


class RecordCounts(NamedTuple):
    """How much a memory holds, also of what may not be found."""

    chunks: int
    accesses: int
    reasoning: int
    vectors: int


class Reclaimed(NamedTuple):
    """What became of a database file that could not be opened, and was made anew."""

    kept: Path  # the file as it was
    lost: list[str]  # ids of chunks that could not be read, as far as they are known


class Definition(NamedTuple):
    """A chunk by its name: what must be known to tell whether it is the one asked for."""

    row: int
    kind: Kind
    name: str
    qualified_name: str
    path: str


class Uses(NamedTuple):
    """When a chunk was used: opened by somebody, or changed by a commit. Seconds since 1970."""

    accesses: Sequence[float] = ()
    commits: Sequence[int] = ()


class Store(Protocol):
    """One memory's chunks and everything remembered about them."""

    @property
    def identity(self) -> str:
        """A random word made with the store: an index of another store is not an index of this."""
        ...

    def generation(self) -> int:
        """A number that grows with every change of what can be found. Accesses do not count."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All writes inside take effect together or not at all. Nested ones join the outer one."""
        ...

    def snapshot(self) -> AbstractContextManager[Store]:
        """The store as it is now, to be read by this thread: what is written later is not in it.

        Nobody waits for it, and it waits for nobody. Writing to it is a `StoreError`.
        """
        ...

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        """Insert or replace by id; returns how many were new or different."""
        ...

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        """Remove chunks and all that hangs on them; returns how many there were."""
        ...

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """The chunks in the order asked for."""
        ...

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        """The chunks that may be found by their rows; in no order."""
        ...

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        """Where chunks stand. A document's turn in a conversation is what its metadata says."""
        ...

    def find_rows(self, criteria: Criteria) -> array[int]:
        """Rows of the chunks that may be found and fit, ascending; all of them if nothing is asked.

        Globs are those of `.gitignore` on paths, and case-insensitive `*`, `?` and `[…]` on names.
        """
        ...

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        """The store's own text search: rows and scores in [0, 1), best first (seed 001).

        Any text is a question; one without a word finds nothing.
        """
        ...

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        """Chunks that may be found and have this name, however it is spelt (`text.fold_name`)."""
        ...

    def iter_names(self) -> Iterator[str]:
        """Every name a chunk that may be found has, once, in no order."""
        ...

    def dated_paths(self) -> Mapping[int, str]:
        """Paths of the knowledge that may be found and whose path holds a YYYY-MM-DD, by row.

        Without conversation logs: those are records of what was said, not notes of a day.
        """
        ...

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        """Ids that end so, exactly (`%` and `_` are plain), in order."""
        ...

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        """Ids that start so, exactly, in order; any id for an empty prefix."""
        ...

    def find_below(self, path: str) -> list[str]:
        """Ids of the chunks of a file, or of all files below a folder, in order.

        `.` is the folder that relative paths start from.
        """
        ...

    def find_in_namespace(self, namespace: str) -> list[str]:
        """Ids of the chunks of a namespace, in order."""
        ...

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every chunk that may be found, oldest first, without holding a lock in between."""
        ...

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        """As `iter_chunks`, each chunk beside its revision; only the chunks of `rows` if given."""
        ...

    def revisions(self) -> Mapping[int, int]:
        """Row → generation of every chunk that may be found, oldest first, all of one moment."""
        ...

    def count_chunks(self) -> Mapping[Kind, int]:
        """How many chunks of each kind may be found; kinds that have none are left out."""
        ...

    def list_languages(self) -> list[str]:
        """The languages that chunks are written in, in order; without the unknown one."""
        ...

    def count_namespaces(self) -> Mapping[str, int]:
        """How many chunks each namespace holds; the unnamed one is `""`."""
        ...

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        """Make these the chunks of one file, whatever it had; returns how many rows changed.

        They are taken as they come, never all at once. An id that another file's chunk has is not
        taken from it: the new chunk gets a number behind its id.
        """
        ...

    def move_file(self, old: str, new: str) -> int:
        """Give a file's chunks another path; ids follow it, and so does what hangs on them.

        Only vectors are dropped: they were made of the path, too. Returns how many chunks took the
        new path; one whose new id is taken leaves. The old path's state is forgotten.
        """
        ...

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        """The states of files by path; of all of them, if none are named."""
        ...

    def count_files(self) -> int:
        """How many files are known that were not left out."""
        ...

    def put_file_states(self, states: Iterable[FileState]) -> None:
        """Remember new states of files that are known, while their chunks stay."""
        ...

    def add_files(self, states: Iterable[FileState]) -> None:
        """Remember states of files, known or not; their chunks are not touched."""
        ...

    def forget_files(self, paths: Iterable[str]) -> int:
        """Remove files with their chunks; returns how many chunks left."""
        ...

    def indexed_at(self) -> datetime | None:
        """When a run of indexing last came to its end; nothing before the first."""
        ...

    def put_indexed_at(self, at: datetime) -> None:
        """Remember that a run of indexing came to its end. The generation stays."""
        ...

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        """Attach or replace the record of a chunk that is there."""
        ...

    def get_reasoning(self, chunk_id: str) -> Reasoning | None: ...

    def record_access(self, chunk_id: str, at: datetime) -> None:
        """Remember one use of a chunk that is there."""
        ...

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        """The uses of each chunk, oldest first; chunks never used are left out."""
        ...

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        """Accesses and commits by row, each oldest first; rows that have neither are left out."""
        ...

    def embedder(self) -> Embedder | None:
        """Who made the vectors, once there are any."""
        ...

    def next_embedder(self) -> Embedder | None:
        """Whose vectors are to take their place, while such a change is under way."""
        ...

    def start_reembedding(self, embedder: Embedder) -> None:
        """Keep vectors of this embedder, too, beside those in use, until they are all there.

        A change to the same one goes on where it was; what was made for another is dropped. A
        `StoreError` when there is nothing to replace: no vectors, or its own.
        """
        ...

    def stop_reembedding(self) -> None:
        """Drop what was made for the next embedder, if there is one; the vectors in use stay."""
        ...

    def finish_reembedding(self) -> None:
        """Let the vectors of the next embedder take the place of the others, all at once."""
        ...

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Keep vectors (see `packing`) by chunk id; refuses those of any other embedder."""
        ...

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]: ...

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        """Vectors of chunks that may be found, by ascending row; only of `rows` if given."""
        ...

    def vector_revisions(self) -> Mapping[int, int]:
        """Row → generation of every chunk that may be found and has a vector, by ascending row."""
        ...

    def count_vectors(self) -> int:
        """How many chunks may be found and have a vector."""
        ...

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        """Ids of the chunks that may be found and have no vector, oldest first.

        `by_next`: none of the next embedder.
        """
        ...

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        """Ids and lines of a file's chunks; those without lines are left out."""
        ...

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        """Keep what git told, by chunk id; returns how many were new or different.

        What can be found does not change by it, and neither does the generation. When they were
        read is kept with the state of the file.
        """
        ...

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]: ...

    def iter_records(self) -> Iterator[Record]:
        """Every chunk, also one that may not be found, oldest first, with all that hangs on it.

        Read in pages: whoever needs all of one moment asks a `snapshot`.
        """
        ...

    def count_records(self) -> RecordCounts:
        """How many records there are, and how much hangs on them."""
        ...

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        """Take in chunks with all that hangs on them, by id; returns how many ids were new.

        They are taken as they come, never all at once, and new ones in this order. What a record
        has replaces what was there, and what it lacks stays; accesses are united, so that taking
        in the same again changes nothing. Without the embedder that made them, vectors are left.
        """
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Be the only one who indexes into this store, among all processes and threads.

        Raises `StoreBusyError` at once while another is. A process that dies lets go.
        """
        ...

    def scrub(self) -> None:
        """Overwrite what was removed, in the file's text indexes and log, too.

        Raises `StoreBusyError` while another keeps it from that, or where it would take long on a
        server. A server's log and its backups are the server's matter.
        """
        ...

    def repair(self) -> list[str]:
        """Take out what is damaged and make text indexes anew; ids of the chunks that left.

        Files are read again by the next run of indexing. Raises `StoreFormatError` where that is
        not enough: the rows that can be read stay readable.
        """
        ...

    def damage(self, *, look: bool = False) -> str:
        """What every answer must say while the memory is damaged; nothing while it is whole.

        A damaged memory answers with all that can be read of it, and refuses to be written to.
        `look`: check all of it first, though nothing tells of damage.
        """
        ...

    def check(self) -> list[str]:
        """Look for damage; an empty list means the store and its text indexes are whole.

        Raises `StoreError` where it cannot look: on a disk mounted read-only, or while busy.
        """
        ...

    def close(self) -> None: ...


class TermCounts(NamedTuple):
    """What BM25 must know of all chunks that may be found."""

    chunks: int
    tokens: int
    containing: Mapping[str, int]  # chunks that have a term; those that none has are left out


class WeighedTerm(NamedTuple):
    """A term of a question: what it weighs there, and how many chunks have it."""

    text: str
    weight: float
    chunks: int


class WordsAsked(NamedTuple):
    """A question in words, for BM25. The rarest terms come first."""

    terms: tuple[WeighedTerm, ...]
    k1: float
    b: float
    average_length: float


class Scored(NamedTuple):
    """What is known of a chunk for a question. A rank is 0 where there is nothing to rank."""

    row: int
    length: int
    frequencies: tuple[float, ...]  # of the terms, in their order
    word_rank: int
    cosine: float | None
    cosine_rank: int


class Ranked(NamedTuple):
    """The best by words and the best by meaning, each best first, and what is known of all."""

    by_words: list[int]
    by_meaning: list[int]
    scored: Mapping[int, Scored]


@runtime_checkable
class RankingStore(Store, Protocol):
    """A store whose database finds the best."""

    def count_terms(self, terms: Sequence[str]) -> TermCounts: ...

    def rank(
        self,
        words: WordsAsked | None,
        vector: Sequence[float] | None,
        *,
        pool: int,
        among: Sequence[int] | None = None,
    ) -> Ranked:
        """The best `pool` by each that is asked for, in one question to the database.

        `among` are the rows that a filter lets through; ranks are then those among them.
        """
        ...

    def score(
        self, words: WordsAsked | None, vector: Sequence[float] | None, rows: Sequence[int]
    ) -> Mapping[int, Scored]:
        """What is known of some chunks; they have no ranks."""
        ...

    def prepare_search(self) -> None:
        """Make what searches go by quick: statistics, and an index of many vectors."""
        ...

    def renew_statistics(self) -> None:
        """Have the database look at how much there is, after much has come at once."""
        ...

    def rebuild_words(self, listen: Listener = ...) -> int:
        """Make the words of all chunks anew; tells of how many."""
        ...

    def search_bytes(self) -> int:
        """How much room the words take that searches go by."""
        ...

    def total_bytes(self) -> int:
        """How much room all of the memory takes."""
        ...
