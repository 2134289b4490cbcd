"""A memory that can be looked into: what it holds, how fresh it is, whether it is whole.

What there is to tell of a memory in a file, where others would ask their server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aurora.engine.adoption import note_identity, note_reclaimed
from aurora.engine.location import SqliteLocation, shown_name
from aurora.engine.opening import OpenedMemory
from aurora.errors import IndexFileError, NoMemoryError
from aurora.files import require_own
from aurora.stores.base import SEARCHABLE_SUCCESS, Embedder, Ranking, Reclaimed
from aurora.stores.sqlite.connection import schema_of
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, IndexCheck, IndexState, Json, Kind


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory holds."""

    name: Path | str  # its file, or what its server is called
    chunks: Mapping[Kind, int]
    files: int
    namespaces: Mapping[str, int]
    generation: int
    bytes: int
    index_path: Path | None  # of the keyword index; none where the database itself is one
    index_bytes: int
    index: IndexCheck
    indexed_at: datetime | None  # when a run of indexing last came to its end
    embedder: Embedder | None  # who made the vectors, if there are any
    embedded: int  # chunks that have one


class InspectableMemory(OpenedMemory):
    """The part of `Memory` that tells of itself, and mends its index."""

    def stats(self) -> Stats:
        return self._read(self._count)[0]

    def _count(self) -> Stats:
        store, index_path = self._store, self.index_path
        return Stats(
            name=self.name,
            chunks=store.chunks.count_chunks(),
            files=store.chunks.count_files(),
            namespaces=store.chunks.count_namespaces(),
            generation=store.generation(),
            bytes=self._bytes(),
            index_path=index_path,
            index_bytes=_size(index_path) if index_path else self._ranking().search_bytes(),
            index=self._check_index() if index_path else IndexCheck(IndexState.CURRENT),
            indexed_at=store.chunks.indexed_at(),
            embedder=store.vectors.embedder(),
            embedded=store.vectors.count_vectors(),
        )

    def _bytes(self) -> int:
        at = self.whereabouts
        if not isinstance(at, SqliteLocation):
            return self._ranking().total_bytes()
        return _size(at.path) + _size(at.path.with_name(f"{at.path.name}-wal"))

    @property
    def index_path(self) -> Path | None:
        """Where the keyword index is; nowhere, where the database ranks by itself."""
        is_file = isinstance(self.whereabouts, SqliteLocation)
        return self.index_folder / "bm25.idx" if is_file else None

    def _ranking(self) -> Ranking:
        ranking = self._store.ranking
        if ranking is None:
            raise TypeError(f"{self._store!r} has no ranking")
        return ranking

    def _check_index(self) -> IndexCheck:
        # Not by the retriever: its imports take as long as all the rest of this.
        from aurora.signals.bm25 import BM25Signal  # noqa: PLC0415
        from aurora.signals.bm25_formula import BM25Parameters  # noqa: PLC0415

        bm25 = self.settings.search.bm25
        parameters = BM25Parameters(bm25.k1, bm25.b, bm25.idf)
        store, path = self._store, self.index_folder / "bm25.idx"
        return BM25Signal(store, path, now=self._now, parameters=parameters).check()

    def find_ids(self, prefix: str, *, limit: int) -> list[str]:
        """Ids that start so, in order."""
        return self._store.chunks.find_ids_from(prefix, limit=limit)

    def chunks(self) -> Iterator[Chunk]:
        """Everything that is stored. Being read here is not an access."""
        self._tell_damage(look=True)
        return self._store.chunks.iter_chunks()

    def languages(self) -> list[str]:
        return self._store.chunks.list_languages()

    def namespaces(self) -> Mapping[str, int]:
        """How many chunks each holds; the unnamed one is `""`."""
        return self._store.chunks.count_namespaces()

    def is_found(self, chunk_id: str) -> bool:
        """Whether searches may find a chunk: a pattern that mostly failed is kept aside."""
        tried = self._store.chunks.get_reasoning(chunk_id)
        return tried is None or tried.success_score >= SEARCHABLE_SUCCESS

    def damage(self) -> str:
        """What every answer must say while the memory is damaged; nothing while it is whole."""
        return self._store.maintenance.damage()

    def check(self) -> list[str]:
        """Look for damage in the database and its text indexes; nothing in the list is good."""
        return self._store.maintenance.check()

    def reclaim(self) -> Reclaimed | None:
        """Make a file that cannot even be opened usable again, with all that can be read of it.
        Nothing is done to one that opens."""
        at = self.whereabouts
        if self.places.project is not None:
            require_own(self.places.memory_folder)
        reclaimed = at.reclaim()
        if reclaimed and isinstance(at, SqliteLocation) and self._is_of_project(at.path):
            note_reclaimed(self.places.home, at.path)
        return reclaimed

    def repair(self) -> list[str]:
        """Take out what is damaged, and make every index anew; ids of the chunks that left.

        `index` reads the files again. Documents and lessons among them are lost.
        """
        store = self._store
        gone = store.maintenance.repair()
        if isinstance(store, SQLiteStore) and self._is_of_project(store.path):
            note_identity(self.places.home, store)
        self.rebuild_bm25()
        return gone

    @property
    def indexed_at(self) -> datetime | None:
        """When a run of indexing last came to its end."""
        return self._read_again(self._store.chunks.indexed_at)

    @property
    def generation(self) -> int:
        """Grows with every change of what can be found."""
        return self._read_again(self._store.generation)

    def rebuild_bm25(self) -> int:
        """Build and save the keyword index anew; tells how many chunks it holds (FR-8.3)."""
        if self._store.ranking is not None:
            return self._store.ranking.rebuild_words()
        built = len(self.retriever.bm25.rebuild())
        if not self.index_saved:
            raise IndexFileError(
                f"The BM25 index could not be saved to {self.index_path}",
                hint="check who owns the folder and whether the disk is full",
            )
        stored = sum(self._store.chunks.count_chunks().values())
        if built != stored:
            raise IndexFileError(
                f"The BM25 index holds {built} chunks, the memory {stored}",
                hint="another process is writing; the next search brings the index up to date",
            )
        return built

    @property
    def index_saved(self) -> bool:
        """False when the keyword index is only in memory, because it could not be written."""
        return self._store.ranking is not None or self.retriever.bm25.saved


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def file_status(at: SqliteLocation) -> dict[str, Json]:
    """How far its tables are; any command that opens it brings them up to date."""
    if at.stamp() is None:
        raise NoMemoryError(
            f"There is no memory yet at {shown_name(at.name)}",
            hint="make one with `aur mem index .`, or on a server with `aur db init URL`",
        )
    return {"schema_version": schema_of(at.path), "newest_schema": len(MIGRATIONS)}
