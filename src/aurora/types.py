"""The values that pass between stages: what is stored, what is searched for, what is found.

All are frozen. `report_types` has those of health checks, evaluations and models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import TypeAlias

from aurora.quick_classes import NamedTuple, dataclass, field
from aurora.session_facts import SESSION, TALK, SessionFacts, read_session_facts

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

DEFAULT_LIMIT = 10
FOREIGN_ID = "aurorakb_id"  # in a chunk's metadata: the id of an imported document
VARIANT = "variant"  # in a chunk's metadata: names one of several versions of a file
SYMBOLS = "symbols"  # in a chunk's metadata: [[name, kind, first line, last line], …]
PRIVATE = "private"  # in the metadata of a document that stays with the person
REPLACES = "replaces"  # in the metadata of a document or lesson: the ids of what it replaced
REPLACED_BY = "replaced_by"  # the id of what replaced it, "" if that is forgotten; it is not found
PROVENANCE = "provenance"  # who wrote it, where, and about which files
SKETCHES = "sketches"  # of these files: `indexing.provenance` says how
LEAST_SUCCESS = 0.5  # a lesson whose mean score is lower did not work
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Chunks, the documents they come from, and their git history


class Kind(StrEnum):
    """What a chunk is. `code` is code outside functions, methods and classes."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CODE = "code"
    REASONING = "reasoning"
    KNOWLEDGE = "knowledge"

    @property
    def is_prose(self) -> bool:
        return self in _PROSE


_PROSE = (Kind.REASONING, Kind.KNOWLEDGE)


class Lines(NamedTuple):
    """First and last line of a chunk in its file, counted from 1, inclusive."""

    start: int
    end: int


class Symbol(NamedTuple):
    """A named definition inside a chunk that is not a chunk of its own, with its own lines."""

    name: str
    kind: str  # constant, variable, field, member, function, method, class, type, macro, route
    lines: Lines


class Document(NamedTuple):
    """The whole text of one source. `path` is its path in the memory."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is stored and found. Its id depends on its path and name."""

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

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The named definitions inside, in the order of the text."""
        return symbols_of(self.metadata)

    @property
    def variant(self) -> str:
        """Names the version of its file, where checkouts have several of it."""
        return str(self.metadata.get(VARIANT, ""))

    @property
    def session(self) -> SessionFacts | None:
        """The session with an agent that it comes from, if it does."""
        return read_session_facts(self.metadata)

    @property
    def is_replaced(self) -> bool:
        """True for a document or lesson that another one replaced: it is kept, and not found."""
        return self.metadata.get(REPLACED_BY) is not None

    @property
    def is_outline(self) -> bool:
        """True for code stored without the bodies of the definitions inside it."""
        if self.kind.is_prose or self.lines is None:
            return False
        text = self.content.rstrip()
        is_shorter = text.count("\n") < self.lines.end - self.lines.start
        return is_shorter and " ...\n" in f"{text}\n"

    @property
    def is_recorded(self) -> bool:
        """True for what a person or an agent told the memory: lessons and documents."""
        return is_recorded(self.kind, self.metadata.get("source"))

    @property
    def is_talk(self) -> bool:
        """True for what people and agents said in sessions and conversation logs."""
        return self.metadata.get("source") in TALK

    @property
    def telling_path(self) -> str:
        """The part of the path that describes the text: of a conversation log, the file name."""
        is_log = self.metadata.get("source") == "conversation"
        return self.path.rpartition("/")[2] if is_log else self.path


def is_recorded(kind: Kind, source: object) -> bool:
    """Whether a chunk of this kind, with this `source` in its metadata, is a lesson or document."""
    return kind is Kind.REASONING or (kind is Kind.KNOWLEDGE and source == "document")


def symbols_of(metadata: Mapping[str, Json]) -> tuple[Symbol, ...]:
    """The symbols in a chunk's metadata. Metadata of other programs may hold anything."""
    listed, symbols = metadata.get(SYMBOLS), []
    for entry in listed if isinstance(listed, list) else ():
        match entry:
            case [str(name), str(kind), int(start), int(end)]:
                symbols.append(Symbol(name, kind, Lines(start, end)))
    return tuple(symbols)


class Place(NamedTuple):
    """Where a chunk is: its file or document, and its conversation, if any.

    The turns of a conversation are numbered in order.
    """

    kind: Kind
    path: str
    home: str
    conversation: str = ""
    turn: int = 0
    qualified_name: str = ""  # of code
    is_recorded: bool = False  # a lesson or a document
    is_exchange: bool = False  # said in a session with an agent
    project: str = ""  # the folder where that session began


class Tracking(StrEnum):
    """Whether git tracks a file. Unavailable: git tracks it, but blame failed."""

    TRACKED = "tracked"
    UNTRACKED = "untracked"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ChunkHistory:
    """What `git blame -L` says of a chunk's lines.

    `commits` are the author times of the distinct commits that last touched the lines, oldest
    first, in seconds since 1970. `uncommitted` is set for lines changed in the work tree.
    `read_at` is when git was run.
    """

    tracking: Tracking = Tracking.TRACKED
    commits: tuple[int, ...] = ()
    uncommitted: bool = False
    read_at: datetime | None = None

    @property
    def last_modified(self) -> datetime | None:
        """The time of the newest commit; None while no line is committed."""
        return moment(self.commits[-1]) if self.commits else None


