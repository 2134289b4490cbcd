"""What a signal is: one reason to prefer chunks, asked one question. And what it is an index of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable

from aurora.stores.base import Revision
from aurora.types import Hit, Ranking


class Entry(NamedTuple):
    """A text to index. An index can be merged only when all of its entries have revisions."""

    id: str
    text: str
    revision: Revision = Revision(0, 0)


class Question(NamedTuple):
    """What the signals are asked: plain words, and when."""

    text: str
    now: datetime


class Answer(Protocol):
    """What one signal makes of one question: a score for every chunk that it has something on.

    The score of a chunk depends on the question and the memory alone: neither on how many are
    wanted nor on which chunks a filter lets through.
    """

    @property
    def ceiling(self) -> float:
        """The score no chunk can exceed."""
        ...

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        """Rows of the best chunks, best first, ties by row; of `among` (ascending) if given."""
        ...

    def hits(self, rows: Collection[int]) -> list[Hit]:
        """The scores of those of the rows that have one, in any order."""
        ...


@runtime_checkable
class WordedAnswer(Answer, Protocol):
    """An answer that can also tell which words of the question a chunk has."""

    @property
    def is_empty(self) -> bool:
        """Whether no chunk has a word of the question."""
        ...

    def terms(self, row: int) -> frozenset[str]:
        """Terms of the question in one chunk."""
        ...

    def coverage(self, row: int) -> float:
        """The share of the question's terms that a chunk has."""
        ...


class Signal(Protocol):
    """Knows the chunks of a memory. Nothing is loaded before it is first asked."""

    @property
    def name(self) -> str: ...

    def ask(self, question: Question) -> Answer: ...


def ranking_of(name: str, answer: Answer, rows: Collection[int]) -> Ranking:
    """What a signal says of some chunks, best first."""
    hits = sorted(answer.hits(rows), key=lambda hit: (-hit.score, hit.row))
    return Ranking(name, tuple(hits), answer.ceiling)
