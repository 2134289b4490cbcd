"""The postings that match a question, and BM25 scores made of them. Numpy is not needed here."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from aurora.signals.base import SignalScores, SparseScores
from aurora.signals.index_file import Array
from aurora.text import words_found
from aurora.types import Hit


class Match(NamedTuple):
    """A term of the question: its weight, the documents that contain it, its weight in each."""

    term: str
    factor: float
    documents: Array
    weights: Array


class BM25Scores:
    """`KeywordScores` from an index. `words` maps each word of the question to its stem."""

    def __init__(
        self, scores: SignalScores, matches: Sequence[Match], rows: Array, words: Mapping[str, str]
    ) -> None:
        self._scores, self._matches, self._rows, self._words = scores, matches, rows, words

    @property
    def ceiling(self) -> float:
        return self._scores.ceiling

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return self._scores.best(pool, among=among)

    def hits(self, rows: Collection[int]) -> list[Hit]:
        return self._scores.hits(rows)

    @property
    def is_empty(self) -> bool:
        return not self._matches

    def terms(self, row: int) -> frozenset[str]:
        place = find_place(row, self._rows)
        if place is None:
            return frozenset()
        terms = {m.term for m in self._matches if find_place(place, m.documents) is not None}
        return words_found(self._words, terms)

    def coverage(self, row: int) -> float:
        return len(self.terms(row)) / (len(self._words) or 1)


def find_place(number: int, ascending: Array) -> int | None:
    """The position of a number in an ascending array."""
    place = bisect_left(ascending, number)
    return place if place < len(ascending) and ascending[place] == number else None


def sum_sparse(matches: Sequence[Match], rows: Array, *, ceiling: float) -> SparseScores:
    """Add the weights of all postings in plain Python: the first search may not need numpy."""
    scores: dict[int, float] = {}
    for _, factor, documents, weights in matches:
        for place, weight in zip(documents.tolist(), weights.tolist(), strict=True):
            scores[place] = scores.get(place, 0.0) + factor * weight
    # Rows of an index just built are numpy integers, which databases reject.
    by_row = {int(rows[place]): score for place, score in scores.items()}
    return SparseScores(by_row, ceiling=ceiling)
