"""One run of indexing from beginning to end: its stages, and none of their work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.background import Background
from aurora.indexing.elsewhere import Elsewhere
from aurora.indexing.embedding import Embedded, embed_missing
from aurora.indexing.histories import Answers, HistoryReader, Kept
from aurora.indexing.indexer import Indexer
from aurora.indexing.names import Names
from aurora.indexing.reader import recognise, version_of
from aurora.indexing.report import IndexReport
from aurora.indexing.scan import Scan, scan
from aurora.indexing.turns import take_turn
from aurora.redaction import Redactor
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import Listener


def run_index(
    store: Store,
    targets: Sequence[Path],
    *,
    root: Path | None,
    logs: Path,
    embedder: Callable[[], EmbeddingProvider | None],
    quick: EmbeddingProvider | None,
    elsewhere: Callable[[EmbeddingProvider | None], Elsewhere | None],
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
    with take_turn(store, listen=listen):
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
        store.put_indexed_at(now())
    return replace(
        report,
        logs=found.logs,
        histories=kept.changed,
        embedded=embedded,
        warnings=(*report.warnings, *embedded.warnings, *kept.troubles),
    )


def _known(store: Store, found: Scan, names: Names, version: str) -> Mapping[str, FileState]:
    """What is remembered of files, with the identities that they have now."""
    known = store.file_states()
    files = (file for file in found.files.values() if isinstance(file, SourceFile))
    recognised = list(recognise(files, known, names, version))
    if not recognised:
        return known
    store.put_file_states(recognised)
    return {**known, **{state.path: state for state in recognised}}


def _unknown(store: Store) -> Mapping[str, FileState]:
    """What is remembered of files, with identities that no file has: all are read."""
    states = store.file_states().values()
    return {state.path: replace(state, identity="none") for state in states}
