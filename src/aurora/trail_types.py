"""What sessions and commits tell of code, commands and errors."""

from __future__ import annotations

from datetime import datetime

from aurora.quick_classes import dataclass
from aurora.types import Lines, Note


@dataclass(frozen=True, slots=True)
class WhyEntry:
    """A commit, session, decision, lesson or document about some lines, and why it is listed."""

    kind: str  # commit, session, decision, lesson, or the type of a document
    time: datetime | None
    title: str  # the subject of a commit; what a session was asked
    reason: str
    id: str  # of the commit, or of a chunk for `aur mem get`
    text: str = ""  # of a decision, lesson or document
    who: str = ""  # the author, or the agent
    branch: str = ""  # of a session
    session: str = ""
    commit: str = ""  # that a session led to


@dataclass(frozen=True, slots=True)
class Why:
    """What led to the lines of a file, newest first. `lines` is None for the whole file."""

    file: str  # from the root of the memory
    lines: Lines | None
    name: str  # of the definition that was asked for
    entries: tuple[WhyEntry, ...]
    left_out: int = 0  # older entries
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that a session ran, with its last outcome there."""

    command: str
    outcome: str
    failed: bool
    exit_status: int | None  # None where the transcript does not tell
    time: datetime | None
    agent: str
    session: str
    title: str
    project: str
    branch: str
    id: str  # of the chunk


@dataclass(frozen=True, slots=True)
class Mend:
    """What was done between the failure of a command and its success."""

    error: str  # the line that tells it
    command: str  # that failed
    change: str  # the edits, or what was asked and which files were edited
    time: datetime | None
    agent: str
    session: str
    title: str
    project: str
    id: str  # of the chunk


@dataclass(frozen=True, slots=True)
class How:
    """What sessions know of a command: its last success, and its last failure."""

    command: str
    worked: CommandRun | None = None
    failed: CommandRun | None = None
    mended: Mend | None = None  # what mended the last failure
    successes: int = 0
    failures: int = 0
    similar: tuple[CommandRun, ...] = ()  # of the same program, where this command is unknown
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Fixes:
    """What mended an error, the best first, and failures that nothing mended."""

    error: str
    mends: tuple[Mend, ...] = ()
    unmended: tuple[CommandRun, ...] = ()
    notes: tuple[Note, ...] = ()
