"""BM25 over code-aware tokens: an index that can be built, saved, opened and asked.

Raw scores lie in [0, ∞) and are never normalised here (seed 000, FR-2.2). The first question to
an index is answered without numpy, whose import would take longer than the answer; from the second
on, or for a very broad question, numpy adds the columns. Both ways give the same numbers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

from aurora import text
from aurora.errors import IndexVersionError
from aurora.signals.base import Entry
from aurora.signals.formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.types import Hit, Json, Ranking

if TYPE_CHECKING:
    from aurora.signals.merge import Difference  # it brings numpy along

_ARRAYS = (
    "term_bytes", "term_offsets", "posting_offsets", "documents", "frequencies", "weights",
    "id_bytes", "id_offsets", "lengths", "rows", "generations",
)  # fmt: skip
_NOTHING = {name: array("q", [0] if name.endswith("offsets") else []) for name in _ARRAYS}
_Column = tuple[int, Array, Array]  # how often the query has a term, its documents, its weights
_LAYOUT = 2  # grows when an index holds other arrays: those before are then rebuilt
_BROAD = 300_000  # postings whose adding in plain Python takes as long as importing numpy


class BM25Scorer:
    """Okapi BM25 of (id, text) pairs."""

    tokenize = staticmethod(text.tokenize)

    def __init__(self, k1: float = 1.5, b: float = 0.75, *, idf: str = "lucene") -> None:
        self.parameters = BM25Parameters(k1, b, idf)
        self.facts: Mapping[str, Json] = {}  # of the file it was loaded from or saved to
        self._arrays: Arrays = MemoryArrays(_NOTHING)
        self._average_length = 0.0
        self._was_asked = False

    def build_index(self, documents: Iterable[Entry | tuple[str, str]]) -> None:
        """Index (id, text) pairs in place of whatever was indexed before."""
        from aurora.signals.postings import build_postings  # noqa: PLC0415 - numpy

        self._weigh(build_postings(documents))

    def compare(self, revisions: Mapping[int, int]) -> Difference:
        """How a store with these revisions differs from what is indexed."""
        from aurora.signals.merge import compare  # noqa: PLC0415 - numpy

        return compare(_whole(self._arrays, "rows", "generations"), revisions)

    def merge_index(
        self, base: BM25Scorer, difference: Difference, documents: Iterable[Entry]
    ) -> None:
        """Index what `base` does, but for what differs: of that, the documents given."""
        from aurora.signals.merge import merge_postings  # noqa: PLC0415 - numpy
        from aurora.signals.postings import build_postings  # noqa: PLC0415 - numpy

        old = _whole(base._arrays, *(name for name in _ARRAYS if name != "weights"))
        self._weigh(merge_postings(old, build_postings(documents), kept=difference.kept))

    def _weigh(self, arrays: Mapping[str, Array]) -> None:
        from aurora.signals.postings import weigh_postings  # noqa: PLC0415 - numpy

        lengths = arrays["lengths"].tolist()
        self._average_length = sum(lengths) / len(lengths) if lengths else 0.0
        self._arrays = MemoryArrays(weigh_postings(arrays, self.parameters))

    def save_index(self, path: Path, facts: Mapping[str, Json] | None = None) -> None:
        """Write the index with its parameters and the caller's own facts about it."""
        self.facts = {
            **(facts or {}),
            **asdict(self.parameters),
            "layout": _LAYOUT,
            "tokenizer": text.VERSION,
            "chunks": len(self),
            "average_length": self._average_length,
        }
        write_index_file(path, kind="bm25", facts=self.facts, arrays=_whole(self._arrays))

    def load_index(self, path: Path) -> None:
        """Open a saved index. One made with other parameters is weighed anew, in memory."""
        file = IndexFile(path, kind="bm25")
        if file.facts.get("layout") != _LAYOUT:
            raise IndexVersionError(f"{path} was made by another Aurora")
        if file.facts.get("tokenizer") != text.VERSION:
            raise IndexVersionError(f"{path} was made by another tokenizer")
        self.facts = file.facts
        if self.has_parameters(file.facts):
            self._arrays = file
            self._average_length = float(str(file.facts["average_length"]))
        else:
            self._weigh(_whole(file))

    def has_parameters(self, facts: Mapping[str, Json]) -> bool:
        """True when an index with these facts was weighed as this scorer would."""
        return all(facts.get(name) == value for name, value in asdict(self.parameters).items())

    def __len__(self) -> int:
        return len(_Strings(self._arrays, "id"))

    @property
    def idf(self) -> Mapping[str, float]:
        """Term → rarity, for every term of the corpus."""
        return _Idf(_Strings(self._arrays, "term"), self._rarity)

    def score(self, query: str, document: str) -> float:
        """BM25 of any text against the statistics of the indexed ones."""
        terms, tokens = _Strings(self._arrays, "term"), self.tokenize(document)
        frequencies, score = Counter(tokens), 0.0
        discounted = discount(len(tokens), self._average_length, self.parameters)
        for term, count in Counter(self.tokenize(query)).items():
            if term in frequencies:
                share = saturate(frequencies[term], discounted, self.parameters)
                score += count * self._rarity(terms.find(term)) * share
        return score

    def rank(self, query: str, *, pool: int) -> Ranking:
        """The best `pool` documents that share a term with the query."""
        terms, ids = _Strings(self._arrays, "term"), _Strings(self._arrays, "id")
        columns, ceiling = [], 0.0
        for term, count in Counter(self.tokenize(query)).items():
            place = terms.find(term)
            ceiling += count * max(self._rarity(place), 0.0) * (self.parameters.k1 + 1.0)
            if place is not None:
                columns.append((count, *self._column(place)))
        hits = [Hit(ids[place], score) for place, score in self._best(columns, pool)]
        return Ranking("bm25", tuple(hits), ceiling)

    def _best(self, columns: Sequence[_Column], pool: int) -> list[tuple[int, float]]:
        broad = sum(len(documents) for _, documents, _ in columns) > _BROAD
        if not broad and not self._was_asked:
            self._was_asked = True
            return add_sparse(columns, pool)
        from aurora.signals.dense import add_dense  # noqa: PLC0415 - numpy

        return add_dense(columns, pool, total=len(self))

    def _column(self, place: int) -> tuple[Array, Array]:
        """The documents that have a term, and what the term weighs in each."""
        bounds = self._bounds(place)
        return self._arrays.read("documents", *bounds), self._arrays.read("weights", *bounds)

    def _rarity(self, place: int | None) -> float:
        start, stop = (0, 0) if place is None else self._bounds(place)
        return float(rarity(len(self), stop - start, variant=self.parameters.idf))

    def _bounds(self, place: int) -> tuple[int, int]:
        start, stop = self._arrays.read("posting_offsets", place, place + 2).tolist()
        return start, stop


