"""What is answered: each signal's ranking, what a fusion makes of them, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from aurora.types.chunk import Chunk, ChunkHistory, Json
from aurora.types.events import Note
from aurora.types.query import Mode, Query


class Hit(NamedTuple):
    """One line of a ranking: a chunk by its row, and the signal's raw score: higher is better.

    `rank` is one more than the number of chunks in the whole memory that score higher, whatever
    filter there is: chunks with the same score have the same rank.
    """

    row: int
    score: float
    rank: int


class Ranking(NamedTuple):
    """What one signal says of the candidates, best first.

    `ceiling` is the score no chunk can exceed for this query. Dividing by it gives a number in
    [0, 1] that means the same for every query; dividing by the best hit's score would not.
    """

    signal: str
    hits: tuple[Hit, ...]
    ceiling: float = 1.0


class Contribution(NamedTuple):
    """The part one signal had in a result's score: `value` = weight × normalised."""

    signal: str
    rank: int
    raw: float
    normalised: float
    value: float


class Fused(NamedTuple):
    """A chunk's place after fusion. The contributions' values sum to the score."""

    row: int
    score: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A chunk with its score and the reasons for it, ready to show."""

    chunk: Chunk
    score: float
    contributions: tuple[Contribution, ...]
    history: ChunkHistory | None = None  # nothing until git was asked about its file
    terms: tuple[str, ...] = ()  # words of the query that the chunk has, in the query's order
    accesses: int = 0  # how often it was opened
    last_access: datetime | None = None

    @property
    def last_used(self) -> datetime | None:
        """When it was last opened or committed."""
        committed = self.history.last_modified if self.history else None
        return max(filter(None, (self.last_access, committed)), default=None)

    @property
    def chunk_id(self) -> str:
        return self.chunk.id

    @property
    def content(self) -> str:
        return self.chunk.content

    @property
    def metadata(self) -> Mapping[str, Json]:
        return self.chunk.metadata

    @property
    def hybrid_score(self) -> float:
        return self.score

    @property
    def bm25_score(self) -> float:
        return self.normalised("bm25")

    @property
    def semantic_score(self) -> float:
        return self.normalised("semantic")

    @property
    def activation_score(self) -> float:
        return self.normalised("activation")

    def normalised(self, signal: str) -> float:
        """A signal's score as it went into the sum; 0 when it took no part (seed 003)."""
        return next((part.normalised for part in self.contributions if part.signal == signal), 0.0)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The answer to one query: how it was found, and what to say about it.

    `words` are what the signals were asked: the query's text without its filters. `signals` are
    those that took part. `nearest` are names like the one asked for, when nothing
    was found. `filtered`: not every chunk might be a result.
    """

    query: Query
    results: tuple[SearchResult, ...]
    fusion: str
    signals: tuple[str, ...]
    mode: Mode = Mode.HYBRID
    notes: tuple[Note, ...] = ()
    nearest: tuple[str, ...] = ()
    filtered: bool = False
    words: str = ""
