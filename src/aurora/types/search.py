"""What is asked: the words, how to search, and which chunks may be results.

What is told while work goes on, and who listens.

What is answered: each signal's ranking, what a fusion makes of them, and the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from math import isnan
from typing import NamedTuple, TypeAlias

from aurora.types.chunk import Chunk, ChunkHistory, Json, Kind

DEFAULT_LIMIT = 10  # seed 000, FR-2.1


class Mode(StrEnum):
    """By what a search finds: by words, by meaning, or by everything there is (seed 002)."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class Rerank(StrEnum):
    """Whether the first results get a second look, and whose."""

    NONE = "none"
    LOCAL = "local"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which chunks may be results. All that is given must hold; within a field, any of it.

    `paths` and `names` are globs. `since` is compared with the newest a chunk is known to be: its
    last commit, its own date, or when its file was written. `phrases` must stand in the chunk,
    all of them, and none of the words of `without`.
    """

    kinds: tuple[Kind, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    document_types: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()  # all of them; a list holds its items
    since: datetime | None = None
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked. Nothing in `text` can be a syntax error: what is no filter is plain words."""

    text: str
    limit: int = DEFAULT_LIMIT
    mode: Mode | None = None  # as the settings say
    fusion: str | None = None
    criteria: Criteria = Criteria()
    min_score: float | None = None
    rerank: Rerank | None = None  # as the settings say
    expand: bool | None = None  # likewise

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")
        if self.min_score is not None and isnan(self.min_score):
            raise ValueError("min_score must be a number, not nan")


class Note(NamedTuple):
    """Something to tell a person while work goes on; a warning when less than it should be."""

    text: str
    warning: bool = False


class Progress(NamedTuple):
    """How far a longer task is. `total` is 0 while unknown."""

    task: str
    done: int
    total: int


Event: TypeAlias = Note | Progress
Listener: TypeAlias = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Listen to nothing."""


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
