"""One index run: keeps the chunks of files in step with the files.

A run that is stopped leaves a smaller memory, and the next run continues. A bad file never stops a
run: the report counts and names it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.changes import remember_run
from aurora.indexing.embedding import Embedded, RemoteEmbedder, VectorCache, embed_missing
from aurora.indexing.histories import HistoryReader
from aurora.indexing.reader import (
    FileReader,
    Names,
    Scan,
    digest_version,
    find_shared,
    recognise,
    scan,
)
from aurora.indexing.turns import show_progress, write_turn
from aurora.quick_classes import dataclass, field, replace
from aurora.redaction import Redactor
from aurora.sources.looks import Looks
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import READING, Event, Listener, Progress, ignore_events

T = TypeVar("T")

NO_LOGS = "No conversation logs found"  # how the warning about missing logs begins


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The counts of one run, and its problems."""

    scanned: int
    parsed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failed: int = 0  # files that could not be read or parsed
    errors: tuple[str, ...] = ()  # paths that could not be walked
    logs: int = 0  # conversation logs
    histories: int = 0  # chunks with a new git history
    embedded: Embedded = field(default_factory=Embedded)

    def plus(self, other: IndexReport) -> IndexReport:
        """The report of two runs: of the project, and of the conversation logs."""
        return IndexReport(
            self.scanned + other.scanned,
            self.parsed + other.parsed,
            self.unchanged + other.unchanged,
            self.removed + other.removed,
            dict(Counter(self.skipped) + Counter(other.skipped)),
            (*self.warnings, *other.warnings),
            self.failed + other.failed,
            (*self.errors, *other.errors),
            self.logs + other.logs,
            self.histories + other.histories,
            self.embedded.plus(other.embedded),
        )

    @property
    def is_partial(self) -> bool:
        return bool(self.failed or self.errors or self.embedded.failed)


class Vectors(Protocol):
    """What a run needs to make vectors and indexes."""

    @property
    def cache(self) -> VectorCache: ...

    def embedder(self) -> EmbeddingProvider | None: ...

    def quick(self) -> EmbeddingProvider | None: ...

    def remote(self, provider: EmbeddingProvider | None) -> RemoteEmbedder | None: ...

    def make_searchable(self) -> None: ...


def run_index(
    store: Store,
    targets: Sequence[Path],
    *,
    root: Path | None,
    logs: Path,
    reads_logs: bool | None,
    gone: Collection[str] = (),
    vectors: Vectors,
    histories: Path | None,
    looks: Looks,
    redactor: Redactor,
    force: bool,
    now: Callable[[], datetime],
    listen: Listener,
) -> IndexReport:
    """Read changed files, make them searchable, embed them, and store their git histories.

    Words are searchable before the model makes vectors, because some models are slow. Vectors from
    the cache are quick: with these alone, the indexes are made once. `histories` is the folder of
    git's answers; without one, git is not asked. `looks` keep what the files looked like, for later
    refreshes. `force` reads every file and its whole history. `reads_logs` is false where another
    memory has read them: what this one holds of them is removed. None leaves it alone. `gone` are
    the keys of checkouts that are no more.
    """
    with write_turn(store, listen=listen) as tell:
        tell(Progress(READING, 0, 0))
        listen = show_progress(tell, listen)
        store.checkouts.enter(now(), gone)
        provider = vectors.embedder()  # another model may have replaced it while this run waited
        begun_ns = time.time_ns()
        scanned = walked = scan(*targets, logs=logs if reads_logs else None)
        if reads_logs is False:
            scanned = replace(scanned, places=(*scanned.places, logs))
        version = digest_version(redactor)
        names = Names(root)
        states = _read_states(store, scanned, names, version, force=force)
        reader = HistoryReader(store, names, histories, version, ignore_cache=force, now=now())
        read_histories = partial(reader.read, scanned, states)
        with _in_background(read_histories, listen) as wait_for_histories:
            report = index_files(
                store, root, scanned, states=states, redactor=redactor, listen=listen
            )
            embedded = embed_all(store, provider, vectors, listen)
            changed, warnings = reader.keep(wait_for_histories())
        store.chunks.put_indexed_at(now())
        is_git = histories is not None
        remember_run(store, names, walked, looks=looks, begun_ns=begun_ns, git=is_git)
    return replace(
        report,
        logs=scanned.logs,
        histories=changed,
        embedded=embedded,
        warnings=(*report.warnings, *embedded.warnings, *warnings),
    )


def embed_all(
    store: Store, provider: EmbeddingProvider | None, vectors: Vectors, listen: Listener
) -> Embedded:
    """Make missing vectors, and indexes. With a model, words are searchable before it works."""
    is_searchable = False

    def make_searchable() -> None:
        nonlocal is_searchable
        vectors.make_searchable()
        is_searchable = True

    embedded = Embedded()
    if provider is not None:
        embedded = embed_missing(
            store,
            provider,
            quick=vectors.quick(),
            remote=vectors.remote(provider),
            cache=vectors.cache,
            before_model=make_searchable,
            listen=listen,
        )
    if embedded.made or not is_searchable:
        vectors.make_searchable()
    return embedded


def _read_states(
    store: Store, scanned: Scan, names: Names, version: str, *, force: bool
) -> Mapping[str, FileState]:
    """Stored states with the files' current identities; with `force`, with one that no file has.

    A file that another checkout has, too, is not read again.
    """
    states = dict(store.chunks.file_states())
    if force:
        return {path: replace(state, identity="none") for path, state in states.items()}
    files = [file for file in scanned.files.values() if isinstance(file, SourceFile)]
    if recognised := list(recognise(files, states, names, version)):
        store.chunks.put_file_states(recognised)
        states |= {state.path: state for state in recognised}
    if others := store.checkouts.elsewhere():
        shared = list(find_shared(files, states, others, names, version))
        store.checkouts.adopt(shared)
        states |= {state.path: state for state in shared}
    return states


def index_files(
    store: Store,
    root: Path | None,
    scanned: Scan,
    *,
    states: Mapping[str, FileState] | None = None,
    redactor: Redactor | None = None,
    listen: Listener = ignore_events,
) -> IndexReport:
    """Bring scanned files up to date in the store, under their names below `root`."""
    states = store.chunks.file_states() if states is None else states
    reader = FileReader(store, Names(root), states, redactor or Redactor())
    reader.read(scanned, listen)
    return IndexReport(
        scanned=len(scanned.files),
        parsed=reader.parsed,
        unchanged=reader.unchanged,
        removed=reader.removed,
        skipped=reader.skipped,
        warnings=(*scanned.warnings, *reader.warnings),
        failed=reader.failed,
        errors=scanned.errors,
    )


@contextmanager
def _in_background(work: Callable[[Listener], T], listen: Listener) -> Iterator[Callable[[], T]]:
    """Run a function in a thread; yields a function that waits for its result.

    Its events are passed on while the caller waits. After an exception in the block, its next event
    ends it.
    """
    is_waiting, is_unwanted = threading.Event(), threading.Event()

    def hear(event: Event) -> None:
        if is_unwanted.is_set():
            raise CancelledError
        if is_waiting.is_set():
            listen(event)

    def result() -> T:
        is_waiting.set()
        return future.result()

    with ThreadPoolExecutor(1, thread_name_prefix="aurora") as thread:
        future = thread.submit(work, hear)
        try:
            yield result
        except BaseException:
            is_unwanted.set()
            raise
