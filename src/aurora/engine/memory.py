"""One memory, as its users know it: index, add, search, get, stats."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.config.places import shown
from aurora.engine.transfer import TransferableMemory
from aurora.errors import IndexFileError, QueryError, StoreError
from aurora.retrieval.lookup import find_chunk
from aurora.stores.base import Embedder
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Criteria,
    IndexCheck,
    Json,
    Kind,
    Note,
    Query,
    SearchResults,
)

if TYPE_CHECKING:
    from aurora.indexing.documents import Added
    from aurora.indexing.freshness import Refresh
    from aurora.indexing.report import IndexReport
    from aurora.sources.watching import Stop

# A program that uses us decides what it shows of our log; without a word, nothing.
logging.getLogger("aurora").addHandler(logging.NullHandler())


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


class Memory(TransferableMemory):
    """A project's or the user's memory. Close it, or use it in a `with` block."""

    def index(self, *targets: Path, git: bool = True) -> IndexReport:
        """Bring the memory of files and folders up to date, and of the conversation logs.

        The chunks can be found before their git histories are read. One index at a time: while
        another process is at it, this one waits.
        """
        # Parsers and git are the larger half of the program; a search is done before they load.
        from aurora.indexing.run import run_index  # noqa: PLC0415
        from aurora.sources.walk import require_path  # noqa: PLC0415

        for target in targets:
            require_path(target)
        self._make()
        report = run_index(
            self._store,
            targets,
            root=self.root,
            logs=self._logs,
            embedder=self._embedder,
            make_searchable=self.retriever.bm25.refresh,
            histories=self.index_path.parent if git else None,
            now=self._now,
            listen=self._listen,
        )
        if report.logs:
            return report
        missing = f"No conversation logs found in {shown(self._logs)}/"  # seed 000, FR-3.6 and 10.1
        return replace(report, warnings=(missing, *report.warnings))

    def watch(
        self,
        *targets: Path,
        git: bool = True,
        stop: Stop | None = None,
        bursts: Iterable[object] | None = None,
    ) -> Iterator[Refresh]:
        """`index` now and after every burst of changes, until `stop` is set.

        Files are watched from the call on, so that no change is missed; by default the bursts are
        what the system tells of the targets and the logs. A later run that fails is a warning.
        """
        from aurora.indexing.freshness import keep_fresh  # noqa: PLC0415 - as in `index`
        from aurora.sources.walk import require_path  # noqa: PLC0415
        from aurora.sources.watching import FileWatcher  # noqa: PLC0415

        for target in targets:
            require_path(target)
        places = tuple(target.resolve() for target in targets)  # whatever folder we are in later
        if bursts is None:
            own = (self.path, self.index_path.parent, self._logs.with_name("aurora.log"))
            bursts = FileWatcher(places, logs=self._logs, own=own, stop=stop)
        return keep_fresh(
            lambda there: self.index(*there, git=git),
            places,
            bursts=bursts,
            now=self._now,
            listen=self._listen,
        )

    @property
    def _logs(self) -> Path:
        return self.places.home / "logs" / "conversations"

    @property
    def indexed_at(self) -> datetime | None:
        """When a run of indexing last came to its end."""
        return self._store.indexed_at()

    @property
    def root(self) -> Path | None:
        """What stored paths are relative to. A database outside may be several projects'."""
        project = self.places.project
        inside = project is not None and self.path.resolve().is_relative_to(project.resolve())
        return project if inside else None

    def search(
        self,
        text: str,
        *,
        limit: int = DEFAULT_LIMIT,
        mode: str | None = None,
        fusion: str | None = None,
        criteria: Criteria | None = None,
        min_score: float | None = None,
    ) -> SearchResults:
        """The best chunks for a query of plain words. Being listed is not an access."""
        from aurora.retrieval.criteria import read_mode  # noqa: PLC0415 - as for `retriever`

        wanted = None if mode is None else read_mode(mode)
        query = Query(text, limit, wanted, fusion, criteria or Criteria(), min_score)
        return self.retriever.retrieve(query)

    def get(self, chunk_id: str) -> Chunk:
        """One chunk by its id, or by an ending of it that no other has. Counts as an access."""
        found = find_chunk(self._store, chunk_id)
        try:
            self._store.record_access(found.id, self._now())
        except StoreError as exc:  # locked, full or read-only: the answer is there all the same
            self._listen(Note(f"This use is not remembered: {exc.message}", warning=True))
        return found

    def learn(
        self, text: str, *, pattern_type: str = "pattern", score: float = 1.0, context: str = ""
    ) -> Chunk:
        """Remember a pattern that worked (or, below 0.5, did not); again, and it is used more."""
        from aurora.indexing.lessons import learn  # noqa: PLC0415 - as in `index`

        if not text.strip():
            raise QueryError("There is nothing to learn", hint='say what: aur mem learn "…"')
        self._make()
        return learn(
            self._store,
            text,
            pattern_type=pattern_type,
            score=score,
            context=context,
            now=self._now(),
        )

    def add(
        self,
        text: str,
        *,
        path: Path | None = None,
        namespace: str = "",
        document_type: str = "document",
        source: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> Added:
        """Store a document. Added again from its path it is replaced; without one, kept once."""
        from aurora.indexing.documents import cut_document, put_document  # noqa: PLC0415
        from aurora.indexing.labels import Labels  # noqa: PLC0415 - as in `index`
        from aurora.indexing.names import Names  # noqa: PLC0415

        labels = Labels(namespace, document_type, source, metadata or {})
        name = Names(self.root).of(path.resolve()) if path is not None else ""
        pieces = cut_document(text, labels, name=name, now=self._now())
        self._make()
        return put_document(self._store, pieces)

    def find_to_forget(self, what: str) -> list[str]:
        """Ids that a word stands for: a chunk's id, a file or folder, or `namespace:NAME`."""
        from aurora.indexing.forgetting import find_to_forget  # noqa: PLC0415 - as in `index`
        from aurora.indexing.names import Names  # noqa: PLC0415

        return find_to_forget(self._store, Names(self.root), what)

    def forget(self, chunk_ids: Sequence[str]) -> int:
        """Remove chunks for good, with all that is remembered of them; tells how many."""
        from aurora.indexing.forgetting import forget  # noqa: PLC0415 - as in `index`

        return forget(self._store, chunk_ids)

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

    def check(self) -> list[str]:
        """Look for damage in the database and its text indexes; nothing in the list is good."""
        return self._store.check()

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
