"""The formula of Okapi BM25, for single numbers and for arrays alike, and the scores it gives.

    score(Q, D) = Σ idf(q) · f(q, D) · (k1 + 1) / (f(q, D) + k1 · (1 − b + b · |D| / avgdl))

See Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009); seeds 000 and 002.
A changed formula needs another change in `stores/postgres/ranking_sql.py`, which orders candidates
by the same formula in SQL.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import compress
from typing import Any, Protocol, TypeAlias

from aurora.quick_classes import NamedTuple
from aurora.signals.base import RankedScores, SparseScores
from aurora.signals.index_file import Array
from aurora.stores.base import TermCounts
from aurora.text import words_found
from aurora.types import Hit

COUNTED = 1_000  # best chunks: those behind them have one rank, the one after

Number: TypeAlias = Any  # a float, or an array of them: the arithmetic is the same


class BM25Parameters(NamedTuple):
    """`k1` saturates repetition, `b` discounts length, `idf` names the rarity formula."""

    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"


def rarity(
    total: int, containing: Number, *, variant: str, log: Callable[[Number], Number] = math.log
) -> Number:
    """idf of terms that `containing` of `total` documents contain.

    `lucene`: ln(1 + (N − n + ½) / (n + ½)), never negative. `robertson`: without the 1, so that a
    term in more than half of all documents counts against a match (seed 002).
    """
    odds = (total - containing + 0.5) / (containing + 0.5)
    return log(odds if variant == "robertson" else odds + 1.0)


def discount(length: Number, average: float, parameters: BM25Parameters) -> Number:
    """The length term of the denominator: the longer a document, the less a repetition counts."""
    relative = length / (average or 1.0)
    return parameters.k1 * (1.0 - parameters.b + parameters.b * relative)


def saturate(frequency: Number, discount: Number, parameters: BM25Parameters) -> Number:
    """The factor after idf: repetition counts less and less, length discounts."""
    return frequency * (parameters.k1 + 1.0) / (frequency + discount)


class WeighedQuery(NamedTuple):
    """The weight of each term of a question: its share of the question times its rarity."""

    weights: Mapping[str, float]
    ceiling: float  # no document scores more
    known: float  # share of the ceiling that is of terms in any document


def weigh_terms(
    shares: Mapping[str, float], counts: TermCounts, parameters: BM25Parameters
) -> WeighedQuery:
    """Weigh the terms of a question by the statistics of a memory, or of several."""
    weights = {
        term: share
        * float(rarity(counts.chunks, counts.containing.get(term, 0), variant=parameters.idf))
        for term, share in shares.items()
    }
    most = {term: max(weight, 0.0) * (parameters.k1 + 1.0) for term, weight in weights.items()}
    ceiling = sum(most.values())
    present = sum(most[term] for term in most if counts.containing.get(term))
    return WeighedQuery(weights, ceiling, present / ceiling if present else 0.0)


class Match(NamedTuple):
    """A term of the question: its weight, its rarity, and where it occurs.

    `most` is the highest possible weight in a document. `postings` are, for each segment, the
    places of the documents that contain it and how often.
    """

    term: str
    factor: float
    idf: float
    most: float
    postings: Sequence[tuple[Array, Array]]

    def __len__(self) -> int:
        return sum(len(documents) for documents, _ in self.postings)


class SegmentRows(Protocol):
    """The documents of a segment: their rows, ascending, and lengths by place, and the ascending
    places of removed ones."""

    @property
    def rows(self) -> Array: ...

    @property
    def lengths(self) -> Array: ...

    @property
    def removed(self) -> Array: ...

    def place(self, row: int) -> int | None:
        """The place of a row; None for a removed one."""


class TermScores(RankedScores, Protocol):
    """Scores that also know which terms of the question a document contains."""

    def find_terms(self, rows: Set[int]) -> Mapping[int, Sequence[int]]:
        """For each row in the index, a number for each term: 1 where its document contains it."""


class BM25Scores:
    """`KeywordScores` from an index. `words` maps each word of the question to its stem."""

    def __init__(
        self, scores: TermScores, matches: Sequence[Match], words: Mapping[str, str]
    ) -> None:
        self._scores, self._matches, self._words = scores, matches, words
        self._scored: Collection[int] = ()  # rows whose terms are looked up together
        self._terms: dict[int, Sequence[int]] = {}

    @property
    def ceiling(self) -> float:
        return self._scores.ceiling

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return self._scores.best(pool, among=among)

    def hits(self, rows: Collection[int]) -> list[Hit]:
        self._scored = rows
        return self._scores.hits(rows)

    def above(self, scores: Sequence[float]) -> list[int]:
        return self._scores.above(scores)

    @property
    def is_empty(self) -> bool:
        return not self._matches

    @property
    def known(self) -> float:
        return self._share(self._matches)

    def terms(self, row: int) -> frozenset[str]:
        return words_found(self._words, {match.term for match in self._found(row)})

    def has(self, row: int, term: str) -> bool:
        return any(match.term == term for match in self._found(row))

    def coverage(self, row: int) -> float:
        return self._share(self._found(row))

    def _share(self, matches: Iterable[Match]) -> float:
        present = sum([match.factor * match.most for match in matches])
        return present / self.ceiling if present > 0.0 else 0.0

    def _found(self, row: int) -> Iterable[Match]:
        """The terms that a document contains."""
        if row not in self._terms:
            rows = {row, *self._scored}
            self._terms.update(dict.fromkeys(rows, ()))
            self._terms.update(self._scores.find_terms(rows))
        return compress(self._matches, self._terms[row])


def find_place(number: int, ascending: Array) -> int | None:
    """The position of a number in an ascending array."""
    place = bisect_left(ascending, number)
    return place if place < len(ascending) and ascending[place] == number else None


class SparseTermScores(SparseScores):
    """`TermScores` in a dict."""

    def __init__(
        self,
        scores: Mapping[int, float],
        matches: Sequence[Match],
        segments: Sequence[SegmentRows],
        *,
        ceiling: float,
        counted: int,
    ) -> None:
        super().__init__(scores, ceiling=ceiling, counted=counted)
        self._matches, self._segments = matches, segments

    def find_terms(self, rows: Set[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, segment in enumerate(self._segments):
            documents = [match.postings[number][0] for match in self._matches]
            for row in rows - found.keys():
                place = segment.place(row)
                if place is not None:
                    found[row] = [find_place(place, each) is not None for each in documents]
        return found


def sum_sparse(
    matches: Sequence[Match],
    segments: Sequence[SegmentRows],
    *,
    average: float,
    parameters: BM25Parameters,
    ceiling: float,
    counted: int = COUNTED,
) -> SparseTermScores:
    """Add the weights of all postings in plain Python: the first search may not need numpy."""
    by_row: dict[int, float] = {}
    discounts: dict[int, float] = {}  # by length
    for number, segment in enumerate(segments):
        lengths, rows, scores = segment.lengths, segment.rows, dict[int, float]()
        for _, factor, idf, _, postings in matches:
            documents, frequencies = postings[number]
            pairs = zip(documents.tolist(), frequencies.tolist(), strict=True)
            for place, frequency in pairs:
                length = int(lengths[place])
                if length not in discounts:
                    discounts[length] = discount(length, average, parameters)
                weight = idf * saturate(frequency, discounts[length], parameters)
                scores[place] = scores.get(place, 0.0) + factor * weight
        # Rows of an index just built are numpy integers, which databases reject.
        by_row.update((int(rows[place]), score) for place, score in scores.items())
    return SparseTermScores(by_row, matches, segments, ceiling=ceiling, counted=counted)
