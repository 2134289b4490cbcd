"""BM25 over code-aware tokens: an index that can be built, saved, opened and asked.

Raw scores lie in [0, ∞) and are never normalised here (seed 000, FR-2.2). The first question to
an index is answered without numpy, whose import would take longer than the answer; from the second
on, or for a very broad question, numpy adds the columns. Both ways give the same numbers.

BM25 as a signal: the scorer of `bm25`, kept in step with a store, revision by revision.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.base import Answer, Entry, Question
from aurora.signals.bm25_formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import (
    Array,
    Arrays,
    IndexFile,
    Lexicon,
    MemoryArrays,
    Rarities,
    Strings,
    write_index_file,
)
from aurora.signals.matches import KeywordAnswer, Match, answer_sparsely
from aurora.stores.base import Revision, Store
from aurora.text import EXACT, RECIPE, WORDS, Analysis, chunk_text, query_words, tokenize
from aurora.types import Chunk, Json, Listener, Progress, ignore_events

if TYPE_CHECKING:
    from aurora.signals.bm25_index import Difference  # it brings numpy along

logger = logging.getLogger(__name__)


_ARRAYS = (
    "term_bytes", "term_offsets", "posting_offsets", "documents", "frequencies", "weights",
    "id_bytes", "id_offsets", "lengths", "rows", "generations",
)  # fmt: skip
_OFFSETS = {"term_offsets": "term_bytes", "id_offsets": "id_bytes", "posting_offsets": "documents"}
_LOOKUP = ("posting_offsets", "rows")
_NOTHING = {name: array("q", [0] if name.endswith("offsets") else []) for name in _ARRAYS}
_LAYOUT = 2  # grows when an index holds other arrays: those before are then rebuilt
_BROAD = 300_000  # postings whose adding in plain Python takes as long as importing numpy


class BM25Scorer:
    """Okapi BM25 of (id, text) pairs."""

    tokenize = staticmethod(tokenize)

    def __init__(
        self, k1: float = 1.5, b: float = 0.75, *, idf: str = "lucene", analysis: Analysis = EXACT
    ) -> None:
        """`analysis`: how texts and questions become terms. By default, tokens as they are."""
        self._analysis = analysis
        self.parameters = BM25Parameters(k1, b, idf)
        self.facts: Mapping[str, Json] = {}  # of the file it was loaded from or saved to
        self._arrays: Arrays = MemoryArrays(_NOTHING)
        self._average_length = 0.0
        self._was_asked = False
        self._checked: Arrays | None = None
        self._lexicon: Lexicon | None = None

    def build_index(self, documents: Iterable[Entry | tuple[str, str]]) -> None:
        """Index (id, text) pairs in place of whatever was indexed before."""
        self._weigh(self._postings(documents))

    def _postings(self, documents: Iterable[Entry | tuple[str, str]]) -> dict[str, Array]:
        from aurora.signals.bm25_index import build_postings  # noqa: PLC0415 - numpy

        return build_postings(documents, self._analysis)

    def compare(self, revisions: Mapping[int, int]) -> Difference:
        """How a store with these revisions differs from what is indexed."""
        from aurora.signals.bm25_index import compare  # noqa: PLC0415 - numpy

        return compare(_whole(self._arrays, "rows", "generations"), revisions)

    def merge_index(
        self, base: BM25Scorer, difference: Difference, documents: Iterable[Entry]
    ) -> None:
        """Index what `base` does, but for what differs: of that, the documents given."""
        from aurora.signals.bm25_index import merge_postings  # noqa: PLC0415 - numpy

        new = self._postings(documents)
        with _doubting(base._arrays):
            _require_ends(base._arrays)
            old = _whole(base._arrays, *(name for name in _ARRAYS if name != "weights"))
            self._weigh(merge_postings(old, new, kept=difference.kept))

    def _weigh(self, arrays: Mapping[str, Array]) -> None:
        from aurora.signals.bm25_index import weigh_postings  # noqa: PLC0415 - numpy

        lengths = arrays["lengths"].tolist()
        self._average_length = sum(lengths) / len(lengths) if lengths else 0.0
        self._take(MemoryArrays(weigh_postings(arrays, self.parameters)))

    def save_index(self, path: Path, facts: Mapping[str, Json] | None = None) -> None:
        """Write the index with its parameters and the caller's own facts about it."""
        self.facts = {
            **(facts or {}),
            **self.parameters._asdict(),
            "layout": _LAYOUT,
            "analysis": self._analysis.name,
            "chunks": len(self),
            "average_length": self._average_length,
        }
        write_index_file(path, kind="bm25", facts=self.facts, arrays=_whole(self._arrays))

    def load_index(self, path: Path) -> None:
        """Open a saved index. One made with other parameters is weighed anew, in memory."""
        file = open_bm25_file(path, self._analysis)
        self.facts = file.facts
        with _doubting(file):
            if self.has_parameters(file.facts):
                self._take(file)
                self._average_length = float(str(file.facts["average_length"]))
            else:
                _require_ends(file)
                self._weigh(_whole(file))

    def has_parameters(self, facts: Mapping[str, Json]) -> bool:
        """True when an index with these facts was weighed as this scorer would."""
        return all(facts.get(name) == value for name, value in self.parameters._asdict().items())

    def __len__(self) -> int:
        return len(Strings(self._arrays, "id"))

    @property
    def idf(self) -> Mapping[str, float]:
        """Term → rarity, for every term of the corpus."""
        return Rarities(Strings(self._arrays, "term"), self._rarity)

    def score(self, query: str, document: str) -> float:
        """BM25 of any text against the statistics of the indexed ones."""
        terms, found = Strings(self._arrays, "term"), self._analysis.document(document)
        length = max(len(found), self._analysis.shortest)
        frequencies, score = Counter(found), 0.0
        discounted = discount(length, self._average_length, self.parameters)
        for term, weight in self._analysis.question(query).items():
            if term in frequencies:
                share = saturate(frequencies[term], discounted, self.parameters)
                score += weight * self._rarity(terms.find(term)) * share
        return score

    def rank(self, query: str, *, pool: int) -> list[tuple[str, float]]:
        """Ids and scores of the best `pool` documents that share a term with the query."""
        answer, ids = self.ask(query), Strings(self._arrays, "id")
        with _doubting(self._arrays):
            best = answer.best(pool)
            scores = {hit.row: hit.score for hit in answer.hits(best)}
            rows = self._arrays.read("rows", 0, len(self))
            return [(ids[bisect_left(rows, row)], scores[row]) for row in best]

    def ask(self, query: str) -> KeywordAnswer:
        """Score every document that shares a term with the query."""
        terms = self._analysis.question(query)
        with _doubting(self._arrays):
            matches, ceiling = self._match(terms)
            rows = self._lookup().read("rows", 0, len(self))
            answer = self._answer(matches, rows, ceiling)
        self._was_asked = True
        return KeywordAnswer(answer, matches, rows, asked=query_words(query))

    def _answer(self, matches: Sequence[Match], rows: Array, ceiling: float) -> Answer:
        broad = sum(len(match.documents) for match in matches) > _BROAD
        if not broad and not self._was_asked:
            return answer_sparsely(matches, rows, ceiling=ceiling)
        from aurora.signals.matches import answer_densely  # noqa: PLC0415 - numpy

        return answer_densely(matches, rows, ceiling=ceiling)

    def _match(self, terms: Mapping[str, float]) -> tuple[list[Match], float]:
        """The postings of the query's terms, rare terms first, and what they could score at most.

        That order is one of the terms alone, so sums come out the same however they are added.
        """
        self._arrays.read("rows", 0, 0)  # looks whether the file is still whole
        vocabulary, matches, ceiling = self._terms(), [], 0.0
        for term, weight in terms.items():
            place = vocabulary.find(term)
            ceiling += weight * max(self._rarity(place), 0.0) * (self.parameters.k1 + 1.0)
            if place is not None:
                matches.append(Match(term, weight, *self._column(place)))
        return sorted(matches, key=lambda match: len(match.documents)), ceiling

    def _column(self, place: int) -> tuple[Array, Array]:
        """The documents that have a term, and what the term weighs in each."""
        bounds = self._bounds(place)
        return self._arrays.read("documents", *bounds), self._arrays.read("weights", *bounds)

    def _rarity(self, place: int | None) -> float:
        start, stop = (0, 0) if place is None else self._bounds(place)
        return float(rarity(len(self), stop - start, variant=self.parameters.idf))

    def _bounds(self, place: int) -> tuple[int, int]:
        start, stop = self._lookup().read("posting_offsets", place, place + 2).tolist()
        return start, stop

    def _terms(self) -> Lexicon | Strings:
        """The vocabulary: looked up in the file for one question, held in memory for more."""
        if self._was_asked and self._lexicon is None:
            self._lexicon = Lexicon(self._arrays, "term")
        return self._lexicon or Strings(self._arrays, "term")

    def _lookup(self) -> Arrays:
        """What every question reads. From the second on, it was checked as a whole."""
        if self._was_asked and self._checked is None:
            self._checked = MemoryArrays(_whole(self._arrays, *_LOOKUP))
        return self._checked or self._arrays

    def _take(self, arrays: Arrays) -> None:
        self._arrays, self._checked, self._lexicon = arrays, None, None


