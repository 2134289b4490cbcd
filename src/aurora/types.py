"""The values that pass between stages, from a file to a line on the screen.

Everything here is frozen: a stage takes one value and returns another. Reading files, storing,
scoring and showing are left to the floors above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

DEFAULT_LIMIT = 10  # seed 000, FR-2.1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    """What a chunk is. `code` is any code that is neither function, method nor class."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CODE = "code"
    REASONING = "reasoning"
    KNOWLEDGE = "knowledge"


class Lines(NamedTuple):
    """First and last line of a chunk in its file, counted from 1, both included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One source's whole text, before it is cut. `path` is the one the memory will know it by."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is stored and found. The id stays the same while its path and name do."""

    id: str
    kind: Kind
    name: str
    content: str
    qualified_name: str = ""
    path: str = ""
    lines: Lines | None = None
    language: str = ""
    namespace: str = ""
    document_type: str = ""
    created_at: datetime | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


class Tracking(StrEnum):
    """Whether git can tell the past of a file. Unavailable: it should, but it failed."""

    TRACKED = "tracked"
    UNTRACKED = "untracked"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ChunkHistory:
    """What `git blame -L` says of a chunk's lines (seed 000, FR-5.3).

    `commits` are the author's times of the distinct commits that last touched them, oldest first,
    in seconds since 1970. Lines changed in the work tree since are not a commit: they only set
    `uncommitted`. `read_at` is when git was asked.
    """

    tracking: Tracking = Tracking.TRACKED
    commits: tuple[int, ...] = ()
    uncommitted: bool = False
    read_at: datetime | None = None

    @property
    def last_modified(self) -> datetime | None:
        """The newest of the commits' times; none while no line is committed."""
        return moment(self.commits[-1]) if self.commits else None


def moment(seconds: int) -> datetime:
    """A commit's time. A clock that was far off gives the nearest date there is."""
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked. Always plain words: nothing in `text` can be a syntax error."""

    text: str
    limit: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of a ranking, with the signal's raw score: higher is better."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one signal says of a query, best first.

    `ceiling` is the score no chunk can exceed for this query. Dividing by it gives a number in
    [0, 1] that means the same for every query; dividing by the best hit's score would not.
    """

    signal: str
    hits: tuple[Hit, ...]
    ceiling: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part one signal had in a result's score: `value` = weight × normalised."""

    signal: str
    rank: int
    raw: float
    normalised: float
    value: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk's place after fusion. The contributions' values sum to the score."""

    chunk_id: str
    score: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A chunk with its score and the reasons for it, ready to show."""

    chunk: Chunk
    score: float
    contributions: tuple[Contribution, ...]
    history: ChunkHistory | None = None  # nothing until git was asked about its file

    @property
    def chunk_id(self) -> str:
        return self.chunk.id


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The answer to one query, with the fusion used and the signals that took part."""

    query: Query
    results: tuple[SearchResult, ...]
    fusion: str
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell a person while work goes on; a warning when less than it should be."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a longer task is. `total` is 0 while unknown."""

    task: str
    done: int
    total: int


Event: TypeAlias = Note | Progress
Listener: TypeAlias = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Listen to nothing."""
