"""What changes a memory: index runs, forgetting, and the vectors of chunks.

`entries` has documents and lessons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from aurora.config.places import shown
from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.embedders import OWN_MODELS
from aurora.engine.entries import EntryWriter
from aurora.engine.opening import OpenedMemory
from aurora.engine.own_lines import as_in_file
from aurora.engine.projects import (
    find_project,
    keep_out_of_git,
    places_to_index,
)
from aurora.engine.working_copies import find_gone
from aurora.errors import AuroraError, ConfigError, NoMemoryError
from aurora.files import scrub_log
from aurora.given import clear_given
from aurora.indexing.changes import Changes, ReadChanges, find_changes, read_changes
from aurora.indexing.documents import forget
from aurora.indexing.embedding import (
    Embedded,
    Reembedded,
    RemoteEmbedder,
    embed,
    embed_missing,
    forget_vectors,
    reembed,
)
from aurora.indexing.export_format import ExportCounts
from aurora.indexing.freshness import Refresh, keep_fresh
from aurora.indexing.import_export import Writer, export_memory
from aurora.indexing.indexer import NO_LOGS, IndexReport, run_index
from aurora.indexing.ray import RayEmbedder
from aurora.indexing.reader import Names, digest_version, recognise
from aurora.indexing.session_notes import removed_notes
from aurora.indexing.turns import retry_on_disconnect
from aurora.quick_classes import replace
from aurora.redaction import Redactor
from aurora.sources.blame.cache import forget_paths
from aurora.sources.conversations import find_logs
from aurora.sources.looks import Looks
from aurora.sources.walk import require_path
from aurora.sources.watch import FileWatcher, Stop
from aurora.stores.base import FileState
from aurora.stores.vector_cache import VectorCache
from aurora.types import Chunk, Note

Targets: TypeAlias = Sequence[Path | str]

_LEAST = 0.25  # seconds of reading, also where the walk alone has taken all the time
_FEW = 100  # chunks, which the model needs a tenth of a second for


class MemoryWriter:
    """The writing side of one memory. `Memory` documents its methods."""

    def __init__(self, opened: OpenedMemory) -> None:
        self._opened, self.vectors = opened, VectorUpdates(opened)
        self.entries = EntryWriter(opened, self.vectors, self.redacting)

    def index(
        self,
        targets: Targets,
        *,
        git: bool,
        force: bool,
        quick: bool,
        logs: IndexReport | None = None,
        reads_logs: bool | None = True,
    ) -> IndexReport:
        """`logs`: the report of another memory on the conversation logs; see `run_index`."""
        paths = tuple(map(Path, targets or self._default_targets))
        for path in paths:
            require_path(path)
        opened = self._opened
        opened.create()
        is_first = opened.store.chunks.indexed_at() is None
        expects_logs = is_first or bool(self._log_chunks() or (logs and logs.removed))
        report = self._run(paths, git=git, force=force, quick=quick, reads_logs=reads_logs)
        report = report if logs is None else report.plus(logs)
        if not report.logs and expects_logs and reads_logs is not None:
            # Once, and again when there were some.
            warning = f"{NO_LOGS} in {shown(opened.logs)}/"
            report = replace(report, warnings=(warning, *report.warnings))
        return report

    def find_changes(self, places: Sequence[Path]) -> Changes:
        """What changed below indexed places since they were last read."""
        opened = self._opened
        store, names = opened.store, Names(opened.root)
        looks = Looks(opened.index_folder).read(store.identity)
        return find_changes(store, names, places, looks, logs=opened.logs)

    def count_changes(self, places: Sequence[Path]) -> int:
        """The number of files that changed or are gone. The files of a copied project did not."""
        opened, changes = self._opened, self.find_changes(places)
        states = opened.store.chunks.file_states(map(Names(opened.root).of, changes.paths))
        same = recognise(
            changes.files, states, Names(opened.root), digest_version(self._redactor())
        )
        return len(changes.files) + len(changes.gone) - sum(1 for _ in same)

    def find_in_file(self, path: Path, chunk: Chunk, state: FileState) -> Chunk | None:
        """The chunk with its lines in a changed file; None if it is not there."""
        return as_in_file(path, chunk, state)

    def read_changes(self, places: Sequence[Path], *, is_over: Callable[[], bool]) -> ReadChanges:
        """Read changed files until `is_over`; `StoreBusyError` while an index run is at work.

        Git is not asked about them, and vectors are made only of a few chunks by the small model
        that comes with Aurora: the next index run does the rest.
        """
        opened = self._opened
        store, looks = opened.store, Looks(opened.index_folder)
        if opened.places.project is not None:
            keep_out_of_git(opened.places.memory_folder)  # or its files would be read
        with store.alone(), store.impatient():
            changes = self.find_changes(places)
            least = time.monotonic() + _LEAST
            done = read_changes(
                store,
                Names(opened.root),
                changes,
                looks=looks,
                redactor=self._redactor(),
                is_over=lambda: is_over() and time.monotonic() >= least,
            )
            if done.read or done.removed:
                self._embed_few(is_over)
                if not done.unread:
                    store.chunks.put_indexed_at(opened.now())
        return done

    def _embed_few(self, is_over: Callable[[], bool]) -> None:
        vectors = self._opened.store.vectors
        owner = vectors.embedder()
        if owner is None or is_over() or not owner.name.startswith(OWN_MODELS):
            return
        missing = vectors.find_unembedded()
        if len(missing) <= _FEW:
            self.vectors.embed_new(missing, warns=False)

    def index_logs(self, *, force: bool, quick: bool) -> IndexReport:
        """Bring the memory of the conversation logs up to date; it is created if there are some."""
        opened = self._opened
        if not self._log_chunks() and not find_logs(opened.logs):
            return IndexReport(0, 0, 0, 0)
        opened.create()
        return self._run((), git=False, force=force, quick=quick, reads_logs=True)

    def _log_chunks(self) -> list[str]:
        """The ids of what this memory holds of the conversation logs."""
        opened = self._opened
        try:
            return opened.store.chunks.find_below(str(opened.logs))
        except NoMemoryError:
            return []

    def uses_of_logs(self) -> Mapping[str, Sequence[datetime]]:
        """The uses of what this memory holds of the conversation logs."""
        ids = self._log_chunks()
        return self._opened.store.chunks.get_accesses(ids) if ids else {}

    def keep_uses(self, uses: Mapping[str, Sequence[datetime]]) -> None:
        """Add the uses that another memory had of the same chunks."""
        for chunk_id, times in uses.items():
            for at in times:
                self._opened.store.chunks.record_access(chunk_id, at)

    def _run(
        self, paths: Sequence[Path], *, git: bool, force: bool, quick: bool, reads_logs: bool | None
    ) -> IndexReport:
        opened, vectors = self._opened, self.vectors
        if opened.places.project is not None:
            keep_out_of_git(opened.places.memory_folder)
        checkout = opened.checkout
        opened.store.checkouts.use(checkout)  # its branch may be another one now
        run = partial(
            run_index,
            opened.store,
            paths,
            root=opened.root,
            gone=find_gone(opened.places.home, checkout, opened.root),
            logs=opened.logs,
            reads_logs=reads_logs,
            vectors=vectors,
            histories=opened.history_folder if git else None,
            looks=Looks(opened.index_folder),
            redactor=self._redactor(),
            force=force,
            now=opened.now,
            listen=opened.listen,
        )
        report = retry_on_disconnect(run, listen=opened.listen)
        better = Embedded() if quick else vectors.improve()
        return replace(report, warnings=(*report.warnings, *better.warnings))

    def watch(
        self,
        targets: Targets,
        index: Callable[[Sequence[Path]], IndexReport],
        *,
        stop: Stop | None,
        bursts: Iterable[object] | None,
    ) -> Iterator[Refresh]:
        for target in targets:
            require_path(Path(target))
        opened = self._opened
        # The working directory may change later.
        paths = tuple(Path(path).resolve() for path in targets or self._default_targets)
        if bursts is None:
            file = opened.location.path
            own = (*((file,) if file else ()), opened.index_folder, opened.log_file)
            bursts = FileWatcher(paths, logs=opened.logs, own=own, stop=stop)
        return keep_fresh(index, paths, bursts=bursts, now=opened.now, listen=opened.listen)

    @property
    def _default_targets(self) -> tuple[Path, ...]:
        return (self._opened.folder,) if self._opened.folder else ()

    def find_project(self) -> Path | None:
        """The root of the git repository around the folder of `Memory.open`."""
        return find_project(self._opened.folder) if self._opened.folder else None

    def start_project(self) -> None:
        """Inside a git repository, use the memory of the project, which is made if need be."""
        opened = self._opened
        if opened.folder is not None and opened.places.project is None:
            places = places_to_index(opened.places, opened.folder)
            if places != opened.places:
                opened.reopen()
                opened.places = opened.files.places = places
                keep_out_of_git(places.memory_folder)

    def forget(self, chunk_ids: Sequence[str]) -> int:
        opened = self._opened
        with opened.store.transaction():
            forgotten = forget(opened.store, chunk_ids)
            if notes := removed_notes(forgotten.removed):  # or an import would bring them back
                opened.store.chunks.add_files(notes)
        forget_vectors(VectorCache(opened.vector_folder), forgotten.removed)
        forget_paths(opened.history_folder, forgotten.paths)
        paths = map(Names(opened.root).path, forgotten.paths)
        Looks(opened.index_folder).forget(opened.store.identity, paths)
        clear_given(opened.places.home)  # ids hold words of their rows
        scrub_log(opened.log_file, {*forgotten.paths, *forgotten.names})
        return forgotten.chunks

    def export(self, stream: Writer) -> ExportCounts:
        self._opened.tell_damage(look=True)
        return export_memory(self._opened.store, stream, listen=self._opened.listen)

    @contextmanager
    def redacting(self) -> Iterator[Redactor]:
        """A redactor for what is about to be stored. A warning follows if it found secrets."""
        redactor = self._redactor()
        yield redactor
        if redactor.warning:
            self._opened.warn(redactor.warning)

    def _redactor(self) -> Redactor:
        return Redactor(on=self._opened.settings.indexing.redact_secrets)


class VectorUpdates:
    """Makes and indexes the vectors of one memory."""

    def __init__(self, opened: OpenedMemory) -> None:
        self._opened = opened

    @property
    def cache(self) -> VectorCache:
        return VectorCache(self._opened.vector_folder)

    def embedder(self) -> EmbeddingProvider | None:
        """The provider for new chunks: the one that made the vectors, until `reembed`."""
        opened, embedders = self._opened, self._opened.embedders
        if embedders.are_off:
            return None
        owner = opened.store.vectors.embedder()
        try:
            chosen = embedders.chosen()
            if embedders.is_earlier(owner):  # `improve` replaces all of them
                return None
            if owner is None or owner.name == chosen.name:
                return chosen
            if embedders.is_quick(owner):  # `improve` replaces these, too
                return embedders.quick()
            opened.warn(
                f"Vectors here are of {owner.name}; `aur mem reembed` makes those of {chosen.name}"
            )
            return embedders.of(owner)
        except ConfigError:
            raise
        except AuroraError as exc:
            opened.warn(exc)
        except Exception as exc:  # a provider may fail in any way, even when it returns its name
            opened.warn(f"The embedding provider failed: {exc!r}")
        return None

    def quick(self) -> EmbeddingProvider | None:
        return self._opened.embedders.quick()

    def remote(self, provider: EmbeddingProvider | None) -> RemoteEmbedder | None:
        """The cluster that the settings name, if it can run this provider."""
        settings = self._opened.settings.indexing
        if settings.workers > 1:
            self._opened.listen(
                Note("indexing.workers has no effect: one process embeds with all processors")
            )
        make = self._opened.embedders.recipe_of(provider) if provider and settings.ray else None
        return RayEmbedder(settings.ray, make) if make else None

    def embed_new(self, chunk_ids: Sequence[str], *, warns: bool = True) -> None:
        """Make vectors of chunks just stored. If that fails, the next index run makes them."""
        try:
            store = self._opened.store
            embedded = store.vectors.get_embeddings(chunk_ids)
            missing = [id_ for id_ in chunk_ids if id_ not in embedded]
            provider = self.embedder() if missing else None
            if provider is None:
                return
            warnings = embed(store, provider, missing, cache=self.cache).warnings
            for warning in warnings if warns else ():
                self._opened.warn(warning)
        except AuroraError as exc:
            if warns:
                self._opened.warn(exc)

    def embed_missing(self) -> None:
        """Make vectors of all chunks that have none, as an index run does."""
        provider = self.embedder()
        if provider is not None:
            opened = self._opened
            embedded = embed_missing(opened.store, provider, cache=self.cache, listen=opened.listen)
            for warning in embedded.warnings:
                opened.warn(warning)
        self.make_searchable()

    def reembed(self, *, waits: bool = True) -> Reembedded:
        """Replace the vectors by those of the provider that the settings choose.

        Searches use the old vectors until all new ones exist. A killed run continues later. `waits`
        for another process that does the same.
        """
        opened = self._opened
        chosen = opened.embedders.chosen()
        remote = self.remote(chosen)
        run = partial(
            reembed,
            opened.store,
            chosen,
            remote=remote,
            cache=self.cache,
            make_searchable=partial(self.make_searchable, rebuild=True),
            waits=waits,
            listen=opened.listen,
        )
        reembedded = retry_on_disconnect(run, listen=opened.listen)
        self.make_searchable()
        return reembedded

    def improve(self, *, waits: bool = True) -> Embedded:
        """Replace improvable vectors by those of the chosen provider."""
        if not self._opened.is_improvable:
            return Embedded()
        better = self._opened.embedders.chosen().name
        self._opened.listen(
            Note(f"Everything can be found now; the better vectors of {better} follow")
        )
        return self.reembed(waits=waits).embedded

    def make_searchable(self, *, rebuild: bool = False, scrub: bool = False) -> None:
        """Bring the indexes up to date, so that the next search need not.

        `rebuild`: all vectors are new, and nothing needs to be said about the old index. `scrub`:
        nothing that was removed stays in a file.
        """
        opened = self._opened
        if ranking := opened.store.ranking:
            if warning := ranking.prepare_search():
                opened.warn(warning)
            return
        retriever = opened.retriever
        if scrub:
            retriever.bm25.scrub()
        else:
            retriever.bm25.refresh()
        if opened.store.vectors.embedder() is not None and not opened.embedders.are_off:
            _ = retriever.vectors.rebuild() if rebuild else retriever.vectors.current()
            if scrub:
                retriever.vectors.scrub()
