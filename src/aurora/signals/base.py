"""Signals: reasons to prefer chunks. Each one scores the chunks of a memory for a question."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from importlib import import_module
from operator import itemgetter
from types import ModuleType
from typing import Protocol, TypeGuard

from aurora.quick_classes import NamedTuple
from aurora.stores.base import Revision
from aurora.types import Hit, Ranking


class Entry(NamedTuple):
    """A text to index. An index can be merged only when all of its entries have revisions."""

    id: str
    text: str
    revision: Revision = Revision(0, 0)


class Question(NamedTuple):
    """The plain words of a query, and the time of the search."""

    text: str
    now: datetime


class SignalScores(Protocol):
    """The scores that one signal gives for one question. Chunks without a match have none.

    A score depends only on the question and the memory: neither on the limit nor on a filter.
    """

    @property
    def ceiling(self) -> float:
        """The score no chunk can exceed."""

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        """Rows of the best chunks, best first, ties by row; of `among` (ascending) if given."""

    def hits(self, rows: Collection[int]) -> list[Hit]:
        """The scores of those of the rows that have one, in any order."""


class RankedScores(SignalScores, Protocol):
    """Scores that can be ranked among those of other memories."""

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score, as far as that is known."""


class KeywordScores(SignalScores, Protocol):
    """Scores that also know which words of the question a chunk contains."""

    @property
    def is_empty(self) -> bool:
        """True when no chunk contains a word of the question."""

    @property
    def known(self) -> float:
        """The share of the question's words that any chunk contains. Rare words count more."""

    def terms(self, row: int) -> frozenset[str]:
        """Words of the question that a chunk contains, as written or by their stems."""

    def has(self, row: int, term: str) -> bool:
        """Whether a chunk contains a token of the question, as written."""

    def coverage(self, row: int) -> float:
        """The share of the question's words that a chunk contains. Rare words count more."""


def counts_words(scores: SignalScores | None) -> TypeGuard[KeywordScores]:
    """Whether these are `KeywordScores`. `isinstance` of a protocol reads every property."""
    return hasattr(scores, "coverage")


class RankedKeywordScores(KeywordScores, RankedScores, Protocol):
    """Both of them."""


class Signal(Protocol):
    """Scores the chunks of a memory. Loads its data on the first call of `score`."""

    @property
    def name(self) -> str: ...

    def score(self, question: Question) -> SignalScores: ...


class SparseScores:
    """`SignalScores` held in a dict. A score of 0 counts as none."""

    def __init__(
        self, scores: Mapping[int, float], *, ceiling: float = 1.0, counted: int = sys.maxsize
    ) -> None:
        """Chunks behind the best `counted` all have the rank after these."""
        self.ceiling, self._counted = ceiling, counted
        self._scores = {row: score for row, score in scores.items() if score}
        self._sorted: list[float] | None = None

    @property
    def is_empty(self) -> bool:
        return not self._scores

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        allowed = self._scores.keys() if among is None else self._scores.keys() & set(among)
        return nsmallest(pool, allowed, key=lambda row: (-self._scores[row], row))

    def hits(self, rows: Collection[int]) -> list[Hit]:
        found = [row for row in rows if row in self._scores]
        scores = [self._scores[row] for row in found]
        ranked = zip(found, scores, self.above(scores), strict=True)
        return [Hit(row, score, 1 + above) for row, score, above in ranked]

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score, at most `counted`."""
        if self._sorted is None:
            self._sorted = sorted(self._scores.values())
        ascending, total = self._sorted, len(self._sorted)
        counts = (total - bisect_right(ascending, score) for score in scores)
        return [min(count, self._counted) for count in counts]


def import_dense_scores() -> ModuleType | None:
    """The module `dense_scores`; None without numpy."""
    return import_if_numpy("dense_scores")


def import_if_numpy(name: str) -> ModuleType | None:
    """A module of this package that needs numpy; None without numpy."""
    try:
        return import_module(f"aurora.signals.{name}")
    except ImportError:
        return None


def rank_rows(name: str, scores: SignalScores, rows: Collection[int]) -> Ranking:
    """One signal's ranking of some chunks, best first."""
    hits = sorted(scores.hits(rows))  # by row
    hits.sort(key=itemgetter(1), reverse=True)  # by score: equal ones stay in order
    return Ranking(name, tuple(hits), scores.ceiling)
