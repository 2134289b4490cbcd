"""What is stored and found: chunks, the documents they are cut from, and what git tells of them.

A document that is handed over, before it is cut.

A document of another program's memory, on its way into ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    """What a chunk is. `code` is any code that is neither function, method nor class."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CODE = "code"
    REASONING = "reasoning"
    KNOWLEDGE = "knowledge"

    @property
    def is_prose(self) -> bool:
        return self in (Kind.REASONING, Kind.KNOWLEDGE)


class Lines(NamedTuple):
    """First and last line of a chunk in its file, counted from 1, both included."""

    start: int
    end: int


class Document(NamedTuple):
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

    @property
    def telling_path(self) -> str:
        """What the path says of the text. Where somebody keeps conversation logs says nothing."""
        is_log = self.metadata.get("source") == "conversation"
        return self.path.rpartition("/")[2] if is_log else self.path


class Place(NamedTuple):
    """Where a chunk stands: in its file or document, and in a conversation, if it is part of one.

    Turns of one conversation are numbered in the order in which they were said.
    """

    kind: Kind
    path: str
    home: str
    conversation: str = ""
    turn: int = 0


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
        if seconds < 0:
            return datetime.min.replace(tzinfo=UTC)
        return datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A text and what is said of it.

    It is known by its `key`, if it has one: two of the same text are two then. Else by its file,
    or by its text. Without a `title` one is found in the text; without a date it is of today.
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


class ForeignDocument(NamedTuple):
    """As it was found: whatever was not there is empty."""

    id: str
    content: str
    namespace: str = ""
    document_type: str = ""
    source: str = ""
    created_at: datetime | None = None
    metadata: Json = None
