"""The promises of a store. `tests/stores/conformance.py` holds each implementation to them.

A store has five parts, `Chunks`, `Checkouts`, `Vectors`, `Search` and `Maintenance`, and a sixth,
`Ranking`, if its database ranks chunks by itself. These promises hold for all methods:

* A write is durable and complete when its transaction ends. A failed write changes nothing.
* Ids are unique. Writing an id again replaces the chunk. Its accesses stay, and its embedding stays
  while the embedded text is the same.
* An unknown id is not an error: the answer leaves it out.
* "Searchable" chunks are all but those that another one replaced (`Chunk.is_replaced`).
* Every error is an `AuroraError`. Errors of the database are translated.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from aurora.errors import EmbedderMismatchError, StoreBusyError
from aurora.quick_classes import NamedTuple, dataclass
from aurora.types import (
    Chunk,
    ChunkHistory,
    Criteria,
    Kind,
    Lines,
    Listener,
    Place,
    Progress,
    Symbol,
)

SESSION_NOTES = "sessions:"  # how the names of states begin that are of sessions, and of no file
TRANSCRIPT_NOTES = "sessions:file:"  # of transcripts: they can be read again


class Revision(NamedTuple):
    """Names one text of one chunk, also among copies of the store that change independently."""

    row: int  # grows with each new chunk; a number is never used again
    generation: int  # of the store after the change that wrote this text


class RevisionGroup(NamedTuple):
    """Some rows and their generations in numbers: equal for equal rows, and hardly for others."""

    rows: int
    total: int  # of the row numbers
    mixed: int  # the sum of row · ((row + generation) mod 1024)


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file when its chunks were made. Tells whether the file must be read again."""

    path: str
    size: int
    modified_ns: int
    digest: str
    left_out: str = ""  # the reason, if the file was read and has no chunks
    history_stamp: str = ""  # the repository when the histories were read; empty before
    history_read_at: datetime | None = None
    identity: str = ""  # that of `SourceFile`; empty if unknown
    variant: str = ""  # which of several versions of the file's chunks is this one's


class FileFacts(NamedTuple):
    """An indexed file in numbers: its size, what it holds, how often it was used and changed.

    `lines` ends with the last chunk. `commits` are the distinct commits that changed lines of it
    last, `last_commit` is the newest, in seconds since 1970.
    """

    path: str
    size: int
    modified_ns: int
    chunks: int
    lines: int
    uses: int
    commits: int
    last_commit: int | None


class Checkout(NamedTuple):
    """One working copy of a repository, among several that share a memory."""

    key: str  # the same for each run in this working copy
    name: str  # as results show it: USER@HOST BRANCH, or a folder
    root: str = ""  # its folder, on the machine of a file


class KnownCheckout(NamedTuple):
    """A checkout that has put files into a memory."""

    number: int
    checkout: Checkout
    indexed_at: datetime


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The record behind a chunk of kind `reasoning`."""

    pattern_type: str
    success_score: float
    usage_count: int
    created_at: datetime


class Work(StrEnum):
    """What only one process at a time does to a store. The two may go on beside each other."""

    INDEX = "indexing"
    VECTORS = "embedding"  # replacing all vectors

    def busy(self, place: str, owner: str = "") -> StoreBusyError:
        """The error while another process does it."""
        if self is Work.VECTORS:
            return StoreBusyError(
                f"The vectors of {place} are being replaced by another process{owner}",
                hint="wait until it has finished: `aur mem stats` shows how far it is",
            )
        return StoreBusyError(
            f"{place} is being indexed by another process{owner}",
            hint="wait until the other `aur mem index` has finished, then try again",
        )


class Embedder(NamedTuple):
    """The model that made the vectors of a memory. Vectors of two embedders never mix."""

    name: str
    dimension: int
    fingerprint: str

    def require(self, other: Embedder) -> None:
        """Raise `EmbedderMismatchError` unless `other` makes the same vectors."""
        if other == self:
            return
        same_name = (other.name, other.dimension) == (self.name, self.dimension)
        version = f" as it is now: {other.fingerprint}, not {self.fingerprint}" if same_name else ""
        set_back = "" if same_name else ", or set `embedding.provider` back"
        raise EmbedderMismatchError(
            f"This memory holds vectors of {self.name} ({self.dimension} dimensions), "
            f"not of {other.name} ({other.dimension}){version}",
            hint=f"make its vectors again with `aur mem reembed`{set_back}",
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A chunk and everything attached to it, as one memory exports it and another imports it."""

    chunk: Chunk
    reasoning: Reasoning | None = None
    accesses: tuple[datetime, ...] = ()  # oldest first
    history: ChunkHistory | None = None  # without `read_at`, which belongs to the file state
    vector: bytes | None = None


