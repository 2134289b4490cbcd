"""BM25 over code-aware tokens: the scorer of an index, and the signal that keeps it up to date.

Raw scores lie in [0, ∞) and are never normalised here. The first question to an index is answered
without numpy, whose import would take longer than the answer. Later questions, and very broad ones,
use numpy. Both ways return the same numbers.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.base import Entry, Question, RankedScores, import_dense_scores
from aurora.signals.bm25_formula import (
    BM25Parameters,
    BM25Scores,
    Match,
    discount,
    rarity,
    saturate,
    sum_sparse,
)
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import (
    Array,
    Arrays,
    IndexFile,
    Lexicon,
    MemoryArrays,
    Strings,
    write_index_file,
)
from aurora.stores.base import Revision, Store, TermCounts
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
    from aurora.signals.bm25_index import Difference, Postings  # imports numpy

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ARRAYS = (
    "term_bytes", "term_offsets", "posting_offsets", "documents", "frequencies", "weights",
    "id_bytes", "id_offsets", "lengths", "rows", "generations",
)  # fmt: skip
_OFFSETS = {"term_offsets": "term_bytes", "id_offsets": "id_bytes", "posting_offsets": "documents"}
_EMPTY = {name: array("q", [0] if name.endswith("offsets") else []) for name in _ARRAYS}
_LAYOUT = 2  # raise it when arrays or the formula change: older files are then rebuilt
_BROAD = 300_000  # postings: adding them in plain Python takes as long as importing numpy
_PROGRESS_EVERY = 1000  # chunks
# The share of all chunks that may have changed for a merge. A merge saves a quarter of the time at
# one half and nothing at three quarters: benchmarks/speed/bm25_merge.py.
_MERGE_SHARE = 0.5


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
        self._average_length = 0.0
        self._was_asked = False
        self._use(MemoryArrays(_EMPTY))

    def _use(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._cached: tuple[Lexicon, Arrays] | None = None

    @property
    def _postings(self) -> Postings:
        from aurora.signals.bm25_index import Postings  # noqa: PLC0415 - numpy

        return Postings(self._analysis, self.parameters)

    def build_index(self, documents: Iterable[Entry | tuple[str, str]]) -> None:
        """Index (id, text) pairs. Replaces the current index."""
        self._weigh(self._postings.build(documents))

    def compare(self, revisions: Mapping[int, int]) -> Difference:
        """How a store with these revisions differs from the index."""
        return self._postings.compare(_read(self._arrays, "rows", "generations"), revisions)

    def merge_index(
        self, base: BM25Scorer, difference: Difference, documents: Iterable[Entry]
    ) -> None:
        """Index the unchanged documents of `base` and the given ones for those that differ."""
        new = self._postings.build(documents)
        with as_index_error(base._arrays):
            _require_ends(base._arrays)
            old = _read(base._arrays, *(name for name in _ARRAYS if name != "weights"))
            self._weigh(self._postings.merge(old, new, kept=difference.kept))

    def _weigh(self, arrays: Mapping[str, Array]) -> None:
        lengths = arrays["lengths"].tolist()
        self._average_length = sum(lengths) / len(lengths) if lengths else 0.0
        self._use(MemoryArrays(self._postings.weigh(arrays)))

    def save_index(self, path: Path, facts: Mapping[str, Json] | None = None) -> None:
        """Write the index with its parameters and the caller's facts about it."""
        self.facts = {
            **(facts or {}),
            **self.parameters._asdict(),
            "layout": _LAYOUT,
            "analysis": self._analysis.name,
            "chunks": len(self),
            "average_length": self._average_length,
        }
        write_index_file(path, kind="bm25", facts=self.facts, arrays=_read(self._arrays, *_ARRAYS))

    def load_index(self, path: Path) -> None:
        """Open a saved index. With other parameters, the weights are computed again in memory."""
        file = open_bm25_file(path, self._analysis)
        self.facts = file.facts
        with as_index_error(file):
            if self.has_parameters(file.facts):
                self._use(file)
                self._average_length = float(str(file.facts["average_length"]))
            else:
                _require_ends(file)
                self._weigh(_read(file, *_ARRAYS))

    def has_parameters(self, facts: Mapping[str, Json]) -> bool:
        """True when an index with these facts has the parameters of this scorer."""
        return all(facts.get(name) == value for name, value in self.parameters._asdict().items())

    def __len__(self) -> int:
        return len(Strings(self._arrays, "id"))

    @property
    def idf(self) -> dict[str, float]:
        """Term → rarity, for every term of the corpus."""
        terms = Strings(self._arrays, "term")
        return {terms[place]: self._rarity(place) for place in range(len(terms))}

    def score(self, query: str, document: str) -> float:
        """BM25 of any text against the statistics of the indexed ones."""
        terms, document_terms = Strings(self._arrays, "term"), self._analysis.document(document)
        length = max(len(document_terms), self._analysis.shortest)
        frequencies, score = Counter(document_terms), 0.0
        discounted = discount(length, self._average_length, self.parameters)
        for term, weight in self._analysis.question(query).items():
            if term in frequencies:
                share = saturate(frequencies[term], discounted, self.parameters)
                score += weight * self._rarity(terms.find(term)) * share
        return score

    def rank(self, query: str, *, pool: int) -> list[tuple[str, float]]:
        """Ids and scores of the best `pool` documents that share a term with the query."""
        scores, ids = self.score_all(query), Strings(self._arrays, "id")
        with as_index_error(self._arrays):
            best = scores.best(pool)
            by_row = {hit.row: hit.score for hit in scores.hits(best)}
            rows = self._arrays.read("rows", 0, len(self))
            return [(ids[bisect_left(rows, row)], by_row[row]) for row in best]

    def count(self, query: str) -> TermCounts:
        """The statistics of the documents for the terms of a query."""
        with as_index_error(self._arrays):
            found = self._find(self._analysis.question(query))
            containing = {term: stop - start for term, (start, stop) in found.items()}
        return TermCounts(len(self), round(self._average_length * len(self)), containing)

    def score_all(self, query: str, counts: TermCounts | None = None) -> BM25Scores:
        """Score every document that shares a term with the query.

        `counts` are the statistics of all memories that a search asks, by default its own.
        """
        terms = self._analysis.question(query)
        if counts is not None and counts.chunks == len(self):
            counts = None  # the others are empty
        with as_index_error(self._arrays):
            matches, ceiling = self._match(terms, counts)
            rows = self._lookup()[1].read("rows", 0, len(self))
            scores = self._sum(matches, rows, ceiling)
        self._was_asked = True
        return BM25Scores(scores, matches, rows, query_words(query))

    def _sum(self, matches: list[Match], rows: Array, ceiling: float) -> RankedScores:
        few = not self._was_asked and sum(len(match.documents) for match in matches) <= _BROAD
        numpy = None if few else import_dense_scores()
        if numpy is None:
            return sum_sparse(matches, rows, ceiling=ceiling)
        scores: RankedScores = numpy.sum_dense(matches, rows, ceiling=ceiling)
        return scores

    def _match(
        self, terms: Mapping[str, float], counts: TermCounts | None
    ) -> tuple[list[Match], float]:
        """The postings of the query's terms, and the highest score that they allow.

        Rare terms come first. The order depends only on the terms, so every sum is the same.
        """
        self._arrays.read("rows", 0, 0)  # checks that the file was not truncated
        found = self._find(terms)
        containing = counts.containing if counts else {t: b - a for t, (a, b) in found.items()}
        total, matches, ceiling = counts.chunks if counts else len(self), [], 0.0
        for term, weight in terms.items():
            idf = float(rarity(total, containing.get(term, 0), variant=self.parameters.idf))
            most = max(idf, 0.0) * (self.parameters.k1 + 1.0)
            ceiling += weight * most
            if term in found:
                documents = self._arrays.read("documents", *found[term])
                weights = self._weights(found[term], documents, idf, counts)
                matches.append(Match(term, weight, documents, weights, most))
        return sorted(matches, key=lambda match: containing.get(match.term, 0)), ceiling

    def _find(self, terms: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Where the postings of each known term are."""
        vocabulary = self._lookup()[0]
        places = ((term, vocabulary.find(term)) for term in terms)
        return {term: self._bounds(place) for term, place in places if place is not None}

    def _weights(
        self, bounds: tuple[int, int], documents: Array, idf: float, counts: TermCounts | None
    ) -> Array:
        """The weights of a term's postings: the stored ones, or those by other statistics."""
        if counts is None:
            return self._arrays.read("weights", *bounds)
        lengths = self._lookup()[1].read("lengths", 0, len(self))
        frequencies = self._arrays.read("frequencies", *bounds)
        average = counts.tokens / counts.chunks
        return self._postings.weigh_some(idf, frequencies, documents, lengths, average)

    def _rarity(self, place: int | None) -> float:
        start, stop = (0, 0) if place is None else self._bounds(place)
        return float(rarity(len(self), stop - start, variant=self.parameters.idf))

    def _bounds(self, place: int) -> tuple[int, int]:
        start, stop = self._lookup()[1].read("posting_offsets", place, place + 2).tolist()
        return start, stop

    def _lookup(self) -> tuple[Lexicon | Strings, Arrays]:
        """The vocabulary and the arrays that every question reads: for the first question, in the
        file; from the second on, in memory."""
        if not self._was_asked:
            return Strings(self._arrays, "term"), self._arrays
        if self._cached is None:
            arrays = MemoryArrays(_read(self._arrays, "posting_offsets", "rows", "lengths"))
            self._cached = (Lexicon(self._arrays, "term"), arrays)
        return self._cached


def open_bm25_file(path: Path, analysis: Analysis = EXACT) -> IndexFile:
    """A saved index; raises `IndexVersionError` when another version made it."""
    file = IndexFile(path, kind="bm25")
    if file.facts.get("layout") != _LAYOUT:
        raise IndexVersionError(f"{path} was made by another version of Aurora")
    if file.facts.get("analysis") != analysis.name:
        raise IndexVersionError(f"{path} was made of other terms")
    if not _fits(file):
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def _fits(file: IndexFile) -> bool:
    """True when the lengths of the arrays agree, and all but the weights are whole numbers."""
    sizes = {name: file.size(name) for name in _ARRAYS}
    per_document = {sizes[name] for name in ("rows", "generations", "lengths")}
    per_posting = {sizes[name] for name in ("documents", "frequencies", "weights")}
    agree = per_document == {sizes["id_offsets"] - 1} and len(per_posting) == 1
    whole = all(file.code(name) not in "fd" for name in _ARRAYS if name != "weights")
    return whole and agree and 0 < sizes["term_offsets"] == sizes["posting_offsets"]


def _require_ends(arrays: Arrays) -> None:
    """Check that offsets span their arrays: wrong offsets could allocate any amount of memory."""
    for name, target in _OFFSETS.items():
        last = arrays.size(name) - 1
        ends = (arrays.read(name, 0, 1)[0], arrays.read(name, last, last + 1)[0])
        if ends != (0, arrays.size(target)):
            raise IndexFileError(f"{name} of the index do not fit {target}")


@contextmanager
def as_index_error(arrays: Arrays) -> Iterator[None]:
    """Report invalid data of an index file as `IndexFileError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError) as exc:
        if not isinstance(arrays, IndexFile):
            raise
        raise IndexFileError(f"{arrays.path} has invalid data: {exc}") from exc


def _read(arrays: Arrays, *names: str) -> dict[str, Array]:
    return {name: arrays.read(name, 0, arrays.size(name)) for name in names}


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

    def _open_file(self) -> IndexFile:
        return open_bm25_file(self._path, WORDS)

    def _load(self) -> BM25Scorer:
        scorer = self._new_scorer()
        scorer.load_index(self._path)
        return scorer

    def _has_settings(self, facts: Mapping[str, Json]) -> bool:
        return self._new_scorer().has_parameters(facts)

    def _merge(self, base: BM25Scorer) -> BM25Scorer | None:
        """Other processes may write meanwhile: each text comes with its own revision, and the
        generation was read before, so the next call sees that the index is outdated."""
        revisions = self._store.chunks.revisions()
        difference = base.compare(revisions)
        changed = len(difference.rows)
        if changed > _MERGE_SHARE * len(revisions):
            return None
        logger.debug("merging %d of %d chunks into the BM25 index", changed, len(revisions))
        merged = self._new_scorer()
        entries = self._entries(self._store.chunks.iter_revised(difference.rows), changed)
        merged.merge_index(base, difference, entries)
        return merged

    def _make(self) -> BM25Scorer:
        scorer = self._new_scorer()
        total = sum(self._store.chunks.count_chunks().values())
        scorer.build_index(self._entries(self._store.chunks.iter_revised(), total))
        return scorer

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