def moment(seconds: int) -> datetime:
    """Return the time of a commit; the nearest valid date if it is out of range."""
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        if seconds < 0:
            return datetime.min.replace(tzinfo=UTC)
        return datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A text to add to the memory.

    It is identified by its `key` if it has one, else by its file, or by its text. Without a
    `title`, the title is taken from the text; without a date, the date is today.
    """

    text: str
    title: str = ""
    path: Path | None = None
    key: str = ""
    namespace: str = ""
    document_type: str = "document"
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    created_at: datetime | None = None
    agent: str = ""  # that writes it; the person without one
    model: str = ""  # of the agent
    files: tuple[Path | str, ...] = ()  # of the project, that it is about; else those it names
    replaces: str = ""  # the id of an entry


@dataclass(frozen=True, slots=True)
class NewLesson:
    """A lesson to learn. The fields of the same name are those of `NewDocument`."""

    text: str
    pattern_type: str = "pattern"
    score: float = 1.0
    context: str = ""
    agent: str = ""
    model: str = ""
    files: tuple[Path | str, ...] = ()
    replaces: str = ""


class ForeignDocument(NamedTuple):
    """A document of another program's memory; missing fields are empty."""

    id: str
    content: str
    namespace: str = ""
    document_type: str = ""
    source: str = ""
    created_at: datetime | None = None
    metadata: Json = None


# Searches: the query, events during the work, rankings, and results


class Mode(StrEnum):
    """Search by words and meaning, by meaning, or by words."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class Rerank(StrEnum):
    """What reranks the first results."""

    NONE = "none"
    LOCAL = "local"
    LLM = "llm"


# Where chunks come from: `metadata.source`, and for code and lessons the kind.
SOURCES = ("code", "note", "document", "lesson", "conversation", SESSION)


@dataclass(frozen=True, slots=True)
class Criteria:
    """Filters. All given fields must match; within a field, any value.

    `paths` and `names` are globs. `since` and `until` are compared with the newest date of a chunk:
    its last commit, its own date, or the date of its file. A chunk without a date is before every
    `until`, which is the first moment that is too late. `sources` are some of `SOURCES`, `sessions`
    ids or beginnings of ids, `projects` the folders where sessions began, or folders above those. A
    chunk must contain all `phrases` and none of the words of `without`.
    """

    kinds: tuple[Kind, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    document_types: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()  # all must match; a list contains its items
    since: datetime | None = None
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    until: datetime | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__match_args__)


@dataclass(frozen=True, slots=True)
class Query:
    """A search request. `text` has no syntax errors: text that is not a filter is plain words."""

    text: str
    limit: int = DEFAULT_LIMIT
    mode: Mode | None = None  # None: by the settings
    fusion: str | None = None
    criteria: Criteria = Criteria()
    min_score: float | None = None
    rerank: Rerank | None = None
    expand: bool | None = None
    here: str = "."  # the folder where paths in the text start
    suggest: bool = True  # name similar names if no word of the query is known

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")
        if self.min_score is not None and isnan(self.min_score):
            raise ValueError("min_score must be a number, not nan")


class Note(NamedTuple):
    """A message during work; a warning when something could not be done."""

    text: str
    warning: bool = False


READING, EMBEDDING = "Indexing", "Embedding"  # tasks of an index run


class Progress(NamedTuple):
    """The progress of a task. `total` is 0 while unknown."""

    task: str
    done: int
    total: int

    @property
    def share(self) -> str:
        return f"{self.done:,} of {self.total:,}"

    @property
    def ready_part(self) -> str:
        """The part of a memory that can be found while an index run is here; empty if all can."""
        if self.task == READING:
            return f"{self.share} files ready" if self.total else "files are being listed"
        made = f"; {self.share} vectors made" if self.task == EMBEDDING else ""
        return f"all files ready{made}"


Event: TypeAlias = Note | Progress
Listener: TypeAlias = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """A listener that does nothing."""


class Hit(NamedTuple):
    """One line of a ranking: a chunk by its row, and the signal's raw score; higher is better.

    `rank` is 1 + the number of chunks in the whole memory with a higher score, regardless of
    filters. Equal scores have equal ranks.
    """

    row: int
    score: float
    rank: int


class Ranking(NamedTuple):
    """The scores of one signal, best first.

    `ceiling` is the highest possible score for this query. Dividing by it gives a number in [0, 1]
    that is comparable between queries; dividing by the best hit's score would not.
    """

    signal: str
    hits: tuple[Hit, ...]
    ceiling: float = 1.0


LESSON = "lesson"  # the contribution that raises a lesson to the score of its place


class Contribution(NamedTuple):
    """The part of one signal in a result's score: `value` = weight × normalised."""

    signal: str
    rank: int
    raw: float
    normalised: float
    value: float


