"""BM25 as a signal: the scorer of `bm25`, kept in step with a store, revision by revision."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from aurora.chunk_words import RECIPE, chunk_text
from aurora.errors import IndexFileError
from aurora.signals.base import Entry, Question
from aurora.signals.bm25 import BM25Scorer, open_bm25_file
from aurora.signals.formula import BM25Parameters
from aurora.signals.index_file import IndexFile
from aurora.signals.kept import KeptIndex
from aurora.signals.matches import KeywordAnswer
from aurora.stores.base import Revision, Store
from aurora.terms import WORDS
from aurora.types import Chunk, Json, Listener, Progress, ignore_events

logger = logging.getLogger(__name__)

_PROGRESS_EVERY = 1000  # chunks; seed 000, FR-8.2
# Of all chunks, those that may have changed for a merge. It saves a quarter of the time at one half
# and nothing at three quarters: benchmarks/speed/bm25_merge.py.
_MERGE_SHARE = 0.5


class BM25Signal(KeptIndex[BM25Scorer]):
    """Ranks by keyword. Opens or builds its index on the first question, once for all threads."""

    name = "bm25"
    title = "BM25 index"

    def __init__(
        self,
        store: Store,
        path: Path,
        *,
        now: Callable[[], datetime],
        parameters: BM25Parameters | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        super().__init__(store, path, now=now, listen=listen)
        self._parameters = parameters or BM25Parameters()

    def ask(self, question: Question) -> KeywordAnswer:
        scorer = self.current()
        try:
            return scorer.ask(question.text)
        except IndexFileError as exc:  # a damaged page shows itself when it is first read
            return self.mend(scorer, exc).ask(question.text)

    def refresh(self) -> int:
        """Bring the index up to date now, if it is not; tells how many chunks it holds."""
        return len(self.current())

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, "recipe": RECIPE}

    def _facts(self, index: BM25Scorer) -> Mapping[str, Json]:
        return index.facts

    def _load(self) -> BM25Scorer:
        scorer = self._empty_scorer()
        scorer.load_index(self._path)
        return scorer

    def _open_file(self) -> IndexFile:
        return open_bm25_file(self._path, WORDS)

    def _is_as_written(self, index: BM25Scorer) -> bool:
        return self._is_made_alike(index.facts)

    def _is_made_alike(self, facts: Mapping[str, Json]) -> bool:
        return self._empty_scorer().has_parameters(facts)

    def _merge(self, base: BM25Scorer) -> BM25Scorer | None:
        """Right whatever another process writes meanwhile: each text comes with its own revision,
        and the generation was read before, so that the next look finds the index stale.
        """
        revisions = self._store.revisions()
        difference = base.compare(revisions)
        changed = len(difference.rows)
        if changed > _MERGE_SHARE * len(revisions):
            return None
        logger.debug("merging %d of %d chunks into the BM25 index", changed, len(revisions))
        merged = self._empty_scorer()
        entries = self._entries(self._store.iter_revised(difference.rows), changed)
        merged.merge_index(base, difference, entries)
        return merged

    def _make(self) -> BM25Scorer:
        scorer = self._empty_scorer()
        total = sum(self._store.count_chunks().values())
        scorer.build_index(self._entries(self._store.iter_revised(), total))
        return scorer

    def _entries(self, revised: Iterable[tuple[Revision, Chunk]], total: int) -> Iterator[Entry]:
        """What to index of each chunk; tells now and then how far it is."""
        done = 0
        for done, (revision, chunk) in enumerate(revised, start=1):
            yield Entry(chunk.id, chunk_text(chunk), revision)
            if done % _PROGRESS_EVERY == 0 and done < total:
                self._listen(Progress("Building BM25 index", done, total))
        if done >= _PROGRESS_EVERY:
            self._listen(Progress("Building BM25 index", done, done))

    def _write(self, index: BM25Scorer, facts: Mapping[str, Json]) -> None:
        index.save_index(self._path, facts)

    def _empty_scorer(self) -> BM25Scorer:
        k1, b, idf = self._parameters
        return BM25Scorer(k1, b, idf=idf, analysis=WORDS)

    def _difference(self, index: BM25Scorer) -> str:
        new = sum(self._store.count_chunks().values()) - len(index)
        if new == 0:
            return "chunks changed"
        return f"detected {new} new chunks" if new > 0 else f"detected {-new} removed chunks"
