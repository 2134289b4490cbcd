"""BM25 over code-aware tokens: the scorer of an index, and the signal that keeps it up to date.

Raw scores lie in [0, ∞) and are never normalised here. The first question to an index is answered
without numpy, whose import would take longer than the answer. Later questions, and very broad ones,
use numpy. Both ways return the same numbers.

An index has segments. A score follows from the statistics of all of them, so that the scores are
those of an index in one piece, to the last bit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from aurora.errors import IndexFileError
from aurora.signals.base import Entry, Question, import_dense_scores
from aurora.signals.bm25_formula import (
    BM25Parameters,
    BM25Scores,
    Match,
    TermScores,
    discount,
    rarity,
    saturate,
    sum_sparse,
)
from aurora.signals.bm25_segment import (
    ARRAYS,
    KIND,
    LAYOUT,
    KeywordSegment,
    open_bm25_file,
    require_ends,
)
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import Array, IndexFile, MemoryArrays
from aurora.signals.segments import (
    Segment,
    SegmentedFile,
    discard,
    pick_merges,
    save_segments,
    write_draft,
)
from aurora.stores.base import Revision, RevisionGroup, Store, TermCounts
from aurora.text import (
    CHUNK_TEXT_VERSION,
    EXACT,
    WORDS,
    Analysis,
    chunk_text,
    query_words,
    tokenize,
)
from aurora.types import Chunk, Json, Listener, Progress, ignore_events

if TYPE_CHECKING:
    from aurora.signals.bm25_index import Difference  # imports numpy

logger = logging.getLogger(__name__)

T = TypeVar("T")
Postings: TypeAlias = Sequence[tuple[Array, Array]]  # for each segment

_BROAD = 150_000  # postings: adding them in plain Python takes as long as importing numpy
_MANY_REMOVED = 500  # documents: so many are left out with numpy
_LARGE = 1 << 21  # postings: a segment of more is written as soon as it is made
_SMALL = 2_000  # documents: segments of so many are merged at once
_PROGRESS_EVERY = 1000  # chunks
# The share of all chunks that may have changed for an update. A build takes little longer from
# here on, and leaves fewer segments.
_UPDATE_SHARE = 0.5


class BM25Scorer:
    """Okapi BM25 of (id, text) pairs."""

    tokenize = staticmethod(tokenize)

    def __init__(
        self, k1: float = 1.5, b: float = 0.75, *, idf: str = "lucene", analysis: Analysis = EXACT
    ) -> None:
        """`analysis` turns texts and questions into terms; by default, into tokens."""
        self._analysis = analysis
        self.parameters = BM25Parameters(k1, b, idf)
        self.facts: Mapping[str, Json] = {}  # of the file it was loaded from or saved to
        self._use([], tokens=0)

    def _use(self, segments: Iterable[Segment], *, tokens: int) -> None:
        self._segments = [KeywordSegment(*segment) for segment in segments]
        self._chunks, self._tokens = sum(map(len, self._segments)), tokens
        self._was_asked = False
        self._dense: tuple[float, Any, Any] | None = None  # average, places and discounts

    # Making

    def build_index(
        self, documents: Iterable[Entry | tuple[str, str]], *, spill: Path | None = None
    ) -> None:
        """Index (id, text) pairs. Replaces the current index.

        With `spill`, where the index will be saved, large segments are drafts there.
        """
        segments = self._build(documents, spill)
        self._use(segments, tokens=_count_tokens(segments))

    def _build(
        self, documents: Iterable[Entry | tuple[str, str]], spill: Path | None
    ) -> list[Segment]:
        segments: list[Segment] = []
        try:
            for arrays in _maker().build_segments(documents, self._analysis):
                segments.append(Segment(MemoryArrays(arrays)))
                if spill and len(arrays["documents"]) > _LARGE:
                    with suppress(OSError):  # such as a full disk: it stays in memory
                        segments[-1] = Segment(write_draft(spill, kind=KIND, arrays=arrays))
                del arrays  # of several large segments, one is in memory
        except BaseException:
            discard(segments)
            raise
        return segments

    def changed_generations(self, stored: Callable[..., Mapping[int, RevisionGroup]]) -> list[int]:
        """The generations whose chunks are not the same in the index and in a store, whose
        `revision_groups` are given."""
        segments = [each.segment for each in self._segments]
        with as_index_error(segments):
            return list(_maker().find_changed(segments, stored, self.facts))

    def compare(self, generations: Collection[int], stored: Mapping[int, int]) -> Difference:
        """How the stored chunks of some generations differ from the index."""
        with as_index_error(self._segments):
            found: Difference = _maker().compare(
                [each.segment for each in self._segments], generations, stored
            )
            return found

    def count_left(self, difference: Difference) -> int:
        """How many documents are in the store as they are here."""
        pairs = zip(self._segments, difference.removed, strict=True)
        return sum(each.size - len(gone) for each, gone in pairs)

    def update_index(
        self,
        base: BM25Scorer,
        difference: Difference,
        documents: Iterable[Entry],
        *,
        spill: Path | None = None,
    ) -> None:
        """Index what is unchanged of `base`, and the given documents for those that differ.

        Segments are used as they are, but small ones are merged.
        """
        new = self._build(documents, spill)
        with as_index_error(base._segments):
            old = zip(base._segments, difference.removed, strict=True)
            segments = [Segment(each.arrays, gone) for each, gone in old if len(gone) < each.size]
            segments += new
            counts = [(arrays.size("rows"), len(gone)) for arrays, gone in segments]
            maker = _maker()
            if merged := pick_merges(counts, most=maker.MOST_DOCUMENTS, small=_SMALL):
                for part, _ in segments[merged]:
                    require_ends(part)
                arrays = maker.merge(segments[merged])
                discard(segments[merged])
                segments[merged] = [Segment(MemoryArrays(arrays))]
            self._use(segments, tokens=_count_tokens(segments))

    def without_removed(self) -> BM25Scorer | None:
        """The same index with no word of a removed document; None if this one has none."""
        segments = [each.segment for each in self._segments]
        if not any(len(removed) for _, removed in segments):
            return None
        clean = BM25Scorer(*self.parameters[:2], idf=self.parameters.idf, analysis=self._analysis)
        with as_index_error(segments):
            clean._use(
                [
                    Segment(MemoryArrays(_maker().merge([each]))) if len(each.removed) else each
                    for each in segments
                ],
                tokens=self._tokens,
            )
        return clean

    def save_index(self, path: Path, facts: Mapping[str, Json] | None = None) -> None:
        """Write the index and the caller's facts about it."""
        self.facts = {
            **(facts or {}),
            "layout": LAYOUT,
            "analysis": self._analysis.name,
            "chunks": len(self),
            "tokens": self._tokens,
        }
        segments = [each.segment for each in self._segments]
        saved = save_segments(path, kind=KIND, facts=self.facts, segments=segments, names=ARRAYS)
        self._use(saved.segments, tokens=self._tokens)

    def load_index(self, path: Path) -> None:
        """Open a saved index. It serves all parameters."""
        file = open_bm25_file(path, self._analysis)
        self.facts = file.facts
        with as_index_error(file.segments):
            self._use(file.segments, tokens=int(str(file.facts["tokens"])))
            if self._chunks != file.facts["chunks"]:
                raise IndexFileError(f"{path} has not the chunks that it names")

    # Asking

    def __len__(self) -> int:
        return self._chunks

    @property
    def _average(self) -> float:
        return self._tokens / self._chunks if self._chunks else 0.0

    @property
    def idf(self) -> dict[str, float]:
        """Term → rarity, for every term of the corpus."""
        terms = sorted({term for each in self._segments for term in each.terms()})
        counts = self._count(terms)
        return {term: self._rarity(counts[term]) for term in terms if counts[term]}

    def score(self, query: str, document: str) -> float:
        """BM25 of any text against the statistics of the indexed ones."""
        document_terms = self._analysis.words.of(document)
        length = max(len(document_terms), self._analysis.shortest)
        frequencies, score = Counter(document_terms), 0.0
        discounted = discount(length, self._average, self.parameters)
        terms = self._analysis.question(query)
        counts = self._count(terms)
        for term, weight in terms.items():
            if term in frequencies:
                share = saturate(frequencies[term], discounted, self.parameters)
                score += weight * self._rarity(counts[term]) * share
        return score

    def rank(self, query: str, *, pool: int) -> list[tuple[str, float]]:
        """Ids and scores of the best `pool` documents that share a term with the query."""
        scores = self.score_all(query)
        with as_index_error(self._segments):
            best = scores.best(pool)
            by_row = {hit.row: hit.score for hit in scores.hits(best)}
            return [(self._id(row), by_row[row]) for row in best]

    def _id(self, row: int) -> str:
        places = ((each, each.place(row)) for each in self._segments)
        return next(each.id(place) for each, place in places if place is not None)

    def count(self, query: str) -> TermCounts:
        """The statistics of the documents for the terms of a query."""
        with as_index_error(self._segments):
            counts = self._count(self._analysis.question(query))
        containing = {term: count for term, count in counts.items() if count}
        return TermCounts(len(self), self._tokens, containing)

    def _count(self, terms: Iterable[str]) -> dict[str, int]:
        """How many documents contain each term."""
        return {
            term: sum(len(each.postings(each.bounds(term))[0]) for each in self._segments)
            for term in terms
        }

    def _rarity(self, containing: int) -> float:
        return float(rarity(len(self), containing, variant=self.parameters.idf))

    def score_all(self, query: str, counts: TermCounts | None = None) -> BM25Scores:
        """Score every document that shares a term with the query.

        `counts` are the statistics of all memories that a search asks, by default its own.
        """
        terms = self._analysis.question(query)
        with as_index_error(self._segments):
            if self._was_asked:
                for segment in self._segments:
                    segment.remember()
            bounds = {term: [each.bounds(term) for each in self._segments] for term in terms}
            numpy = import_dense_scores() if self._is_broad(bounds.values()) else None
            postings = {
                term: [
                    segment.postings(each, quickly=numpy is not None)
                    for segment, each in zip(self._segments, bounds[term], strict=True)
                ]
                for term in terms
            }
            matches, ceiling = self._match(terms, postings, counts)
            average = counts.tokens / (counts.chunks or 1) if counts else self._average
            scores = self._sum(matches, ceiling, average, numpy)
        self._was_asked = True
        return BM25Scores(scores, matches, query_words(query))

    def _is_broad(self, bounds: Iterable[Iterable[tuple[int, int]]]) -> bool:
        """Whether numpy is quicker, though it has to be imported for the first question."""
        postings = sum(stop - start for each in bounds for start, stop in each)
        removed = sum(len(segment.removed) for segment in self._segments)
        return self._was_asked or postings > _BROAD or removed > _MANY_REMOVED

    def _match(
        self,
        terms: Mapping[str, float],
        postings: Mapping[str, Postings],
        counts: TermCounts | None,
    ) -> tuple[list[Match], float]:
        """The postings of the query's terms, and the highest score that they allow.

        Rare terms come first. The order depends only on the terms, so every sum is the same.
        """
        own = {term: sum(len(documents) for documents, _ in postings[term]) for term in terms}
        total, containing = (counts.chunks, counts.containing) if counts else (len(self), own)
        matches, ceiling = [], 0.0
        for term, weight in terms.items():
            idf = float(rarity(total, containing.get(term, 0), variant=self.parameters.idf))
            most = max(idf, 0.0) * (self.parameters.k1 + 1.0)
            ceiling += weight * most
            if own[term]:
                matches.append(Match(term, weight, idf, most, postings[term]))
        return sorted(matches, key=lambda match: containing.get(match.term, 0)), ceiling

    def _sum(
        self, matches: list[Match], ceiling: float, average: float, numpy: ModuleType | None
    ) -> TermScores:
        if numpy is None:
            return sum_sparse(
                matches,
                self._segments,
                average=average,
                parameters=self.parameters,
                ceiling=ceiling,
            )
        if self._dense is None or self._dense[0] != average:
            places = self._dense[1] if self._dense else numpy.segment_rows(self._segments)
            lengths = [segment.lengths for segment in self._segments]
            self._dense = average, places, numpy.all_discounts(lengths, average, self.parameters)
        _, places, discounts = self._dense
        scores: TermScores = numpy.sum_dense(
            matches, discounts, places, parameters=self.parameters, ceiling=ceiling
        )
        return scores


