"""What a keyword question found: the postings of its terms, and what they add up to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from aurora.signals.base import Answer
from aurora.signals.index_file import Array
from aurora.signals.sparse import SparseAnswer, place_of
from aurora.types import Hit


class Match(NamedTuple):
    """A term of the query that documents have: how often it is asked, where, what it weighs."""

    term: str
    asked: int
    documents: Array
    weights: Array


def add_sparse(matches: Sequence[Match]) -> dict[int, float]:
    """Place → score, added one posting at a time."""
    scores: dict[int, float] = {}
    for _, asked, documents, weights in matches:
        for place, weight in zip(documents.tolist(), weights.tolist(), strict=True):
            scores[place] = scores.get(place, 0.0) + asked * weight
    return scores


def answer_sparsely(matches: Sequence[Match], rows: Array, *, ceiling: float) -> SparseAnswer:
    # An index just built holds numpy's numbers, which no database takes for whole ones.
    scores = {int(rows[place]): score for place, score in add_sparse(matches).items()}
    return SparseAnswer(scores, ceiling=ceiling)


class KeywordAnswer:
    """An answer that can also tell which words of the question a chunk has."""

    def __init__(
        self, answer: Answer, matches: Sequence[Match], rows: Array, *, asked: int
    ) -> None:
        self._answer, self._matches, self._rows = answer, matches, rows
        self._asked = asked  # different terms in the question

    @property
    def ceiling(self) -> float:
        return self._answer.ceiling

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return self._answer.best(pool, among=among)

    def hits(self, rows: Collection[int]) -> list[Hit]:
        return self._answer.hits(rows)

    @property
    def is_empty(self) -> bool:
        """Whether no chunk has a word of the question."""
        return not self._matches

    def terms(self, row: int) -> frozenset[str]:
        """Terms of the question in one chunk."""
        place = place_of(row, self._rows)
        if place is None:
            return frozenset()
        found = (m.term for m in self._matches if place_of(place, m.documents) is not None)
        return frozenset(found)

    def coverage(self, row: int) -> float:
        """The share of the question's terms that a chunk has."""
        return len(self.terms(row)) / (self._asked or 1)