class RecordCounts(NamedTuple):
    """Numbers of all rows of a memory, searchable or not."""

    chunks: int
    accesses: int
    reasoning: int
    vectors: int


class Reclaimed(NamedTuple):
    """The result of rebuilding a database file that could not be opened."""

    kept: Path  # the unchanged damaged file
    lost: list[str]  # ids of unreadable chunks, as far as known


class Definition(NamedTuple):
    """A chunk found by its name, or by that of a symbol inside it."""

    row: int
    kind: Kind  # of the chunk
    name: str
    qualified_name: str
    path: str
    symbol: Symbol | None = None
    is_whole: bool = True  # False: a later piece of a long definition, or an overload's stub


class Uses(NamedTuple):
    """When a chunk was opened and when commits changed it, in seconds since 1970, oldest first."""

    accesses: Sequence[float] = ()
    commits: Sequence[int] = ()


class SearchedChunks(Protocol):
    """What every search reads of chunks."""

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        """Searchable chunks by row, in no order."""

    def list_languages(self) -> list[str]:
        """The languages of all chunks, sorted, without the unknown language."""


class Chunks(SearchedChunks, Protocol):
    """Chunks, the files they come from, and what is remembered about them."""

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        """Insert or replace by id; returns how many were new or different."""

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        """Remove chunks and everything attached to them; returns how many existed."""

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """The chunks in the order of `chunk_ids`."""

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every searchable chunk, oldest first. Holds no lock between pages."""

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        """Like `iter_chunks`, with revisions; only the chunks of `rows` if given."""

    def revisions(self, generations: Collection[int] | None = None) -> Mapping[int, int]:
        """Row → generation of every searchable chunk, oldest first, all of one moment; only those
        of some generations if given."""

    def generations(self, chunk_ids: Sequence[str]) -> Mapping[str, int]:
        """The generations of chunks: they change with their texts."""

    def revision_groups(self, *, old: int = -1) -> Mapping[int, RevisionGroup]:
        """The searchable chunks by generation: what an index compares instead of all rows. All up
        to the generation `old` are one group of that number, if there are any."""

    def count_chunks(self) -> Mapping[Kind, int]:
        """Searchable chunks per kind, without kinds that have none."""

    def count_namespaces(self) -> Mapping[str, int]:
        """Chunks per namespace; the unnamed namespace is `""`."""

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        """Ids with this exact suffix (`%` and `_` are plain), sorted."""

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        """Ids with this exact prefix, sorted; all ids if it is empty."""

    def find_below(self, path: str) -> list[str]:
        """Sorted ids of a file, or of all files below a folder; `.` is that of relative paths."""

    def find_in_namespace(self, namespace: str) -> list[str]:
        """Sorted ids of the chunks of a namespace."""

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        """Make `chunks`, read in pages, the only ones of a file; returns how many rows changed.

        An id that a chunk of another file has gets a number appended.
        """

    def replace_files(self, files: Sequence[tuple[FileState, Sequence[Chunk]]]) -> int:
        """As `replace_file` for each. New files are written together, which is quicker."""

    def move_file(self, old: str, new: str) -> int:
        """Give a file's chunks another path and matching ids; returns how many moved.

        Vectors, which depend on the path, the old file state, and chunks whose new id is taken are
        removed. Everything else moves too.
        """

    def file_states(self, paths: Iterable[str] | None = None) -> Mapping[str, FileState]:
        """File states by path; if `paths` is None, all but those of sessions."""

    def states_from(self, prefix: str) -> Mapping[str, FileState]:
        """The states whose names begin so, also those of sessions."""

    def count_files(self) -> int:
        """The number of known files that were not left out."""

    def list_file_facts(self, hidden: Collection[int] = ()) -> list[FileFacts]:
        """All known files of this checkout that were not left out, by path, in one statement.

        Chunks of the `hidden` rows do not count.
        """

    def put_file_states(self, states: Iterable[FileState]) -> None:
        """Update the states of known files. Their chunks stay."""

    def add_files(self, states: Iterable[FileState]) -> None:
        """Insert or update file states. Chunks stay."""

    def forget_files(self, paths: Iterable[str], *, everywhere: bool = False) -> int:
        """Remove files of this checkout, or of all; returns how many chunks were removed.

        Chunks that another checkout has, too, stay.
        """

    def indexed_at(self) -> datetime | None:
        """When an index run last finished; None before the first."""

    def put_indexed_at(self, at: datetime) -> None:
        """Record that an index run finished. The generation stays."""

    def indexed_places(self) -> Mapping[str, bool]:
        """The files and folders of index runs as they are named here, and whether git was asked."""

    def put_indexed_places(self, places: Mapping[str, bool]) -> None:
        """Replace the list of indexed files and folders. The generation stays."""

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        """Attach or replace the reasoning record of an existing chunk."""

    def get_reasoning(self, chunk_id: str) -> Reasoning | None: ...

    def record_access(self, chunk_id: str, at: datetime) -> None:
        """Add one access to an existing chunk. The generation stays."""

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        """The accesses of each chunk, oldest first, without chunks that have none."""

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        """Ids and lines of a file's chunks as this checkout has it, without those without lines."""

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        """Store git histories without `read_at`; returns how many were new or different.

        The generation stays.
        """

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]: ...


