"""What a store promises that ranks chunks by itself, where a memory is too large to bring it here.

A store without this is read into index files beside it (`signals.bm25_signal`, `signals.vectors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from aurora.stores.base import Store
from aurora.types import Listener


class TermCounts(NamedTuple):
    """What BM25 must know of all chunks that may be found."""

    chunks: int
    tokens: int
    containing: Mapping[str, int]  # chunks that have a term; those that none has are left out


class WeighedTerm(NamedTuple):
    """A term of a question: what it weighs there, and how many chunks have it."""

    text: str
    weight: float
    chunks: int


class WordsAsked(NamedTuple):
    """A question in words, for BM25. The rarest terms come first."""

    terms: tuple[WeighedTerm, ...]
    k1: float
    b: float
    average_length: float


class Scored(NamedTuple):
    """What is known of a chunk for a question. A rank is 0 where there is nothing to rank."""

    row: int
    length: int
    frequencies: tuple[float, ...]  # of the terms, in their order
    word_rank: int
    cosine: float | None
    cosine_rank: int


class Ranked(NamedTuple):
    """The best by words and the best by meaning, each best first, and what is known of all."""

    by_words: list[int]
    by_meaning: list[int]
    scored: Mapping[int, Scored]


@runtime_checkable
class RankingStore(Store, Protocol):
    """A store whose database finds the best."""

    def count_terms(self, terms: Sequence[str]) -> TermCounts: ...

    def rank(
        self,
        words: WordsAsked | None,
        vector: Sequence[float] | None,
        *,
        pool: int,
        among: Sequence[int] | None = None,
    ) -> Ranked:
        """The best `pool` by each that is asked for, in one question to the database.

        `among` are the rows that a filter lets through; ranks are then those among them.
        """
        ...

    def score(
        self, words: WordsAsked | None, vector: Sequence[float] | None, rows: Sequence[int]
    ) -> Mapping[int, Scored]:
        """What is known of some chunks; they have no ranks."""
        ...

    def prepare_search(self) -> None:
        """Make what searches go by quick: statistics, and an index of many vectors."""
        ...

    def renew_statistics(self) -> None:
        """Have the database look at how much there is, after much has come at once."""
        ...

    def rebuild_words(self, listen: Listener = ...) -> int:
        """Make the words of all chunks anew; tells of how many."""
        ...

    def search_bytes(self) -> int:
        """How much room the words take that searches go by."""
        ...

    def total_bytes(self) -> int:
        """How much room all of the memory takes."""
        ...
