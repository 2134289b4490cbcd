"""`Memory`: index, search, get, add, learn, forget, stats, export, watch, close."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aurora.config import Places, Settings, SettingsFiles
from aurora.config.places import shown
from aurora.engine.admin import MemoryAdmin
from aurora.engine.adoption import keep_out_of_git
from aurora.engine.opening import FixedSettings, OpenedMemory, find_settings, utc_now
from aurora.errors import QueryError, StoreError
from aurora.files import scrub_log
from aurora.retrieval.lookup import find_chunk
from aurora.stores.base import Embedder
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Criteria,
    IndexCheck,
    IndexState,
    Json,
    Kind,
    Listener,
    NewDocument,
    Note,
    Progress,
    Query,
    SearchResults,
    ignore_events,
)

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.indexing.documents import Added
    from aurora.indexing.export_format import ExportCounts
    from aurora.indexing.freshness import Refresh
    from aurora.indexing.import_export import Writer
    from aurora.indexing.indexer import IndexReport
    from aurora.redaction import Redactor
    from aurora.sources.watch import Stop

# The program that uses Aurora decides what it shows of this log; by default, nothing.
logging.getLogger("aurora").addHandler(logging.NullHandler())

_BATCH = 500  # documents in one transaction

# Imports inside the methods load parsers, git and indexing, which a search does not need.


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory holds."""

    name: Path | str  # its file, or the address of its server
    chunks: Mapping[Kind, int]
    files: int
    namespaces: Mapping[str, int]
    generation: int
    bytes: int
    index_path: Path | None  # of the keyword index; None where the database ranks by itself
    index_bytes: int
    index: IndexCheck
    indexed_at: datetime | None  # when the last index run ended
    embedder: Embedder | None  # that made the vectors, if there are any
    embedded: int  # chunks with a vector