class Checkouts(Protocol):
    """The working copies that share a memory. Each has its own files, and chunks that are equal are
    stored once. A file that two of them have in different versions has a variant for each.

    Files are read and written for one checkout: the first, 0, until `use` names another.
    """

    def use(self, checkout: Checkout | None) -> None:
        """Work for this checkout, None for the first. One that never indexed has no files."""

    @property
    def is_known(self) -> bool:
        """Whether this checkout has files."""

    def enter(self, at: datetime, gone: Collection[str] = ()) -> None:
        """Note that this checkout is indexed now. The files of those that are gone go, too: those
        with these keys, and those whose folder does not exist."""

    def known(self) -> list[KnownCheckout]:
        """All checkouts but the first, by number."""

    def forget(self, number: int) -> int:
        """Remove a checkout with the files that no other one has; returns the removed chunks."""

    def elsewhere(self) -> Mapping[str, Sequence[FileState]]:
        """The states of files in the other checkouts, by path."""

    def adopt(self, states: Iterable[FileState]) -> None:
        """Take files as another checkout has them, with their chunks."""

    def hidden_rows(self) -> Set[int]:
        """The rows of files that this checkout has in another version."""

    def own_versions(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The same definitions as this checkout has them, each once."""

    def owners(self, paths: Collection[str]) -> Mapping[str, str]:
        """The name of a checkout for each file that this one lacks."""


class Vectors(Protocol):
    """The vectors of one embedder, as `aurora.packing` writes them, and beside them those of the
    embedder that replaces it."""

    def embedder(self) -> Embedder | None:
        """The embedder of the vectors in use; None while there are no vectors."""

    def next_embedder(self) -> Embedder | None:
        """The embedder that replaces the current one; None if no reembedding is in progress."""

    def start_reembedding(self, embedder: Embedder) -> None:
        """Accept vectors of this embedder beside those in use. Drops those of another next one.

        `StoreError` if there are no vectors to replace, or only its own.
        """

    def stop_reembedding(self) -> None:
        """Drop the vectors of the next embedder, if there is one."""

    def finish_reembedding(self) -> None:
        """Replace all vectors by those of the next embedder at once."""

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Store vectors by chunk id. Refuses vectors of any other embedder."""

    def get_embeddings(self, chunk_ids: Sequence[str]) -> Mapping[str, bytes]: ...

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        """Vectors of searchable chunks by ascending row; only those of `rows` if given."""

    def vector_revisions(self) -> Mapping[int, int]:
        """Row → generation of every searchable chunk with a vector, by ascending row."""

    def count_vectors(self) -> int:
        """The number of searchable chunks with a vector."""

    def find_unembedded(self, *, by_next: bool = False) -> list[str]:
        """Ids of searchable chunks without a vector (of the next embedder), oldest first."""


class Search(Protocol):
    """What filters and signals read of many chunks at once. All answers are searchable chunks."""

    def find_rows(self, criteria: Criteria) -> array[int]:
        """Ascending rows of the chunks that match all criteria.

        Globs follow `.gitignore` for paths, and are case-insensitive `*`, `?`, `[…]` for names.
        """

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        """The database's own search for any text: rows and scores in [0, 1), best first."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        """Chunks with this name in any spelling (`text.fold_name`), then symbols inside chunks."""

    def iter_names(self) -> Iterator[str]:
        """All distinct chunk names, in no order. The beginning of a text is none."""

    def rows_created(self, start: datetime | None, end: datetime | None) -> Set[int]:
        """Rows of chunks with a date of their own from `start` until before `end`."""

    def list_metadata(self, key: str) -> list[str]:
        """The distinct texts that chunks have at a key of their metadata, sorted."""

    def dated_paths(self) -> Mapping[int, str]:
        """Row → path of knowledge whose path has a YYYY-MM-DD, without conversation logs."""

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        """The position of chunks in their file or conversation."""

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        """Accesses and commits by row, without rows that have neither."""


class Maintenance(Protocol):
    """Whole memories: export, import, removal of deleted data, damage and repair."""

    def iter_records(self) -> Iterator[Record]:
        """Every chunk, searchable or not, oldest first, in pages. A `snapshot` is of one moment."""

    def count_records(self) -> RecordCounts: ...

    def put_records(self, records: Iterable[Record], *, embedder: Embedder | None = None) -> int:
        """Import records in pages, in their order; returns how many ids were new.

        A record replaces what it has and keeps what it lacks. Importing it twice changes nothing.
        Without the embedder that made them, vectors are ignored.
        """

    def scrub(self) -> None:
        """Overwrite removed text in all files, except the log and the backups of a server.

        `StoreBusyError` while a reader prevents it, or if it takes long on a server.
        """

    def check(self) -> list[str]:
        """Look for damage in all data; an empty list means there is none.

        `StoreError` if the check is impossible: on a read-only disk, or while the store is busy.
        """

    def damage(self, *, look: bool = False) -> str:
        """A warning to show with every answer while the memory is damaged; empty otherwise.

        A damaged memory answers with all readable data and refuses writes. `look`: check all first.
        """

    def repair(self) -> list[str]:
        """Remove damaged data and rebuild text indexes; returns the ids of removed chunks.

        The next index run reads all files again. `StoreFormatError` if damage remains.
        """


class TermCounts(NamedTuple):
    """Statistics of all searchable chunks for BM25."""

    chunks: int
    tokens: int
    containing: Mapping[str, int]  # chunks per term, without terms that no chunk has


class WeighedTerm(NamedTuple):
    """A query term, its weight, and the number of chunks that contain it."""

    text: str
    weight: float
    chunks: int


class WordsAsked(NamedTuple):
    """A keyword query for BM25. The rarest terms come first."""

    terms: tuple[WeighedTerm, ...]
    k1: float
    b: float
    average_length: float


class Scored(NamedTuple):
    """The raw numbers of one chunk for a query. A rank is 0 if the chunk has none."""

    row: int
    length: int
    frequencies: tuple[float, ...]  # of the terms, in their order
    word_rank: int
    cosine: float | None
    cosine_rank: int


class Ranked(NamedTuple):
    """The best rows by words and by meaning, best first, and the numbers of all of them."""

    by_words: list[int]
    by_meaning: list[int]
    scored: Mapping[int, Scored]


class Ranking(Protocol):
    """Ranking inside the database, for memories too large to be read into index files."""

    def count_terms(self, terms: Sequence[str]) -> TermCounts: ...

    def rank(
        self,
        words: WordsAsked | None,
        vector: Sequence[float] | None,
        *,
        pool: int,
        among: Sequence[int] | None = None,
    ) -> Ranked:
        """The best `pool` chunks by words and by vector, ranked `among` the rows of a filter."""

    def score(
        self, words: WordsAsked | None, vector: Sequence[float] | None, rows: Sequence[int]
    ) -> Mapping[int, Scored]:
        """The numbers of given rows, without ranks."""

    def prepare_search(self) -> str:
        """Refresh statistics and build an index of vectors if there are many.

        Returns a warning if this user cannot build the index; else an empty text.
        """

    def renew_statistics(self) -> None:
        """Refresh the statistics of the query planner after a large import."""

    def rebuild_words(self, listen: Listener = ...) -> int:
        """Make the words of all chunks again; returns the number of chunks."""

    def search_bytes(self) -> int:
        """The size of the keyword tables."""

    def total_bytes(self) -> int:
        """The size of the whole memory."""


class SearchedStore(Protocol):
    """What a search reads: of one store, or of several as one."""

    @property
    def chunks(self) -> SearchedChunks: ...

    @property
    def search(self) -> Search: ...

    def hidden_rows(self) -> Set[int]:
        """The rows of files that the checkout has in another version."""

    def generation(self) -> int:
        """A number that grows with every change of searchable data. Accesses do not count."""


class Store(Protocol):
    """One memory: its parts, and what concerns all of them."""

    @property
    def chunks(self) -> Chunks: ...

    @property
    def vectors(self) -> Vectors: ...

    @property
    def search(self) -> Search: ...

    @property
    def checkouts(self) -> Checkouts: ...

    @property
    def maintenance(self) -> Maintenance: ...

    @property
    def ranking(self) -> Ranking | None:
        """None if signals must rank by index files beside the store."""

    @property
    def identity(self) -> str:
        """A random word made with the store. It tells the indexes of two stores apart."""

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be written: no row, and no file beside the store. Writes fail."""

    def generation(self) -> int:
        """A number that grows with every change of searchable data. Accesses do not count."""

    def transaction(self) -> AbstractContextManager[None]:
        """All writes inside take effect together or not at all. A nested one joins the outer."""

    def reading(self) -> AbstractContextManager[None]:
        """Reads of this thread inside share what is looked at once: the facts, and the check for
        damage of a file."""

    def impatient(self) -> AbstractContextManager[None]:
        """Writes of this thread inside wait for no other writer: `StoreBusyError` at once."""

    def snapshot(self) -> AbstractContextManager[Store]:
        """The store as it is now, for reading in this thread. Blocks no writer."""

    def alone(self, work: Work = Work.INDEX) -> AbstractContextManager[Callable[[Progress], None]]:
        """Hold the lock for this work; `StoreBusyError` at once if another process or thread holds
        it. A killed process releases it. Yields a function that shows all readers how far the
        holder is."""

    def run_progress(self, work: Work = Work.INDEX) -> Progress | None:
        """What the holder of the lock has shown, in any process; None without a holder."""

    def close(self) -> None: ...
