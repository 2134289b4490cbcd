"""Okapi BM25 over code-aware tokens.

    score(Q, D) = Σ idf(q) · f(q, D) · (k1 + 1) / (f(q, D) + k1 · (1 − b + b · |D| / avgdl))

Raw scores lie in [0, ∞) and are never normalised here (seed 000, FR-2.2). The formula is seed 000
FR-1.2 and seed 002; see Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora import text
from aurora.errors import IndexFileError
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.signals.postings import Strings, build_postings
from aurora.types import Hit, Json, Ranking

_ARRAYS = (
    "term_bytes", "term_offsets", "posting_offsets", "documents", "frequencies", "weights",
    "id_bytes", "id_offsets", "lengths",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BM25Parameters:
    """`k1` saturates repetition, `b` discounts length, `idf` names the rarity formula."""

    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"


def rarity(total: int, containing: NDArray[np.int64] | int, *, variant: str) -> Array:
    """idf of terms that `containing` of `total` documents have.

    `lucene`: ln(1 + (N − n + ½) / (n + ½)), never negative. `robertson`: without the 1, so that a
    term in more than half of all documents counts against a match (seed 002, UT-BM25-08).
    """
    odds = (total - np.asarray(containing) + 0.5) / (np.asarray(containing) + 0.5)
    return np.log(odds if variant == "robertson" else 1.0 + odds)


def saturate(
    frequency: Array | float, length: Array | float, average: float, parameters: BM25Parameters
) -> Array:
    """The part of the formula behind idf: repetition counts less and less, length discounts."""
    k1, b = parameters.k1, parameters.b
    relative = np.asarray(length) / average if average else np.ones_like(length, dtype=float)
    frequency = np.asarray(frequency, dtype=float)
    return frequency * (k1 + 1.0) / (frequency + k1 * (1.0 - b + b * relative))


class BM25Scorer:
    """An index of texts that can be built, saved, opened and asked."""

    tokenize = staticmethod(text.tokenize)

    def __init__(self, k1: float = 1.5, b: float = 0.75, *, idf: str = "lucene") -> None:
        self.parameters = BM25Parameters(k1, b, idf)
        self.facts: Mapping[str, Json] = {}  # of the file it was loaded from or saved to
        self._use(MemoryArrays(self._weighted(build_postings([]))))

    def build_index(
        self,
        documents: Iterable[tuple[str, str]],
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Index (id, text) pairs in place of whatever was indexed before."""
        self._use(MemoryArrays(self._weighted(build_postings(documents, on_progress))))

    def save_index(self, path: Path, facts: Mapping[str, Json] | None = None) -> None:
        """Write the index with its parameters and the caller's own facts about it."""
        self.facts = {
            **(facts or {}),
            **asdict(self.parameters),
            "tokenizer": text.VERSION,
            "chunks": len(self),
            "average_length": self.average_length,
        }
        arrays = {name: self._arrays.read(name, 0, self._arrays.size(name)) for name in _ARRAYS}
        write_index_file(path, kind="bm25", facts=self.facts, arrays=arrays)

    def load_index(self, path: Path) -> None:
        """Open a saved index. One made with other parameters is weighed anew, in memory."""
        file = IndexFile(path, kind="bm25")
        if file.facts.get("tokenizer") != text.VERSION:
            raise IndexFileError(f"{path} was made by another tokenizer")
        self.facts = file.facts
        if self.has_parameters(file.facts):
            self._use(file)
            return
        arrays = {name: file.read(name, 0, file.size(name)) for name in _ARRAYS}
        self._use(MemoryArrays(self._weighted(arrays)))

    def has_parameters(self, facts: Mapping[str, Json]) -> bool:
        """True when an index with these facts was weighed as this scorer would."""
        return all(facts.get(name) == value for name, value in asdict(self.parameters).items())

    def _use(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._terms, self._ids = Strings(arrays, "term"), Strings(arrays, "id")
        lengths = arrays.read("lengths", 0, arrays.size("lengths"))
        self.average_length = float(lengths.mean()) if len(lengths) else 0.0

    def _weighted(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Work out every posting's share of a score once, so that a query only has to add."""
        containing, lengths = np.diff(arrays["posting_offsets"]), arrays["lengths"]
        idf = rarity(len(lengths), containing, variant=self.parameters.idf)
        average = float(lengths.mean()) if len(lengths) else 0.0
        shares = saturate(
            arrays["frequencies"], lengths[arrays["documents"]], average, self.parameters
        )
        weights = (np.repeat(idf, containing) * shares).astype(np.float32)
        return {**arrays, "weights": weights}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def idf(self) -> Mapping[str, float]:
        """Term → rarity, for every term of the corpus."""
        return _Idf(self._terms, self._rarity)

    def _rarity(self, place: int | None) -> float:
        bounds = [0, 0] if place is None else self._postings(place)
        return float(rarity(len(self), bounds[1] - bounds[0], variant=self.parameters.idf))

    def _postings(self, place: int) -> list[int]:
        bounds: list[int] = self._arrays.read("posting_offsets", place, place + 2).tolist()
        return bounds

    def score(self, query: str, document: str) -> float:
        """BM25 of any text against the statistics of the indexed ones."""
        tokens = self.tokenize(document)
        frequencies = Counter(tokens)
        return sum(
            count
            * self._rarity(self._terms.find(term))
            * float(saturate(frequencies[term], len(tokens), self.average_length, self.parameters))
            for term, count in Counter(self.tokenize(query)).items()
            if term in frequencies
        )

    def rank(self, query: str, *, pool: int) -> Ranking:
        """The best `pool` documents that share a term with the query."""
        scores = np.zeros(len(self), np.float32)
        ceiling = 0.0
        for term, count in Counter(self.tokenize(query)).items():
            place = self._terms.find(term)
            ceiling += count * max(self._rarity(place), 0.0) * (self.parameters.k1 + 1.0)
            if place is not None:
                start, stop = self._postings(place)
                documents = self._arrays.read("documents", start, stop)
                scores[documents] += np.float32(count) * self._arrays.read("weights", start, stop)
        hits = tuple(Hit(self._ids[i], float(scores[i])) for i in best(scores, pool).tolist())
        return Ranking("bm25", hits, ceiling)


def best(scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Places of the highest scores other than 0, best first, ties by place."""
    places = np.flatnonzero(scores)
    if len(places) > limit:
        values = scores[places]
        cut = np.partition(values, -limit)[-limit]  # the last score that still gets in
        above, level = places[values > cut], places[values == cut]
        places = np.concatenate([above, level[: limit - len(above)]])
    return places[np.lexsort((places, -scores[places]))]


class _Idf(Mapping[str, float]):
    """Rarities looked up in the index, one at a time."""

    def __init__(self, terms: Strings, rarity_of: Callable[[int | None], float]) -> None:
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