def open_bm25_file(path: Path, analysis: Analysis = EXACT) -> IndexFile:
    """A saved index as it lies on disk; `IndexVersionError` when another version made it."""
    file = IndexFile(path, kind="bm25")
    if file.facts.get("layout") != _LAYOUT:
        raise IndexVersionError(f"{path} was made by another Aurora")
    if file.facts.get("analysis") != analysis.name:
        raise IndexVersionError(f"{path} was made of other terms")
    if not _fits(file):
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def _fits(file: IndexFile) -> bool:
    """Whether arrays are as long as each other say, and of whole numbers where they count."""
    sizes = {name: file.size(name) for name in _ARRAYS}
    per_document = {sizes[name] for name in ("rows", "generations", "lengths")}
    per_posting = {sizes[name] for name in ("documents", "frequencies", "weights")}
    alike = per_document == {sizes["id_offsets"] - 1} and len(per_posting) == 1
    whole = all(file.code(name) not in "fd" for name in _ARRAYS if name != "weights")
    return whole and alike and 0 < sizes["term_offsets"] == sizes["posting_offsets"]


def _require_ends(arrays: Arrays) -> None:
    """Offsets begin and end with what they are offsets of: or a lie might ask for any memory."""
    for name, target in _OFFSETS.items():
        last = arrays.size(name) - 1
        ends = (arrays.read(name, 0, 1)[0], arrays.read(name, last, last + 1)[0])
        if ends != (0, arrays.size(target)):
            raise IndexFileError(f"{name} of the index do not fit {target}")


