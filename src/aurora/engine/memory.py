"""One memory, as its users know it: index, add, search, get, stats."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.config.places import shown
from aurora.engine.adoption import keep_out_of_git
from aurora.engine.embedding_state import EmbeddingMemory
from aurora.engine.inspection import InspectableMemory
from aurora.engine.location import SqliteLocation
from aurora.engine.transfer import TransferableMemory
from aurora.errors import QueryError, StoreBusyError, StoreError
from aurora.files import scrub_log
from aurora.retrieval.lookup import find_chunk
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Criteria,
    Json,
    NewDocument,
    Note,
    Progress,
    Query,
    SearchResults,
)

if TYPE_CHECKING:
    from aurora.indexing.documents import Added
    from aurora.indexing.freshness import Refresh
    from aurora.indexing.indexer import IndexReport
    from aurora.redaction import Redactor
    from aurora.sources.watch import Stop

# A program that uses us decides what it shows of our log; without a word, nothing.
logging.getLogger("aurora").addHandler(logging.NullHandler())

_TOGETHER = 500  # documents of one transaction


class Memory(TransferableMemory, InspectableMemory, EmbeddingMemory):
    """A project's or the user's memory. Close it, or use it in a `with` block."""

    def index(self, *targets: Path, git: bool = True, force: bool = False) -> IndexReport:
        """Bring the memory of files and folders up to date, and of the conversation logs.

        The chunks can be found before their git histories are read. One index at a time: while
        another process is at it, this one waits. `force` reads every file again, also those that
        look as they did.
        """
        # Parsers and git are the larger half of the program; a search is done before they load.
        from aurora.indexing.indexer import run_index  # noqa: PLC0415
        from aurora.indexing.turns import retry_on_disconnect  # noqa: PLC0415
        from aurora.sources.walk import require_path  # noqa: PLC0415

        for target in targets:
            require_path(target)
        self._make()
        if self.places.project is not None:
            keep_out_of_git(self.places.memory_folder)
        run = partial(
            run_index,
            self._store,
            targets,
            root=self.root,
            logs=self._logs,
            embedder=self._embedder,
            quick=self._embedders.quick(),
            elsewhere=self._elsewhere,
            make_searchable=self._make_searchable,
            histories=self.index_folder if git else None,
            redactor=self._redactor(),
            force=force,
            now=self._now,
            listen=self._listen,
        )
        report = retry_on_disconnect(run, listen=self._listen)
        report = replace(report, warnings=(*report.warnings, *self._improve_vectors()))
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
        from aurora.sources.watch import FileWatcher  # noqa: PLC0415

        for target in targets:
            require_path(target)
        places = tuple(target.resolve() for target in targets)  # whatever folder we are in later
        if bursts is None:
            own = (*self._own_files, self._log)
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
    def _log(self) -> Path:
        return self._logs.with_name("aurora.log")

    @property
    def _own_files(self) -> tuple[Path, ...]:
        at = self.whereabouts
        return (*((at.path,) if isinstance(at, SqliteLocation) else ()), self.index_folder)

    @property
    def root(self) -> Path | None:
        """What stored paths are relative to. A database outside may be several projects'; a server
        is the project's own where the project's settings name it."""
        project, at = self.places.project, self.whereabouts
        if project is None:
            return None
        if isinstance(at, SqliteLocation):
            return project if at.path.resolve().is_relative_to(project.resolve()) else None
        config, origins = self.places.project_config, self._files.current().origins
        return project if config and origins.get("store.url") == shown(config) else None

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
        """The best chunks for a query of plain words. Being listed is not an access."""
        from aurora.retrieval.query import read_mode, read_rerank  # noqa: PLC0415 - `retriever`

        wanted = None if mode is None else read_mode(mode)
        again = None if rerank is None else read_rerank(rerank)
        narrowed = criteria or Criteria()
        query = Query(text, limit, wanted, fusion, narrowed, min_score, again, expand)
        found, notes = self._read(lambda: self.retriever.retrieve(query))
        return replace(found, notes=(*notes, *found.notes))

    def get(self, chunk_id: str, *, is_use: bool = True) -> Chunk:
        """One chunk by its id, or by an ending of it that no other has. Counts as an access, unless
        it only goes on with one."""
        found, damage = self._read(lambda: find_chunk(self._store, chunk_id))
        if damage or not is_use:
            return found
        try:
            self._store.chunks.record_access(found.id, self._now())
        except StoreError as exc:  # locked, full or read-only: the answer is there all the same
            self._listen(Note(f"This use is not remembered: {exc.message}", warning=True))
        return found

    def pieces(self, chunk: Chunk) -> list[Chunk]:
        """The chunk; of a document's first one, all that the document was cut into."""
        from aurora.indexing.documents import piece_ids  # noqa: PLC0415 - as in `index`

        return self._store.chunks.get_chunks(piece_ids([chunk])) or [chunk]

    def learn(
        self, text: str, *, pattern_type: str = "pattern", score: float = 1.0, context: str = ""
    ) -> Chunk:
        """Remember a pattern that worked (or, below 0.5, did not); again, and it is used more."""
        from aurora.indexing.documents import learn  # noqa: PLC0415 - as in `index`

        if not text.strip():
            raise QueryError("There is nothing to learn", hint='say what: aur mem learn "…"')
        self._make()
        with self._redacting() as redactor:
            learned = learn(
                self._store,
                redactor.text(text),
                pattern_type=pattern_type,
                score=score,
                context=redactor.text(context),
                now=self._now(),
            )
        self._embed_new([learned.id])
        return learned

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
        """Store many documents, some hundred at a time: those are kept whole or not at all.

        One that cannot be kept is an error, and what came before its hundreds stays.
        """
        from aurora.indexing.documents import put_documents  # noqa: PLC0415 - as in `index`

        added: list[Added] = []
        rest = iter(documents)
        while some := list(islice(rest, _TOGETHER)):
            with self._redacting() as redactor:
                cut = [self._cut(document, redactor) for document in some]
            self._make()
            added += put_documents(self._store, cut)
            self._embed_new([piece.id for pieces in cut for piece in pieces])
            if len(some) == _TOGETHER:
                self._listen(Progress("Adding", len(added), 0))
        return added

    def _cut(self, document: NewDocument, redactor: Redactor) -> list[Chunk]:
        from aurora.indexing.documents import Labels, cut_document  # noqa: PLC0415
        from aurora.indexing.reader import Names  # noqa: PLC0415

        path, source = document.path, redactor.text(document.source)
        metadata = redactor.mapping(document.metadata)
        return cut_document(
            redactor.text(document.text),
            Labels(document.namespace, document.document_type, source, metadata),
            name=Names(self.root).of(path.resolve()) if path is not None else "",
            title=redactor.text(document.title),
            key=f"key\0{document.namespace}\0{document.key}".encode() if document.key else b"",
            now=document.created_at or self._now(),
        )

    def find_to_forget(self, what: str) -> list[str]:
        """Ids that a word stands for: a chunk's id, a file or folder, or `namespace:NAME`."""
        from aurora.indexing.documents import find_to_forget  # noqa: PLC0415 - as in `index`
        from aurora.indexing.reader import Names  # noqa: PLC0415

        return find_to_forget(self._store, Names(self.root), what)

    def forget(self, chunk_ids: Sequence[str], *, scrub: bool = True) -> int:
        """Remove chunks for good, with all that is remembered of them; tells how many.

        No file of the memory has their words afterwards, neither the database nor an index; or,
        if it is put off, after the next `scrub`. The log does not name them.
        """
        from aurora.indexing.documents import forget  # noqa: PLC0415 - as in `index`
        from aurora.sources.blame.cache import forget_paths  # noqa: PLC0415

        gone = forget(self._store, chunk_ids)
        forget_paths(self.index_folder, gone.paths)
        scrub_log(self._log, {*gone.paths, *gone.names})
        if scrub:
            self.scrub()
        return gone.chunks

    def scrub(self) -> None:
        """Overwrite what was removed, in every file. Threads that ask at once share the work."""
        self._scrubbing.do(self._scrub)

    def scrub_all(self) -> None:
        """The same however long it takes, and an error where something keeps it from that."""
        self._scrub_derived()
        self.whereabouts.scrub()

    def _scrub_derived(self) -> None:
        from aurora.llm.cache import AnswerCache  # noqa: PLC0415 - as in `index`

        self._make_searchable()
        AnswerCache(self.index_folder / "llm").clear()

    def _scrub(self) -> None:
        self._scrub_derived()
        try:
            self._store.maintenance.scrub()
        except StoreBusyError as exc:
            self._tell(exc)
