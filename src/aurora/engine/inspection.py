"""A memory that can be looked into: what it holds, how fresh it is, whether it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aurora.engine.opened import OpenedMemory
from aurora.errors import IndexFileError
from aurora.stores.base import SEARCHABLE_SUCCESS, Embedder
from aurora.types import IndexCheck, Kind


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory holds."""

    path: Path
    chunks: Mapping[Kind, int]
    files: int
    namespaces: Mapping[str, int]
    generation: int
    bytes: int
    index_path: Path
    index_bytes: int
    index: IndexCheck
    indexed_at: datetime | None  # when a run of indexing last came to its end
    embedder: Embedder | None  # who made the vectors, if there are any
    embedded: int  # chunks that have one


class InspectableMemory(OpenedMemory):
    """The part of `Memory` that tells of itself, and mends its index."""

    def stats(self) -> Stats:
        return Stats(
            path=self.path,
            chunks=self._store.count_chunks(),
            files=self._store.count_files(),
            namespaces=self._store.count_namespaces(),
            generation=self._store.generation(),
            bytes=_size(self.path) + _size(self.path.with_name(f"{self.path.name}-wal")),
            index_path=self.index_path,
            index_bytes=_size(self.index_path),
            index=self._check_index(),
            indexed_at=self._store.indexed_at(),
            embedder=self._store.embedder(),
            embedded=len(self._store.vector_revisions()),
        )

    def _check_index(self) -> IndexCheck:
        # Not by the retriever: its imports take as long as all the rest of this.
        from aurora.signals.bm25_signal import BM25Signal  # noqa: PLC0415
        from aurora.signals.formula import BM25Parameters  # noqa: PLC0415

        bm25 = self.settings.search.bm25
        parameters = BM25Parameters(bm25.k1, bm25.b, bm25.idf)
        store, path = self._store, self.index_path
        return BM25Signal(store, path, now=self._now, parameters=parameters).check()

    def find_ids(self, prefix: str, *, limit: int) -> list[str]:
        """Ids that start so, in order."""
        return self._store.find_ids_from(prefix, limit=limit)

    def languages(self) -> list[str]:
        return self._store.list_languages()

    def namespaces(self) -> Mapping[str, int]:
        """How many chunks each holds; the unnamed one is `""`."""
        return self._store.count_namespaces()

    def is_found(self, chunk_id: str) -> bool:
        """Whether searches may find a chunk: a pattern that mostly failed is kept aside."""
        tried = self._store.get_reasoning(chunk_id)
        return tried is None or tried.success_score >= SEARCHABLE_SUCCESS

    def check(self) -> list[str]:
        """Look for damage in the database and its text indexes; nothing in the list is good."""
        return self._store.check()

    @property
    def indexed_at(self) -> datetime | None:
        """When a run of indexing last came to its end."""
        return self._store.indexed_at()

    @property
    def generation(self) -> int:
        """Grows with every change of what can be found."""
        return self._store.generation()

    def rebuild_bm25(self) -> int:
        """Build and save the keyword index anew; tells how many chunks it holds (FR-8.3)."""
        built = len(self.retriever.bm25.rebuild())
        if not self.index_saved:
            raise IndexFileError(
                f"The BM25 index could not be saved to {self.index_path}",
                hint="check who owns the folder and whether the disk is full",
            )
        stored = sum(self._store.count_chunks().values())
        if built != stored:
            raise IndexFileError(
                f"The BM25 index holds {built} chunks, the memory {stored}",
                hint="another process is writing; the next search brings the index up to date",
            )
        return built

    @property
    def index_saved(self) -> bool:
        """False when the keyword index is only in memory, because it could not be written."""
        return self.retriever.bm25.saved


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