class Memory:
    """The memory of a project, or of the user. Close it, or use it in a `with` block.

    All threads may share one memory. `admin` has what only the command line needs.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings | SettingsFiles | None = None,
        *,
        listen: Listener = ignore_events,
        now: Callable[[], datetime] = utc_now,
        embedder: EmbeddingProvider | None = None,
        folder: Path | None = None,
    ) -> None:
        """The memory of these places. `open` finds the places and settings of a folder.

        `settings` are files, which are read again when they change, or fixed values. `listen`
        receives notes and progress. `embedder` replaces the provider that the settings choose.
        Given a `folder`, the first index run starts a project if git knows the folder.
        """
        files = FixedSettings(places, settings) if isinstance(settings, Settings) else settings
        files = files or SettingsFiles(places)
        self._opened = OpenedMemory(
            places, files, folder=folder, listen=listen, now=now, embedder=embedder
        )
        self.admin = MemoryAdmin(self._opened)

    @classmethod
    def open(
        cls,
        path: Path | str = ".",
        *,
        settings: Settings | None = None,
        environ: Mapping[str, str] | None = None,
        listen: Listener = ignore_events,
    ) -> Self:
        """The memory that `aur` uses in a folder, with its settings files and environment.

        `settings` replaces all of the settings. `environ` replaces the environment variables.
        `listen` receives notes and progress. No database is opened before the first call.
        """
        folder = Path(path)
        files = find_settings(folder, settings, environ)
        for warning in files.current().warnings:
            listen(Note(warning, warning=True))
        return cls(files.places, files, listen=listen, folder=folder.resolve())

    @property
    def places(self) -> Places:
        return self._opened.places

    @property
    def settings(self) -> Settings:
        """The settings as the files say now: a change takes effect with the next call."""
        return self._opened.settings

    @property
    def name(self) -> Path | str:
        """The file of the memory, or the address of its server without the password."""
        return self._opened.location.name

    @property
    def exists(self) -> bool:
        """Whether the database exists. A server is not asked: True."""
        return self._opened.location.stamp() is not None

    def index(
        self, *targets: Path | str, git: bool = True, force: bool = False, quick: bool = False
    ) -> IndexReport:
        """Bring the memory of files and folders up to date, and that of the conversation logs.

        Only changed files are read; `force` reads all. The chunks can be found before their git
        histories are read. `quick` leaves better vectors to the next run. One run at a time: a
        second one waits for the first.
        """
        from aurora.indexing.indexer import run_index  # noqa: PLC0415
        from aurora.indexing.turns import retry_on_disconnect  # noqa: PLC0415
        from aurora.sources.walk import require_path  # noqa: PLC0415

        paths = tuple(map(Path, targets))
        for path in paths:
            require_path(path)
        opened, vectors = self._opened, self.admin.vectors
        opened.use_project()
        opened.create()
        if self.places.project is not None:
            keep_out_of_git(self.places.memory_folder)
        run = partial(
            run_index,
            opened.store,
            paths,
            root=opened.root,
            logs=opened.logs,
            vectors=vectors,
            histories=opened.index_folder if git else None,
            redactor=opened.redactor(),
            force=force,
            now=opened.now,
            listen=opened.listen,
        )
        report = retry_on_disconnect(run, listen=opened.listen)
        warnings = (*report.warnings, *(() if quick else vectors.improve()))
        if not report.logs:
            warnings = (f"No conversation logs found in {shown(opened.logs)}/", *warnings)
        return replace(report, warnings=warnings)

    def watch(
        self,
        *targets: Path | str,
        git: bool = True,
        stop: Stop | None = None,
        bursts: Iterable[object] | None = None,
    ) -> Iterator[Refresh]:
        """`index` now and after every burst of changes, until `stop` is set.

        Changes are noticed from this call on. `bursts` replaces the file watcher: each item starts
        a run. A later run that fails is a warning.
        """
        from aurora.indexing.freshness import keep_fresh  # noqa: PLC0415
        from aurora.sources.walk import require_path  # noqa: PLC0415
        from aurora.sources.watch import FileWatcher  # noqa: PLC0415

        for target in targets:
            require_path(Path(target))
        paths = tuple(Path(target).resolve() for target in targets)  # the folder may change later
        opened = self._opened
        if bursts is None:
            opened.use_project()
            file = opened.location.path
            own = (*((file,) if file else ()), opened.index_folder, opened.log_file)
            bursts = FileWatcher(paths, logs=opened.logs, own=own, stop=stop)
        return keep_fresh(
            lambda present: self.index(*present, git=git),
            paths,
            bursts=bursts,
            now=opened.now,
            listen=opened.listen,
        )

    def search(
        self,
        text: str,
        *,
        limit: int = DEFAULT_LIMIT,
        mode: str | None = None,
        fusion: str | None = None,
        criteria: Criteria | None = None,
        min_score: float | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
    ) -> SearchResults:
        """The best chunks for a query in plain words. A search is not an access.

        What is not given is what the settings say.
        """
        from aurora.retrieval.query import read_mode, read_rerank  # noqa: PLC0415

        query = Query(
            text,
            limit,
            None if mode is None else read_mode(mode),
            fusion,
            criteria or Criteria(),
            min_score,
            None if rerank is None else read_rerank(rerank),
            expand,
        )
        results, notes = self._opened.read(lambda: self._opened.retriever.retrieve(query))
        return replace(results, notes=(*notes, *results.notes))

    def get(self, chunk_id: str, *, is_use: bool = True) -> Chunk:
        """The chunk with this id, or with a unique end of an id.

        Counts as an access, which ranks the chunk higher, unless `is_use` is false.
        """
        opened = self._opened
        chunk, damage = opened.read(lambda: find_chunk(opened.store, chunk_id))
        if is_use and not damage:
            try:
                opened.store.chunks.record_access(chunk.id, opened.now())
            except StoreError as exc:  # locked, full or read-only: the chunk is returned anyway
                opened.warn(f"This use is not remembered: {exc.message}")
        return chunk

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
        """Store a document. The same path, or without a path the same text, replaces it."""
        document = NewDocument(
            text,
            path=path,
            namespace=namespace,
            document_type=document_type,
            source=source,
            metadata=metadata or {},
        )
        return self.add_all([document])[0]

    def add_all(self, documents: Iterable[NewDocument]) -> list[Added]:
        """Store many documents, in batches of 500. A document that cannot be stored is an error,
        and its batch is not stored."""
        from aurora.indexing.documents import put_documents  # noqa: PLC0415

        opened, rest = self._opened, iter(documents)
        added: list[Added] = []
        while batch := list(islice(rest, _BATCH)):
            with opened.redacting() as redactor:
                cut = [self._cut(document, redactor) for document in batch]
            opened.create()
            added += put_documents(opened.store, cut)
            self.admin.vectors.embed_new([piece.id for pieces in cut for piece in pieces])
            if len(batch) == _BATCH:
                opened.listen(Progress("Adding", len(added), 0))
        return added

    def _cut(self, document: NewDocument, redactor: Redactor) -> list[Chunk]:
        from aurora.indexing.documents import Labels, cut_document  # noqa: PLC0415
        from aurora.indexing.reader import Names  # noqa: PLC0415

        path, source = document.path, redactor.text(document.source)
        metadata = redactor.mapping(document.metadata)
        return cut_document(
            redactor.text(document.text),
            Labels(document.namespace, document.document_type, source, metadata),
            name=Names(self._opened.root).of(path.resolve()) if path is not None else "",
            title=redactor.text(document.title),
            key=f"key\0{document.namespace}\0{document.key}".encode() if document.key else b"",
            now=document.created_at or self._opened.now(),
        )

    def learn(
        self, text: str, *, pattern_type: str = "pattern", score: float = 1.0, context: str = ""
    ) -> Chunk:
        """Store a lesson: a pattern that worked or, with a score below 0.5, did not.

        The same text again updates the lesson: its score becomes the mean of all tries.
        """
        from aurora.indexing.documents import learn  # noqa: PLC0415

        if not text.strip():
            raise QueryError("There is nothing to learn", hint='say what: aur mem learn "…"')
        opened = self._opened
        opened.create()
        with opened.redacting() as redactor:
            learned = learn(
                opened.store,
                redactor.text(text),
                pattern_type=pattern_type,
                score=score,
                context=redactor.text(context),
                now=opened.now(),
            )
        self.admin.vectors.embed_new([learned.id])
        return learned

    def forget(self, chunks: str | Sequence[str], *, scrub: bool = True) -> int:
        """Remove chunks for good; the number of removed chunks.

        `chunks` are ids; or one word: an id, a file or folder, or `namespace:NAME`. No file of the
        memory holds their text afterwards; without `scrub`, after the next `admin.scrub`.
        """
        from aurora.indexing.documents import forget  # noqa: PLC0415
        from aurora.sources.blame.cache import forget_paths  # noqa: PLC0415

        opened = self._opened
        chunk_ids = self.admin.find_to_forget(chunks) if isinstance(chunks, str) else chunks
        forgotten = forget(opened.store, chunk_ids)
        forget_paths(opened.index_folder, forgotten.paths)
        scrub_log(opened.log_file, {*forgotten.paths, *forgotten.names})
        if scrub:
            self.admin.scrub()
        return forgotten.chunks

    def stats(self) -> Stats:
        """Counts, sizes, the state of the index and the embedder."""
        return self._opened.read(self._count)[0]

    def _count(self) -> Stats:
        opened, path, index_path = self._opened, self._opened.location.path, self.admin.index_path
        store, ranking = opened.store, opened.store.ranking
        return Stats(
            name=self.name,
            chunks=store.chunks.count_chunks(),
            files=store.chunks.count_files(),
            namespaces=store.chunks.count_namespaces(),
            generation=store.generation(),
            bytes=ranking.total_bytes()
            if ranking
            else _size(path) + _size(path and path.with_name(f"{path.name}-wal")),
            index_path=index_path,
            index_bytes=ranking.search_bytes() if ranking else _size(index_path),
            index=self._check_index(index_path) if index_path else IndexCheck(IndexState.CURRENT),
            indexed_at=store.chunks.indexed_at(),
            embedder=store.vectors.embedder(),
            embedded=store.vectors.count_vectors(),
        )

    def _check_index(self, path: Path) -> IndexCheck:
        # Importing the retriever takes as long as the rest of `stats`.
        from aurora.signals.bm25 import BM25Signal  # noqa: PLC0415
        from aurora.signals.bm25_formula import BM25Parameters  # noqa: PLC0415

        bm25 = self.settings.search.bm25
        parameters = BM25Parameters(bm25.k1, bm25.b, bm25.idf)
        opened = self._opened
        return BM25Signal(opened.store, path, now=opened.now, parameters=parameters).check()

    def export(self, stream: Writer) -> ExportCounts:
        """Write everything the memory holds as lines of JSON (docs/reference/export.md).

        The export is a snapshot. A damaged memory exports everything that can be read.
        """
        from aurora.indexing.import_export import export_memory  # noqa: PLC0415

        self._opened.tell_damage(look=True)
        return export_memory(self._opened.store, stream, listen=self._opened.listen)

    def close(self) -> None:
        """Close the database. The next call opens it again."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _size(path: Path | None) -> int:
    try:
        return path.stat().st_size if path else 0
    except OSError:
        return 0
