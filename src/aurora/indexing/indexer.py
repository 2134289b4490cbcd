"""Keeps the chunks of files in step with the files.

A run that is stopped leaves a smaller memory, and the next one goes on from there. One bad file
never stops a run: it is counted and named.

What one run of indexing did.

Work that goes on beside other work, and is not heard of until it is waited for.

One run of indexing from beginning to end: its stages, and none of their work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import Embedded, RemoteEmbedder, embed_missing
from aurora.indexing.histories import Answers, HistoryReader, Kept
from aurora.indexing.reader import FileReader, Names, Tally, recognise, version_of
from aurora.indexing.scan import Scan, scan
from aurora.indexing.turns import write_turn
from aurora.redaction import Redactor
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import Event, Listener, Progress, ignore_events


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Counts of files, and everything that was not as it should be.

    `failed` files could not be read or parsed, and `errors` name the paths that could not be
    walked at all: the memory is whole, but not all that was asked for is in it.
    """

    scanned: int
    parsed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failed: int = 0
    errors: tuple[str, ...] = ()
    logs: int = 0  # conversation logs that are there
    histories: int = 0  # chunks of which git told something new
    embedded: Embedded = field(default_factory=Embedded)

    @property
    def is_partial(self) -> bool:
        return bool(self.failed or self.errors or self.embedded.failed)


class Indexer:
    """Files into the store, under their names below `root`."""

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

    def index(self, scan: Scan, known: Mapping[str, FileState] | None = None) -> IndexReport:
        """Bring everything that was scanned up to date; what is gone leaves.

        `known` are the states of the files before, if somebody has read them already.
        """
        known = self._store.chunks.file_states() if known is None else known
        listed = set(map(self._names.of, scan.files))
        gone = self._gone(scan, (known[name] for name in known.keys() - listed), scan.shut)
        reader = FileReader(self._store, self._names, known, gone, self._redactor)
        for done, file in enumerate(scan.files.values(), start=1):
            reader.visit(file)
            self._listen(Progress("Indexing", done, len(scan.files)))
        reader.flush()
        tally = reader.tally
        left = (known[name] for name in known.keys() - tally.seen)
        removed = self._forget(self._gone(scan, left, tally.shut), tally)
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
        """Of the files that were not met, those that should have been.

        What lies behind a folder that cannot be read may be back tomorrow.
        """
        gone = []
        for state in states:
            path = self._names.path(state.path)
            below = any(map(path.is_relative_to, scan.places))
            if below and not (any(map(path.is_relative_to, shut)) or _is_shut(path)):
                gone.append(state)
        return gone

    def _forget(self, gone: Sequence[FileState], tally: Tally) -> int:
        self._store.chunks.forget_files(state.path for state in gone)
        left = (state for state in gone if not state.left_out and state.path not in tally.moved)
        return tally.removed + sum(1 for _ in left)


def _is_shut(path: Path) -> bool:
    """True where nobody can tell whether a file is there: git lists no untracked ones then."""
    try:
        path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


T = TypeVar("T")


class _Stopped(Exception):  # noqa: N818 - no error: nobody wants the answer any more
    pass


class Background(Generic[T]):
    """One piece of work in a thread of its own. Use it in a `with` block.

    The work gets a listener. Its news are passed on once somebody waits for the outcome; when the
    block is left by an exception, the next piece of news ends the work.
    """

    def __init__(self, work: Callable[[Listener], T], *, listen: Listener) -> None:
        self._work, self._listen = work, listen
        self._waited_for = self._unwanted = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aurora")

    def __enter__(self) -> Background[T]:
        self._outcome = self._thread.submit(self._work, self._hear)
        return self

    def _hear(self, event: Event) -> None:
        if self._unwanted:
            raise _Stopped
        if self._waited_for:
            self._listen(event)

    def result(self) -> T:
        """What came of the work; an exception in it is raised here."""
        self._waited_for = True
        return self._outcome.result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._unwanted = kind is not None
        self._thread.shutdown()


def run_index(
    store: Store,
    targets: Sequence[Path],
    *,
    root: Path | None,
    logs: Path,
    embedder: Callable[[], EmbeddingProvider | None],
    quick: EmbeddingProvider | None,
    elsewhere: Callable[[EmbeddingProvider | None], RemoteEmbedder | None],
    make_searchable: Callable[[], object],
    histories: Path | None,
    redactor: Redactor,
    force: bool,
    now: Callable[[], datetime],
    listen: Listener,
) -> IndexReport:
    """Read what changed, make it searchable, embed it, and keep what git knows of it.

    Words are searchable before vectors are made: some models take their time. `histories` is the
    folder where git's answers are kept; without one it is not asked. `quick` may embed in place of
    the embedder at first, and `elsewhere` tells who may help it. With `force`, every file is read
    and git is asked about each, whatever is remembered.
    """
    with write_turn(store, listen=listen):
        chosen = embedder()  # another model may have taken over while this run waited
        found, version = scan(*targets, logs=logs), version_of(redactor)
        known = _unknown(store) if force else _known(store, found, Names(root), version)
        past = (
            HistoryReader(store, root, histories, version=version, anew=force, now=now())
            if histories
            else None
        )

        def ask(hear: Listener) -> list[Answers]:
            return past.ask(found, known, listen=hear) if past else []

        with Background(ask, listen=listen) as asking:
            report = Indexer(store, root, redactor=redactor, listen=listen).index(found, known)
            make_searchable()
            embedded = Embedded()
            if chosen is not None:
                embedded = embed_missing(
                    store, chosen, quick=quick, elsewhere=elsewhere(chosen), listen=listen
                )
            if embedded.made:
                make_searchable()
            kept = past.keep(asking.result()) if past else Kept()
        store.chunks.put_indexed_at(now())
    return replace(
        report,
        logs=found.logs,
        histories=kept.changed,
        embedded=embedded,
        warnings=(*report.warnings, *embedded.warnings, *kept.troubles),
    )


def _known(store: Store, found: Scan, names: Names, version: str) -> Mapping[str, FileState]:
    """What is remembered of files, with the identities that they have now."""
    known = store.chunks.file_states()
    files = (file for file in found.files.values() if isinstance(file, SourceFile))
    recognised = list(recognise(files, known, names, version))
    if not recognised:
        return known
    store.chunks.put_file_states(recognised)
    return {**known, **{state.path: state for state in recognised}}


def _unknown(store: Store) -> Mapping[str, FileState]:
    """What is remembered of files, with identities that no file has: all are read."""
    states = store.chunks.file_states().values()
    return {state.path: replace(state, identity="none") for state in states}
