"""Chunks, the documents they come from, and their git history."""

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
    """What a chunk is. `code` is code outside functions, methods and classes."""

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
    """First and last line of a chunk in its file, counted from 1, inclusive."""

    start: int
    end: int


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
    def telling_path(self) -> str:
        """The part of the path that describes the text: of a conversation log, the file name."""
        is_log = self.metadata.get("source") == "conversation"
        return self.path.rpartition("/")[2] if is_log else self.path


class Place(NamedTuple):
    """Where a chunk is: its file or document, and its conversation, if any.

    The turns of a conversation are numbered in order.
    """

    kind: Kind
    path: str
    home: str
    conversation: str = ""
    turn: int = 0


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


class ForeignDocument(NamedTuple):
    """A document of another program's memory; missing fields are empty."""

    id: str
    content: str
    namespace: str = ""
    document_type: str = ""
    source: str = ""
    created_at: datetime | None = None
    metadata: Json = None
