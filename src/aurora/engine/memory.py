"""`Memory`: index, search, recall, get, add, learn, forget, stats, export, watch, close."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from aurora.config import Places, Settings, SettingsFiles
from aurora.config.places import shown
from aurora.engine.layers import PERSONAL, PROJECT, SHARED, Workspace, read_together, require_names
from aurora.engine.opening import FixedSettings, OpenedMemory, find_settings, one_setup, utc_now
from aurora.engine.refreshing import BUDGET, Refresher, search_present
from aurora.engine.remarks import with_remarks, with_sessions
from aurora.errors import AuroraError, ChunkNotFoundError, NoMemoryError, QueryError, StoreError
from aurora.quick_classes import dataclass, replace
from aurora.retrieval.lookup import find_chunk
from aurora.stores.base import Embedder, Work
from aurora.types import (
    AT_START,
    PRIVATE,
    RECALL_BUDGET,
    Chunk,
    Criteria,
    IndexCheck,
    IndexState,
    Json,
    Kind,
    Listener,
    Mode,
    Moment,
    NewDocument,
    NewLesson,
    Note,
    Progress,
    Query,
    Recall,
    Rerank,
    SearchResults,
    Situation,
    ignore_events,
)

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.engine.admin import MemoryAdmin
    from aurora.engine.agent_sessions import AgentSessions
    from aurora.engine.entries import EntryVersion
    from aurora.engine.trail import Trail
    from aurora.engine.writing import MemoryWriter
    from aurora.indexing.documents import Added, Learned
    from aurora.indexing.export_format import ExportCounts
    from aurora.indexing.freshness import Refresh
    from aurora.indexing.import_export import Writer
    from aurora.indexing.indexer import IndexReport
    from aurora.sources.watch import Stop

T = TypeVar("T", bound=StrEnum)

# The program that uses Aurora decides what it shows of this log; by default, nothing.
logging.getLogger("aurora").addHandler(logging.NullHandler())


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
    changed: int | None = None  # indexed files that changed since; None if that is not known
    run: Progress | None = None  # of the index run that is at work, in any process
    improving: Progress | None = None  # of the process that replaces the vectors by better ones
    is_improvable: bool = False  # there are better vectors, which `improve` makes

    def as_record(self) -> dict[str, Json]:
        """The object that docs/reference/json.md documents."""
        embedder = self.embedder
        return {
            "path": str(self.name),
            "bytes": self.bytes,
            "generation": self.generation,
            "indexed_at": self.indexed_at.isoformat() if self.indexed_at else None,
            "files": self.files,
            "files_changed": self.changed,
            "indexing": {**self.run._asdict()} if self.run else None,
            "chunks": sum(self.chunks.values()),
            "kinds": {str(kind): self.chunks.get(kind, 0) for kind in Kind},
            "namespaces": dict(self.namespaces),
            "index": {
                "path": str(self.index_path) if self.index_path else None,
                "bytes": self.index_bytes,
                "state": str(self.index.state),
                "current": self.index.state is IndexState.CURRENT,
            },
            "embedder": embedder
            and {
                "name": embedder.name,
                "dimension": embedder.dimension,
                "fingerprint": embedder.fingerprint,
            },
            "embedded": self.embedded,
            "improving": {**self.improving._asdict()} if self.improving else None,
            "improvable": self.is_improvable,
        }


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
        beside: Sequence[Path] = (),
        is_personal: bool = False,
        reads_on: bool = False,
        read_only: bool = False,
    ) -> None:
        """The memory of these places. `open` finds the places and settings of a folder.

        `settings` are files, which are read again when they change, or fixed values. `listen`
        receives notes and progress. `embedder` replaces the provider that the settings choose.
        Given a `folder`, the first write starts a project if git knows the folder. `beside` are
        folders that searches of the workspace ask, too. `is_personal`: the memory is a file on
        this machine, also where the settings name a server. `reads_on`: changed files that take
        longer than a search may wait are read by a thread, for programs that go on running.
        `read_only`: nothing is written: no row, no use, no file, no index.
        """
        files = FixedSettings(places, settings) if isinstance(settings, Settings) else settings
        files = files or SettingsFiles(places)
        self._opened = OpenedMemory(
            places,
            files,
            folder=folder,
            listen=listen,
            now=now,
            embedder=embedder,
            is_personal=is_personal,
            read_only=read_only,
        )
        self._beside = {folder.name: folder for folder in beside}
        self._embedder, self._others = embedder, dict[Places, Memory]()
        self._reads_on = reads_on
        self._roots: dict[Path, Path] = {}  # of repositories, by the folder that has `.git`
        self._refresher = Refresher(self._opened, lambda: self._writer, reads_on=reads_on)

    @cached_property
    def _writer(self) -> MemoryWriter:
        # Loads parsers, git and indexing, which a search does not need.
        from aurora.engine.writing import MemoryWriter  # noqa: PLC0415

        return MemoryWriter(self._opened)

    @cached_property
    def admin(self) -> MemoryAdmin:
        """What only the command line and the servers need."""
        from aurora.engine.admin import MemoryAdmin  # noqa: PLC0415 - as above

        return MemoryAdmin(self._opened, self._writer)

    @property
    def sessions(self) -> AgentSessions:
        """The sessions of agents, which the person's memory keeps."""
        sessions = (self.personal or self).admin.sessions
        return sessions.beside(self.root, self._opened.folder)

    @property
    def trail(self) -> Trail:
        """Why lines are as they are, how a command worked, and what mended an error."""
        return self.admin.trail(self)

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
    def root(self) -> Path | None:
        """The folder that stored paths are relative to, if there is one."""
        return self._opened.root

    @property
    def indexed_at(self) -> datetime | None:
        """When the last index run ended."""
        return self._opened.read_again(self._opened.store.chunks.indexed_at)

    @property
    def exists(self) -> bool:
        """Whether the database exists. A server is not asked: True."""
        return self._opened.location.stamp() is not None

    # The memories of a search

    @property
    def label(self) -> str:
        """The name of this memory in results: that of the project's folder, or `personal`."""
        project = self.places.project
        if project is not None:
            return project.name if project.name not in ("", PERSONAL) else PROJECT
        return PERSONAL if self.personal is None else SHARED

    @property
    def personal(self) -> Memory | None:
        """The person's memory, always a file on this machine; None if this is it."""
        opened, places = self._opened, Places(self.places.home)
        memory = self._other(places)
        return None if opened.location == memory._opened.location else memory

    def _other(self, places: Places) -> Memory:
        """Another memory of the same user, without the settings of this project."""
        if places not in self._others:
            opened = self._opened
            self._others[places] = Memory(
                places,
                opened.files.elsewhere(places),
                listen=opened.listen,
                now=opened.now,
                embedder=self._embedder,
                is_personal=places.project is None,
                reads_on=self._reads_on,
                read_only=opened.read_only,
            )
        return self._others[places]

    def workspace(self) -> dict[str, Memory]:
        """The other repositories of the user's workspace, by name."""
        home, own = self.places.home, self.places.project
        listed = self._beside | Workspace(home).list()
        return {
            name if name != self.label else str(folder): self._other(Places(home, folder))
            for name, folder in listed.items()
            if own is None or folder != own.resolve()
        }

    def layers(self, *, workspace: bool = False) -> dict[str, Memory]:
        """The existing memories that a search asks, by name, this one first."""
        personal = self.personal
        layers = {self.label: self, **({PERSONAL: personal} if personal else {})}
        layers |= self.workspace() if workspace else {}
        return {name: memory for name, memory in layers.items() if memory.exists}

    def _named(self, names: Sequence[str]) -> dict[str, Memory]:
        """The memories of these names."""
        known = {self.label: self, **self.layers(workspace=True)}
        wanted = [self.label if name == PROJECT else name for name in names]
        for name, memory in self.workspace().items():
            if name in wanted and not memory.exists:
                raise QueryError(_missing(name, memory), hint=f"`aur workspace remove {name}`")
        require_names(wanted, list(known))
        return {name: known[name] for name in wanted}

    def index(
        self, *targets: Path | str, git: bool = True, force: bool = False, quick: bool = False
    ) -> IndexReport:
        """Bring the memory of files and folders up to date, and the person's of conversation logs
        and of the sessions of agents that were imported once.

        Without targets, the folder of `Memory.open` is indexed. Only changed files are read;
        `force` reads all. The chunks can be found before their git histories are read. `quick`
        leaves better vectors to the next run. One run at a time: a second one waits for the first.
        """
        self._writer.start_project()
        personal = self.personal
        self.sessions.keep_up(quick=quick)
        if personal is None:
            return self._writer.index(targets, git=git, force=force, quick=quick)
        logs, index = None, partial(self._writer.index, targets, git=git, force=force, quick=quick)
        uses = self._writer.uses_of_logs()  # older versions had them here
        try:
            logs = personal._writer.index_logs(force=force, quick=quick)
            personal._writer.keep_uses(uses)
        except AuroraError as exc:
            self._opened.warn(f"The conversation logs were not read: {exc.in_one_line}")
        return index(logs=logs, reads_logs=None if logs is None else False)

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
        self._writer.start_project()
        return self._writer.watch(
            targets, lambda present: self.index(*present, git=git), stop=stop, bursts=bursts
        )

    @one_setup()
    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        fusion: str | None = None,
        criteria: Criteria | None = None,
        min_score: float | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
        here: str = ".",
        suggest: bool = True,
        workspace: bool = False,
        memories: Sequence[str] = (),
    ) -> SearchResults:
        """The best chunks for a query in plain words. A search is not an access.

        This memory and the person's are asked as if they were one, with `workspace` also the
        repositories of the user's workspace, or only the `memories` of these names. Results of
        another repository have absolute paths. What is not given is what the settings say.
        `path:./…` in the text starts at the folder `here`, which is the memory's root by default.
        Without `suggest`, no similar names are looked for where the words are unknown.
        """
        query = Query(
            text,
            self.settings.search.limit if limit is None else limit,
            read_choice(Mode, mode, "search mode"),
            fusion,
            criteria or Criteria(),
            min_score,
            read_choice(Rerank, rerank, "reranker"),
            expand,
            here,
            suggest,
        )
        asked = self._named(memories) if memories else self.layers(workspace=workspace)
        missing = [] if memories or not workspace else self._warn_of_missing()
        layers = self._open_layers(asked)
        if not layers:
            raise self._no_memory()
        (first, name, prefix), *others = layers
        retriever = partial(first.retriever_over, *others, name=name, prefix=prefix)
        opened = [layer for layer, _, _ in layers]
        homes = {name: (layer, prefix) for layer, name, prefix in layers}
        asked = {name: asked[name] for name in homes}  # without those that cannot be opened
        present = partial(search_present, query, lambda query: retriever().retrieve(query), homes)

        def answer() -> tuple[list[Note], SearchResults]:
            return self._refresh(asked), present(lambda: self._writer)

        (changed, results), notes = read_together(opened, answer)
        notes = [
            *changed, *self._warn_of_absence(), *missing, *notes, *first.warn_of_weights(fusion)
        ]  # fmt: skip
        running = self._note_runs(asked, awaits_vectors=results.awaits_vectors)
        found = replace(results, notes=(*running, *notes, *results.notes))
        return with_sessions(with_remarks(found, homes), self, asked.get(PERSONAL))

    @one_setup()
    def recall(
        self,
        situation: Situation = AT_START,
        budget: int = RECALL_BUDGET,
        *,
        given: Collection[str] = (),
    ) -> Recall:
        """What a session should know now without asking for it, within a budget of tokens.

        Nothing, rather than something unsure. `given` are ids that the session knows already; they
        are left out. Neither a search nor a recall is an access.
        """
        from aurora.engine.recall import recall  # noqa: PLC0415 - a search needs none of it

        asked = self.layers()
        if not (layers := self._open_layers(asked)):
            raise self._no_memory()
        memories = {name: opened for opened, name, _ in layers}
        if situation.moment is Moment.START:  # a search does it by itself, a tool shall not wait
            self._refresh({name: asked[name] for name in memories})
        listen, root, now = self._opened.listen, self.root, self._opened.now()
        return recall(
            situation, budget, memories,
            given=given, root=root, now=now, search=self.search, listen=listen,
        )  # fmt: skip

    def _refresh(self, asked: Mapping[str, Memory]) -> list[Note]:
        """Read changed files of the memories, in this order, for a second in all."""
        until = time.monotonic() + BUDGET
        notes = []
        for name, memory in asked.items():
            if memory._opened.run_progress() is not None:
                continue  # the index run reads them
            if note := memory._refresher.refresh(until):
                about = "" if memory is self else f"{name}: "
                notes.append(note._replace(text=f"{about}{note.text}"))
                self._opened.listen(notes[-1])
        return notes

    def _note_runs(self, asked: Mapping[str, Memory], *, awaits_vectors: bool) -> list[Note]:
        """What is ready of the memories that an index run is at work on."""
        notes = []
        for name, memory in asked.items():
            run = memory._opened.run_progress()
            if run is not None and (ready := run.ready_part):
                about = "" if memory is self else f"{name}: "
                rest = "; by words only until vectors are made" if awaits_vectors else ""
                notes.append(Note(f"{about}indexing: {ready}{rest}"))
                self._opened.listen(notes[-1])
        return notes

    def _open_layers(self, asked: Mapping[str, Memory]) -> list[tuple[OpenedMemory, str, str]]:
        """The memories that can be opened, each with its name and the prefix of its paths."""
        layers = []
        for name, memory in asked.items():
            root = memory.root.resolve() if memory.root and memory is not self else None
            try:
                _ = memory._opened.store
            except AuroraError as exc:
                if memory is self or len(asked) == 1:
                    raise
                self._opened.warn(f"The memory {name} is left out: {exc.in_one_line}")
            else:
                layers.append((memory._opened, name, f"{root.as_posix()}/" if root else ""))
        return layers

    def _no_memory(self) -> NoMemoryError:
        root = None if self.places.project else self._find_unindexed()
        where = f"at {self.name}" if root is None else f"of {shown(root)}"
        hint = "make one with `aur mem index .`"
        return NoMemoryError(f"There is no memory yet {where}", hint=hint)

    def _warn_of_absence(self) -> list[Note]:
        """A note where the folder belongs to a repository that was never indexed."""
        root = self._find_unindexed()
        if root is None:
            return []
        note = Note(
            f"{shown(root)} is not indexed: only your own memory was searched. "
            "`aur index` reads the project",
            warning=True,
        )
        self._opened.listen(note)
        return [note]

    def _warn_of_missing(self) -> list[Note]:
        """A note for each repository of the workspace that has no memory any more."""
        notes = [
            Note(f"{_missing(name, memory)}: it is left out", warning=True)
            for name, memory in self.workspace().items()
            if not memory.exists
        ]
        for note in notes:
            self._opened.listen(note)
        return notes

    def _find_unindexed(self) -> Path | None:
        """The root of the repository around the folder, if it was never indexed."""
        folder, project = self._opened.folder, self.places.project
        if project is not None:
            return None if self.exists else project
        above = (folder, *folder.parents) if folder else ()
        with_git = next((each for each in above if (each / ".git").exists()), None)
        if with_git is None:
            return None
        if with_git not in self._roots:  # to ask git takes as long as a search
            if (root := self._writer.find_project()) is None:
                return None
            self._roots[with_git] = root
        return self._roots[with_git]

    def get(self, chunk_id: str, *, is_use: bool = True, here: str = ".") -> Chunk:
        """The chunk with this id, the smallest at FILE:LINE, or that with a unique end of an id.

        Paths start at the root of the memory, or at the folder `here` below it, or are absolute.
        What this memory does not have is looked for in the person's, and by an absolute path in
        the workspace. Counts as an access, which ranks the chunk higher, unless `is_use` is false.
        """
        return self.locate(chunk_id, is_use=is_use, here=here)[1]

    def locate(
        self, chunk_id: str, *, is_use: bool = True, here: str = "."
    ) -> tuple[Memory, Chunk]:
        """As `get`, with the memory that holds the chunk."""
        holders = [self, *filter(None, [self.personal])]
        if Path(chunk_id).is_absolute():
            holders += self.workspace().values()
        missing: AuroraError | None = None
        self._refresh({memory.label: memory for memory in holders if memory.exists})
        for memory in holders:
            try:
                return memory, memory._get(chunk_id, is_use=is_use, here=here)
            except (ChunkNotFoundError, NoMemoryError) as exc:
                missing = missing or exc
        raise self._explained(missing, chunk_id, here) if missing else AssertionError

    def _explained(self, missing: AuroraError, chunk_id: str, here: str) -> AuroraError:
        """The error, with the fact that the file in the id does not exist."""
        file, colon, _ = chunk_id.partition(":")
        is_file = colon and "." in file and " no file " not in missing.message
        if self.root is None or not is_file or os.path.lexists(self.root / here / file):
            return missing
        text = f"{missing.message}: there is no file {file}, or it is gone"
        return type(missing)(text, hint=missing.hint)

    def _get(self, chunk_id: str, *, is_use: bool, here: str) -> Chunk:
        opened = self._opened
        prefix = f"{opened.root.resolve().as_posix()}/" if opened.root else ""
        name = chunk_id.removeprefix(prefix)
        chunk, damage = opened.read(lambda: find_chunk(opened.store, name, here=here))
        if is_use and not damage and not opened.read_only:
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
        private: bool = False,
        agent: str = "",
        model: str = "",
        files: Sequence[Path | str] = (),
        replaces: str = "",
    ) -> Added:
        """Store a document. The same path, or without a path the same text, replaces it.

        It replaces the entry with the id `replaces`, and a document without a path of the same
        title, namespace and type: these are kept, and not found (`history`). `agent` and `model`
        say who writes it, `files` which files of the project it is about; otherwise those are meant
        that the text names. The result names similar entries.

        Inside a git repository the project's memory has it, which is made if need be; a `private`
        one stays in the person's.
        """
        document = NewDocument(
            text,
            path=path,
            namespace=namespace,
            document_type=document_type,
            source=source,
            metadata={**(metadata or {}), **({PRIVATE: True} if private else {})},
            agent=agent,
            model=model,
            files=tuple(files),
            replaces=replaces,
        )
        return self._target(private=private).entries.add(document)

    def add_all(self, documents: Iterable[NewDocument], *, private: bool = False) -> list[Added]:
        """Store many documents, in batches of 500. A document that cannot be stored is an error,
        and its batch is not stored."""
        if private:  # so that `aur doctor --fix` leaves it there
            documents = (replace(d, metadata={**d.metadata, PRIVATE: True}) for d in documents)
        return self._target(private=private).entries.add_all(documents)

    def learn(
        self,
        text: str,
        *,
        pattern_type: str = "pattern",
        score: float = 1.0,
        context: str = "",
        private: bool = False,
        team: bool = False,
        agent: str = "",
        model: str = "",
        files: Sequence[Path | str] = (),
        replaces: str = "",
    ) -> Learned:
        """Store a lesson: a pattern that worked or, with a score below 0.5, did not.

        The same text again updates the lesson: its score becomes the mean of all tries. The other
        arguments are those of `add`. A lesson for the `team` is a file below docs/lessons, which
        git tracks and every index run reads.
        """
        if private and team:
            raise QueryError("A lesson is private or for the team, not both", hint="choose one")
        lesson = NewLesson(text, pattern_type, score, context, agent, model, tuple(files), replaces)
        if team:
            self._writer.start_project()
            return self._writer.entries.learn_for_team(lesson)
        return self._target(private=private).entries.learn(lesson)

    def history(self, id_: str) -> list[EntryVersion]:
        """All versions of a document or lesson, newest first, by the id of any of them."""
        holders = [self, *filter(None, [self.personal])]
        missing: AuroraError | None = None
        for memory in holders:
            try:
                return memory._writer.entries.history(id_)
            except (ChunkNotFoundError, NoMemoryError) as exc:
                missing = missing or exc
        raise missing if missing else AssertionError

    def _target(self, *, private: bool) -> MemoryWriter:
        """Where documents and lessons go."""
        personal = self.personal if private else None
        if personal is not None:
            return personal._writer
        if not private:
            self._writer.start_project()
        return self._writer

    def forget(self, chunks: str | Sequence[str], *, scrub: bool = True) -> int:
        """Remove chunks for good; the number of removed chunks.

        `chunks` are ids; or one word: an id, a file or folder, or `namespace:NAME`. No file of the
        memory holds their text afterwards; without `scrub`, after the next `admin.scrub`.
        """
        chunk_ids = self.admin.find_to_forget(chunks) if isinstance(chunks, str) else chunks
        removed = self._writer.forget(chunk_ids)
        if scrub:
            self.admin.scrub()
        return removed

    def stats(self) -> Stats:
        """Counts, sizes, the state of the index and the embedder."""
        changed = self._refresher.count_changes()
        numbers = self._opened.read(self._count)[0]
        return replace(
            numbers,
            changed=changed,
            run=self._opened.run_progress(),
            improving=self._opened.run_progress(Work.VECTORS),
            is_improvable=self._opened.is_improvable,
        )

    def _count(self) -> Stats:
        opened, path, index_path = self._opened, self._opened.location.path, self._opened.index_path
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
            index_bytes=ranking.search_bytes() if ranking else _index_size(index_path),
            index=self._check_index(index_path) if index_path else IndexCheck(IndexState.CURRENT),
            indexed_at=store.chunks.indexed_at(),
            embedder=store.vectors.embedder(),
            embedded=store.vectors.count_vectors(),
        )

    def _check_index(self, path: Path) -> IndexCheck:
        # Importing the retriever takes as long as the rest of `stats`.
        from aurora.signals import bm25, bm25_formula  # noqa: PLC0415

        opened, parameters = self._opened, bm25_formula.BM25Parameters(*self.settings.search.bm25)
        return bm25.BM25Signal(opened.store, path, now=opened.now, parameters=parameters).check()

    def export(self, stream: Writer) -> ExportCounts:
        """Write everything the memory holds as lines of JSON (docs/reference/export.md).

        The export is a snapshot. A damaged memory exports everything that can be read.
        """
        return self._writer.export(stream)

    def close(self) -> None:
        """Close the databases. The next call opens them again."""
        for memory in (self, *self._others.values()):
            memory._refresher.close()
            memory._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _missing(name: str, memory: Memory) -> str:
    """What is wrong with a repository of the workspace whose memory does not exist."""
    folder = memory.places.project
    where = "" if folder is None else shown(folder)
    gone = folder is None or not folder.is_dir()
    return f"{where} ({name} of the workspace) {'is gone' if gone else 'has no memory'}"


def read_choice(choices: type[T], name: str | None, what: str) -> T | None:
    """The choice of that name, if one is given; `QueryError` if there is none."""
    try:
        return None if name is None else choices(name.lower())
    except ValueError:
        hint = f"there are {', '.join(choices)}"
        raise QueryError(f"There is no {what} {name!r}", hint=hint) from None


def _index_size(path: Path | None) -> int:
    """With the segments beside it."""
    return sum(map(_size, path.parent.glob(f"{path.name}*"))) if path else 0


def _size(path: Path | None) -> int:
    try:
        return path.stat().st_size if path else 0
    except OSError:
        return 0