def add_sparse(columns: Sequence[_Column], pool: int) -> list[tuple[int, float]]:
    """Add the columns one posting at a time; the best places and scores, ties by place."""
    scores: dict[int, float] = {}
    for count, documents, weights in columns:
        for place, weight in zip(documents.tolist(), weights.tolist(), strict=True):
            scores[place] = scores.get(place, 0.0) + count * weight
    ranked = ((-score, place) for place, score in scores.items() if score)
    return [(place, -score) for score, place in nsmallest(pool, ranked)]


def _whole(arrays: Arrays, *names: str) -> dict[str, Array]:
    return {name: arrays.read(name, 0, arrays.size(name)) for name in names or _ARRAYS}


class _Strings:
    """A list of strings kept as one array of bytes and one of offsets."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._arrays, self._name = arrays, name

    def __len__(self) -> int:
        return self._arrays.size(f"{self._name}_offsets") - 1

    def bytes_at(self, place: int) -> bytes:
        start, stop = self._arrays.read(f"{self._name}_offsets", place, place + 2).tolist()
        return self._arrays.read(f"{self._name}_bytes", start, stop).tobytes()

    def __getitem__(self, place: int) -> str:
        return self.bytes_at(place).decode()

    def find(self, value: str) -> int | None:
        """The place of a value in a sorted list."""
        wanted = value.encode()
        place = bisect_left(range(len(self)), wanted, key=self.bytes_at)
        return place if place < len(self) and self.bytes_at(place) == wanted else None


class _Idf(Mapping[str, float]):
    """Rarities looked up in the index, one at a time."""

    def __init__(self, terms: _Strings, rarity_of: Callable[[int | None], float]) -> None:
        self._terms, self._rarity_of = terms, rarity_of

    def __getitem__(self, term: str) -> float:
        place = self._terms.find(term)
        if place is None:
            raise KeyError(term)
        return self._rarity_of(place)

    def __iter__(self) -> Iterator[str]:
        return (self._terms[place] for place in range(len(self._terms)))

    def __len__(self) -> int:
        return len(self._terms)