@contextmanager
def _doubting(arrays: Arrays) -> Iterator[None]:
    """What goes wrong with the numbers of a file is the file's fault, checksums or not."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError) as exc:
        if not isinstance(arrays, IndexFile):
            raise
        raise IndexFileError(f"{arrays.path} holds what cannot be: {exc}") from exc


def _whole(arrays: Arrays, *names: str) -> dict[str, Array]:
    return {name: arrays.read(name, 0, arrays.size(name)) for name in names or _ARRAYS}


_PROGRESS_EVERY = 1000  # chunks; seed 000, FR-8.2
# Of all chunks, those that may have changed for a merge. It saves a quarter of the time at one half
# and nothing at three quarters: benchmarks/speed/bm25_merge.py.
_MERGE_SHARE = 0.5


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
        revisions = self._store.chunks.revisions()
        difference = base.compare(revisions)
        changed = len(difference.rows)
        if changed > _MERGE_SHARE * len(revisions):
            return None
        logger.debug("merging %d of %d chunks into the BM25 index", changed, len(revisions))
        merged = self._empty_scorer()
        entries = self._entries(self._store.chunks.iter_revised(difference.rows), changed)
        merged.merge_index(base, difference, entries)
        return merged

    def _make(self) -> BM25Scorer:
        scorer = self._empty_scorer()
        total = sum(self._store.chunks.count_chunks().values())
        scorer.build_index(self._entries(self._store.chunks.iter_revised(), total))
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
        new = sum(self._store.chunks.count_chunks().values()) - len(index)
        if new == 0:
            return "chunks changed"
        return f"detected {new} new chunks" if new > 0 else f"detected {-new} removed chunks"
