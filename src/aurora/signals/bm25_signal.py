"""BM25 as a signal: the scorer of `bm25`, kept in step with a store.

The index file is derived. It counts as current only when it was made of this store at this
generation. An older one is merged with what changed since, compared revision by revision; anything
else, from a deleted file to a flipped bit, leads to a rebuild (FR-8).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.base import Entry
from aurora.signals.bm25 import BM25Scorer
from aurora.signals.formula import BM25Parameters
from aurora.stores.base import Revision, Store
from aurora.types import Chunk, Json, Listener, Note, Progress, Query, Ranking, ignore_events

logger = logging.getLogger(__name__)

# A name says more about a chunk than a line of its body, however long the body is: it counts a few
# times, and again for every so many characters. docs/concepts/ranking.md has the measurements.
_NAME_TIMES, _NAME_EVERY = 3, 50
_PROGRESS_EVERY = 1000  # chunks; seed 000, FR-8.2
# Of all chunks, those that may have changed for a merge. It saves a quarter of the time at one half
# and nothing at three quarters: benchmarks/speed/bm25_merge.py.
_MERGE_SHARE = 0.5
_RECIPE = 1  # grows when `chunk_text` gives another text: indexes are then rebuilt


def chunk_text(chunk: Chunk) -> str:
    """What is indexed of a chunk: name, signature and path count again beside the content."""
    names = f"{chunk.name}\n" * (_NAME_TIMES + len(chunk.content) // _NAME_EVERY)
    signature = chunk.metadata.get("signature", "")
    return f"{names}{chunk.qualified_name}\n{signature}\n{chunk.path}\n{chunk.content}"


class BM25Signal:
    """Ranks by keyword. Opens or builds its index on the first question, once for all threads."""

    name = "bm25"

    def __init__(
        self,
        store: Store,
        path: Path,
        *,
        now: Callable[[], datetime],
        parameters: BM25Parameters | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._path, self._now, self._listen = store, path, now, listen
        self._parameters = parameters or BM25Parameters()
        self._scorer: BM25Scorer | None = None
        self._generation = -1
        self.saved = True  # false while the index in use could not be written
        self._lock = threading.Lock()

    def rank(self, query: Query, *, pool: int) -> Ranking:
        scorer = self._current()
        try:
            return scorer.rank(query.text, pool=pool)
        except IndexFileError as exc:  # a damaged page shows itself when it is first read
            return self._mend(scorer, exc).rank(query.text, pool=pool)

    def _mend(self, damaged: BM25Scorer, exc: IndexFileError) -> BM25Scorer:
        """Build the index anew, once for all threads that met the damage."""
        with self._lock:
            if self._scorer is not None and self._scorer is not damaged:
                return self._scorer
            self._report_damage(exc)
            return self._build(self._store.generation())

    def refresh(self) -> int:
        """Bring the index up to date now, if it is not; tells how many chunks it holds."""
        return len(self._current())

    def rebuild(self) -> BM25Scorer:
        """Build the index anew, whatever there is, and save it."""
        with self._lock:
            return self._build(self._store.generation())

    def _current(self) -> BM25Scorer:
        generation = self._store.generation()
        if self._scorer is not None and generation == self._generation:
            return self._scorer
        with self._lock:
            generation = self._store.generation()  # it may have grown while we waited
            if self._scorer is None or generation != self._generation:
                return self._bring_up_to_date(generation)
            return self._scorer

    def _bring_up_to_date(self, generation: int) -> BM25Scorer:
        """The cheapest way that works; says so when that is building the index anew."""
        try:
            scorer = self._open_or_merge(generation)
        except IndexVersionError:
            self._listen(Note("Rebuilding BM25 index (made by another version)..."))
            scorer = None
        except IndexFileError as exc:
            self._report_damage(exc)
            scorer = None
        return self._build(generation) if scorer is None else self._keep(scorer, generation)

    def _open_or_merge(self, generation: int) -> BM25Scorer | None:
        """The index made of what there is of it, on disk or in memory; none when that is no use."""
        saved = self._load()
        if saved is not None and _says(saved, self._stamp(generation)):
            if not saved.has_parameters(saved.facts):
                self._save(saved, generation)
            return saved
        base = saved if self._scorer is None else self._scorer
        merged = None if base is None else self._merge(base)
        if merged is not None:
            self._save(merged, generation)
        elif base is not None:
            self._listen(Note(f"Rebuilding BM25 index ({self._difference(base)})..."))
        return merged

    def _load(self) -> BM25Scorer | None:
        scorer = self._empty_scorer()
        try:
            scorer.load_index(self._path)
        except OSError as exc:  # mostly: there is none yet
            logger.debug("no BM25 index: %s", exc)
            return None
        return scorer

    def _merge(self, base: BM25Scorer) -> BM25Scorer | None:
        """`base` with what changed since; none when it is another's, or too much changed.

        Right whatever another process writes meanwhile: each text comes with its own revision, and
        the generation was read before, so that the next look finds the index stale.
        """
        if not _says(base, self._origin()):
            return None
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

    def _build(self, generation: int) -> BM25Scorer:
        scorer = self._empty_scorer()
        total = sum(self._store.count_chunks().values())
        scorer.build_index(self._entries(self._store.iter_revised(), total))
        self._save(scorer, generation)
        return self._keep(scorer, generation)

    def _entries(self, revised: Iterable[tuple[Revision, Chunk]], total: int) -> Iterator[Entry]:
        """What to index of each chunk; tells now and then how far it is."""
        done = 0
        for done, (revision, chunk) in enumerate(revised, start=1):
            yield Entry(chunk.id, chunk_text(chunk), revision)
            if done % _PROGRESS_EVERY == 0:
                self._listen(Progress("Building BM25 index", done, total))
        if done >= _PROGRESS_EVERY:
            self._listen(Progress("Building BM25 index", done, done))

    def _keep(self, scorer: BM25Scorer, generation: int) -> BM25Scorer:
        self._scorer, self._generation = scorer, generation
        return scorer

    def _save(self, scorer: BM25Scorer, generation: int) -> None:
        facts = {**self._stamp(generation), "created_at": self._now().isoformat()}
        try:
            scorer.save_index(self._path, facts)
            self.saved = True
        except OSError as exc:
            self.saved = False
            logger.warning("cannot save %s: %s", self._path, exc)
            text = f"Cannot save the BM25 index to {self._path}: {exc}"
            self._listen(Note(f"{text}. The next search builds it again.", warning=True))

    def _stamp(self, generation: int) -> dict[str, Json]:
        """What an index must say of itself to be the index of this store, now."""
        return {**self._origin(), "generation": generation}

    def _origin(self) -> dict[str, Json]:
        """What it must say to be of this store at all, and to be made as this program would."""
        return {"store": self._store.identity, "recipe": _RECIPE}

    def _empty_scorer(self) -> BM25Scorer:
        return BM25Scorer(self._parameters.k1, self._parameters.b, idf=self._parameters.idf)

    def _difference(self, scorer: BM25Scorer) -> str:
        """What the saved index misses, in the words of FR-8.2."""
        new = sum(self._store.count_chunks().values()) - len(scorer)
        if new == 0:
            return "chunks changed"
        return f"detected {new} new chunks" if new > 0 else f"detected {-new} removed chunks"

    def _report_damage(self, exc: Exception) -> None:
        logger.error("BM25 index %s: %s", self._path, exc)
        self._listen(Note("BM25 index corrupted, rebuilding...", warning=True))
        try:
            self._path.unlink(missing_ok=True)
        except OSError as failure:  # it is replaced by the rebuild, if anything can be written
            logger.warning("cannot delete %s: %s", self._path, failure)


def _says(scorer: BM25Scorer, facts: Mapping[str, Json]) -> bool:
    return all(scorer.facts.get(name) == value for name, value in facts.items())
