"""One index run: keeps the chunks of files in step with the files.

A run that is stopped leaves a smaller memory, and the next run continues. A bad file never stops a
run: the report counts and names it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import Embedded, RemoteEmbedder, embed_missing
from aurora.indexing.histories import HistoryReader, KeptHistories, RepositoryHistories
from aurora.indexing.reader import FileReader, Names, Scan, Tally, digest_version, recognise, scan
from aurora.indexing.turns import write_turn
from aurora.redaction import Redactor
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import Event, Listener, Progress, ignore_events

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The counts of one run, and its problems.

    `failed` files could not be read or parsed. `errors` name paths that could not be walked: the
    memory is whole, but does not hold all that was requested.
    """

    scanned: int
    parsed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failed: int = 0
    errors: tuple[str, ...] = ()
    logs: int = 0  # conversation logs
    histories: int = 0  # chunks with a new git history
    embedded: Embedded = field(default_factory=Embedded)

    @property
    def is_partial(self) -> bool:
        return bool(self.failed or self.errors or self.embedded.failed)


class Vectors(Protocol):
    """What a run needs to make vectors and indexes."""

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
    vectors: Vectors,
    histories: Path | None,
    redactor: Redactor,
    force: bool,
    now: Callable[[], datetime],
    listen: Listener,
) -> IndexReport:
    """Read changed files, make them searchable, embed them, and store their git histories.

    Words are searchable before vectors are made, because some models are slow. `histories` is the
    folder of git's answers; without one, git is not asked. `force` reads every file and its whole
    history.
    """
    with write_turn(store, listen=listen):
        provider = vectors.embedder()  # another model may have replaced it while this run waited
        scanned, version = scan(*targets, logs=logs), digest_version(redactor)
        states = (
            _forced_states(store)
            if force
            else _current_states(store, scanned, Names(root), version)
        )
        reader = (
            HistoryReader(store, root, histories, version=version, ignore_cache=force, now=now())
            if histories
            else None
        )

        def read_histories(listen: Listener) -> list[RepositoryHistories]:
            return reader.read(scanned, states, listen=listen) if reader else []

        with _in_background(read_histories, listen) as wait_for_histories:
            report = Indexer(store, root, redactor=redactor, listen=listen).index(scanned, states)
            vectors.make_searchable()
            embedded = Embedded()
            if provider is not None:
                embedded = embed_missing(
                    store,
                    provider,
                    quick=vectors.quick(),
                    remote=vectors.remote(provider),
                    listen=listen,
                )
            if embedded.made:
                vectors.make_searchable()
            kept = reader.keep(wait_for_histories()) if reader else KeptHistories()
        store.chunks.put_indexed_at(now())
    return replace(
        report,
        logs=scanned.logs,
        histories=kept.changed,
        embedded=embedded,
        warnings=(*report.warnings, *embedded.warnings, *kept.warnings),
    )


def _current_states(
    store: Store, scanned: Scan, names: Names, version: str
) -> Mapping[str, FileState]:
    """The stored states of files, with the identities that the files have now."""
    states = store.chunks.file_states()
    files = (file for file in scanned.files.values() if isinstance(file, SourceFile))
    recognised = list(recognise(files, states, names, version))
    if not recognised:
        return states
    store.chunks.put_file_states(recognised)
    return {**states, **{state.path: state for state in recognised}}


def _forced_states(store: Store) -> Mapping[str, FileState]:
    """The stored states of files, with an identity that no file has: all files are read."""
    states = store.chunks.file_states().values()
    return {state.path: replace(state, identity="none") for state in states}


class Indexer:
    """Writes files into the store, under their names below `root`."""

    def __init__(
        self,
        store: Store,
        root: Path | None,
        *,
        redactor: Redactor | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._listen = store, listen
        self._redactor = redactor or Redactor()
        self._names = Names(root)

    def index(self, scan: Scan, states: Mapping[str, FileState] | None = None) -> IndexReport:
        """Bring all scanned files up to date, and remove files that are gone.

        `states` are the stored states of files, if the caller has read them.
        """
        states = self._store.chunks.file_states() if states is None else states
        scanned = set(map(self._names.of, scan.files))
        gone = self._gone(scan, (states[name] for name in states.keys() - scanned), scan.shut)
        reader = FileReader(self._store, self._names, states, gone, self._redactor)
        for done, file in enumerate(scan.files.values(), start=1):
            reader.visit(file)
            self._listen(Progress("Indexing", done, len(scan.files)))
        reader.flush()
        tally = reader.tally
        unseen = (states[name] for name in states.keys() - tally.seen)
        removed = self._remove(self._gone(scan, unseen, tally.shut), tally)
        return IndexReport(
            scanned=len(scan.files),
            parsed=tally.parsed,
            unchanged=tally.unchanged,
            removed=removed,
            skipped=tally.skipped,
            warnings=(*scan.warnings, *tally.warnings),
            failed=tally.failed,
            errors=scan.errors,
        )

    def _gone(
        self, scan: Scan, states: Iterable[FileState], shut: Sequence[Path]
    ) -> list[FileState]:
        """The states whose files should have been scanned and were not.

        A file behind an unreadable folder may come back, and is not gone.
        """
        gone = []
        for state in states:
            path = self._names.path(state.path)
            below = any(map(path.is_relative_to, scan.places))
            if below and not (any(map(path.is_relative_to, shut)) or _is_shut(path)):
                gone.append(state)
        return gone

    def _remove(self, gone: Sequence[FileState], tally: Tally) -> int:
        self._store.chunks.forget_files(state.path for state in gone)
        removed = (state for state in gone if not state.left_out and state.path not in tally.moved)
        return tally.removed + sum(1 for _ in removed)


def _is_shut(path: Path) -> bool:
    """True if permissions hide whether the file exists: git does not list untracked ones then."""
    try:
        path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


class _StoppedError(Exception):
    """Ends the background thread."""


@contextmanager
def _in_background(work: Callable[[Listener], T], listen: Listener) -> Iterator[Callable[[], T]]:
    """Run a function in a thread; yields a function that waits for its result.

    Its events are passed on while the caller waits. After an exception in the block, its next event
    ends it.
    """
    is_waiting, is_unwanted = threading.Event(), threading.Event()

    def hear(event: Event) -> None:
        if is_unwanted.is_set():
            raise _StoppedError
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