def _maker() -> ModuleType:
    """The module that makes an index. It needs numpy."""
    return import_module("aurora.signals.bm25_index")


def _count_tokens(segments: Iterable[Segment]) -> int:
    return sum(KeywordSegment(*segment).count_tokens() for segment in segments)


@contextmanager
def as_index_error(segments: Sequence[Segment | KeywordSegment]) -> Iterator[None]:
    """Report invalid data of an index file as `IndexFileError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError) as exc:
        files = [each.arrays for each in segments if isinstance(each.arrays, IndexFile)]
        if not files:
            raise
        raise IndexFileError(f"{files[0].path} has invalid data: {exc}") from exc


class BM25Signal(DerivedIndex[BM25Scorer]):
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

    def count(self, question: Question) -> TermCounts:
        return self._ask(lambda scorer: scorer.count(question.text))

    def score(self, question: Question, counts: TermCounts | None = None) -> BM25Scores:
        return self._ask(lambda scorer: scorer.score_all(question.text, counts))

    def _ask(self, ask: Callable[[BM25Scorer], T]) -> T:
        """Raises `IndexBehindError` where words are better found without the index."""
        scorer = self.complete()
        try:
            return ask(scorer)
        except IndexFileError as exc:  # a damaged page is detected when it is first read
            return ask(self.mend(scorer, exc))

    def refresh(self) -> int:
        """Bring the index up to date. Returns the number of chunks in it."""
        return len(self.current())

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, "recipe": CHUNK_TEXT_VERSION}

    def _open_file(self) -> SegmentedFile:
        return open_bm25_file(self._path, WORDS)

    def _load(self) -> BM25Scorer:
        scorer = self._new_scorer()
        scorer.load_index(self._path)
        return scorer

    def _merge(self, base: BM25Scorer) -> BM25Scorer | None:
        """Other processes may write meanwhile: each text comes with its own revision, and the
        generation was read before, so the next call sees that the index is outdated."""
        chunks = self._store.chunks
        generations = base.changed_generations(chunks.revision_groups)
        difference = base.compare(generations, chunks.revisions(generations))
        changed = len(difference.rows)
        total = changed + base.count_left(difference)
        if changed > _UPDATE_SHARE * total:
            return None
        logger.debug("merging %d of %d chunks into the BM25 index", changed, total)
        updated = self._new_scorer()
        entries = self._entries(chunks.iter_revised(difference.rows), changed)
        updated.update_index(base, difference, entries, spill=self._spill)
        return updated

    def _make(self) -> BM25Scorer:
        scorer = self._new_scorer()
        total = sum(self._store.chunks.count_chunks().values())
        entries = self._entries(self._store.chunks.iter_revised(), total)
        scorer.build_index(entries, spill=self._spill)
        return scorer

    def _without_removed(self, index: BM25Scorer) -> BM25Scorer | None:
        return index.without_removed()

    @property
    def _spill(self) -> Path | None:
        return None if self._store.is_read_only else self._path

    def _entries(self, revised: Iterable[tuple[Revision, Chunk]], total: int) -> Iterator[Entry]:
        """The text to index of each chunk. Reports progress."""
        done = 0
        for done, (revision, chunk) in enumerate(revised, start=1):
            yield Entry(chunk.id, chunk_text(chunk), revision)
            if done % _PROGRESS_EVERY == 0 and done < total:
                self._listen(Progress("Building BM25 index", done, total))
        if done >= _PROGRESS_EVERY:
            self._listen(Progress("Building BM25 index", done, done))

    def _new_scorer(self) -> BM25Scorer:
        k1, b, idf = self._parameters
        return BM25Scorer(k1, b, idf=idf, analysis=WORDS)

    def _difference(self, index: BM25Scorer) -> str:
        new = sum(self._store.chunks.count_chunks().values()) - len(index)
        if new == 0:
            return "chunks changed"
        return f"detected {new} new chunks" if new > 0 else f"detected {-new} removed chunks"