class Fused(NamedTuple):
    """A chunk after fusion. The values of the contributions sum to the score."""

    row: int
    score: float
    contributions: tuple[Contribution, ...]
    relevance: float = 1.0  # the confidence that the memory answers the question at all

    def scaled(self, factor: float) -> Fused:
        """With a score that is so many times as high."""
        row, score, parts, relevance = self
        scaled = tuple([part._replace(value=part.value * factor) for part in parts])
        return Fused(row, score * factor, scaled, relevance)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A chunk with its score and the contributions to it."""

    chunk: Chunk
    score: float
    contributions: tuple[Contribution, ...]
    history: ChunkHistory | None = None  # None until git has read its file
    terms: tuple[str, ...] = ()  # query words in the chunk, in the order of the query
    accesses: int = 0
    last_access: datetime | None = None
    symbol: Symbol | None = None  # the definition inside the chunk that the query names
    more: int = 0  # rows of the same thing that this one stands for: pieces, overloads, copies
    relevance: float = 1.0  # the confidence that the memory answers the question at all
    has_vector: bool = True  # False where meaning took part and this chunk has no vector yet
    memory: str = ""  # the name of its memory, where a search asks several
    remarks: tuple[str, ...] = ()  # what to know of a document or lesson: `did not work`
    sessions: int = 0  # that edited the file, as far as the person's memory has them

    @property
    def name(self) -> str:
        return self.symbol.name if self.symbol else self.chunk.name

    @property
    def lines(self) -> Lines | None:
        return self.symbol.lines if self.symbol else self.chunk.lines

    @property
    def last_used(self) -> datetime | None:
        """When the chunk was last opened or committed."""
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
        """The normalised score of a signal; 0 when it took no part."""
        return next((part.normalised for part in self.contributions if part.signal == signal), 0.0)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of one query, and how they were found.

    `words` is the text of the query without its filters. `signals` are those that took part.
    `nearest` are names similar to the query when nothing relevant was found. `filtered` is true
    when a filter excluded chunks.
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
    awaits_vectors: bool = False  # by words alone, because an index run is about to make vectors
    weak: SearchResult | None = None  # the best row where none is relevant


# Recall


class Moment(StrEnum):
    """When a session is reminded of what the memory knows."""

    START = "start"  # there is no question yet
    PROMPT = "prompt"  # of a user
    EDIT = "edit"  # before a file is changed
    COMMAND = "command"  # before a command is run
    FAILURE = "failure"  # after a command failed


@dataclass(frozen=True, slots=True)
class Situation:
    """What a session is about to do, or what failed.

    `text` is the prompt, or what a failed command printed. `file` is about to be changed: a path
    from the root of the memory, or an absolute one. `command` is about to be run, or has failed.
    """

    moment: Moment = Moment.START
    text: str = ""
    file: str = ""
    command: str = ""


AT_START = Situation()
RECALL_BUDGET = 400  # tokens: half a page


@dataclass(frozen=True, slots=True)
class RecallItem:
    """One line for a session, and why it is there.

    `kind` is that of the chunk, or `lesson`, `session`, `conversation`, `failure` (of a command in
    a session, and what mended it), or the type of a document. `tokens` are those of the line.
    """

    id: str
    kind: str
    title: str
    text: str  # the beginning of the stored text, on one line
    date: datetime | None
    reason: str
    tokens: int
    memory: str = ""

    @property
    def line(self) -> str:
        """The item as an agent reads it."""
        date = f"{self.date:%Y-%m-%d}; " if self.date else ""
        about = f"{self.title}: " if self.title else ""
        return f"- {self.kind}: {about}{self.text} ({date}{self.reason}; {self.id})"


class LeftOut(NamedTuple):
    """A row that is not recalled, and why."""

    id: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recall:
    """What a session should know now, the most important first, within a budget of tokens."""

    situation: Situation
    budget: int
    items: tuple[RecallItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.items)

    @property
    def text(self) -> str:
        """All lines; empty where nothing is worth the attention."""
        return "\n".join(item.line for item in self.items)


# Derived indexes


class IndexState(StrEnum):
    """The state of a derived index file."""

    CURRENT = "current"
    BEHIND = "behind"  # older than the memory: the next search merges the changes
    OUTDATED = "outdated"  # of another memory, version or setting: the next search rebuilds it
    MISSING = "missing"
    DAMAGED = "damaged"

    @property
    def description(self) -> str:
        """The state and what follows, for people."""
        return _STATE_TEXTS[self]


_STATE_TEXTS = {
    IndexState.CURRENT: "up to date",
    IndexState.BEHIND: "behind the memory: the next search merges the changes",
    IndexState.OUTDATED: "outdated: the next search rebuilds it",
    IndexState.MISSING: "missing: the next search builds it",
    IndexState.DAMAGED: "damaged: the next search rebuilds it",
}


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """The state of an index file, and why it is not current."""

    state: IndexState
    reason: str = ""
