"""What a keyword question found: the postings of its terms, and what they add up to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from aurora.signals.base import Answer
from aurora.signals.index_file import Array
from aurora.signals.sparse import SparseAnswer, place_of
from aurora.terms import words_found
from aurora.types import Hit


class Match(NamedTuple):
    """A term of the query that documents have: what it counts there, where, what it weighs."""

    term: str
    asked: float
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
        self, answer: Answer, matches: Sequence[Match], rows: Array, *, asked: Mapping[str, str]
    ) -> None:
        """`asked`: the words of the question, and by what else each may be found."""
        self._answer, self._matches, self._rows = answer, matches, rows
        self._asked = asked

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
        """Words of the question in one chunk, as they are written or by their stems."""
        place = place_of(row, self._rows)
        if place is None:
            return frozenset()
        found = {m.term for m in self._matches if place_of(place, m.documents) is not None}
        return words_found(self._asked, found)

    def coverage(self, row: int) -> float:
        """The share of the question's words that a chunk has."""
        return len(self.terms(row)) / (len(self._asked) or 1)
