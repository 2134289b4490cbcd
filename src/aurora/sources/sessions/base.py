"""What a reader of transcripts is, and what it yields: sessions, and their exchanges.

A reader knows the files of one agent. It never raises for what is in them: what it cannot read is
left out and counted, by reason. Ids come from the ids in the records, so that a transcript that is
read again, or was copied into another one, gives the same exchanges.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from aurora.quick_classes import dataclass, field
from aurora.redaction import Redactor
from aurora.sources.reading import Skipped

_MOST_REASONS = 100  # different ones; the types of unknown records may be anything


class ToolKind(StrEnum):
    """What a tool does. Searches and listings are reads."""

    COMMAND = "command"
    EDIT = "edit"
    READ = "read"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool, and its outcome. A text that is too long is cut, with a mark.

    The input of a command is its command line, that of an edit the change, that of a read what is
    read or looked for, and that of any other tool its arguments as JSON.
    """

    id: str
    name: str
    kind: ToolKind = ToolKind.OTHER
    input: str = ""
    outcome: str = ""
    failed: bool = False
    exit_status: int | None = None  # None where the transcript does not tell
    files: tuple[str, ...] = ()  # as the transcript spells them


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked, and what the agent said and did until the next question.

    An exchange with very many calls comes in parts: each has the question, its own id, and the
    next calls. A summary is what an agent keeps of a conversation that it has to shorten.
    """

    id: str
    agent: str
    session: str
    asked: str
    answered: str
    time: datetime | None = None
    model: str = ""
    tools: tuple[ToolUse, ...] = ()
    branch: str = ""
    commit: str = ""
    cwd: str = ""
    thinking: str = ""  # only where the caller wants it
    is_summary: bool = False
    seq: int = 0  # its place in the transcript, from 1; 0: unknown

    @property
    def edited(self) -> tuple[str, ...]:
        """The files that edits succeeded in, in their order."""
        return self._files(ToolKind.EDIT)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were edited, then those that were read."""
        return tuple(dict.fromkeys((*self.edited, *self._files(ToolKind.READ))))

    def _files(self, kind: ToolKind) -> tuple[str, ...]:
        uses = (use for use in self.tools if use.kind is kind and not use.failed)
        return tuple(dict.fromkeys(file for use in uses for file in use.files))


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with an agent. `project` is the folder where it began.

    The title is the agent's own, or else the first line that was asked. A sub-agent has the
    session that started it as its parent.
    """

    agent: str
    id: str
    path: Path
    title: str = ""
    project: str = ""
    branch: str = ""
    commit: str = ""
    model: str = ""
    parent: str = ""
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Offset:
    """Where a reading ended, and what the next one has to know to go on from there.

    The two digests are of the first bytes and of those before the position: with others, the file
    was rewritten. All fields are JSON. A database has the time of its last change as its position.
    """

    position: int
    head: str = ""
    tail: str = ""
    state: Mapping[str, str] = field(default_factory=dict)


class Reading:
    """One pass over a transcript. Iterating yields its exchanges, in their order.

    A session is known as soon as its first exchange comes, and complete at the end. So is what was
    skipped, and the offset where another reading may go on: None where the format does not allow
    that. The last exchange may still grow. A reading that goes on from the offset yields it again,
    with the same id. Iterating again reads again.
    """

    def __init__(self, run: Callable[[Reading], Iterator[Exchange]]) -> None:
        self._run = run
        self.sessions: dict[str, Session] = {}
        self.skipped: Counter[str] = Counter()  # records, by the reason why they were left out
        self.offset: Offset | None = None
        self.restarted = False  # the file is not the one of the offset, and was read from its start

    def __iter__(self) -> Iterator[Exchange]:
        self.sessions, self.skipped = {}, Counter()
        self.offset, self.restarted = None, False
        return self._run(self)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what is left out."""
        if not count:
            return
        if reason not in self.skipped and len(self.skipped) >= _MOST_REASONS:
            reason = "other reasons"
        self.skipped[reason] += count


@dataclass(frozen=True, slots=True)
class Options:
    """How to read. Texts are redacted before they are cut: half a secret has no form."""

    redactor: Redactor = field(default_factory=Redactor)
    thinking: bool = False


class SessionReader(Protocol):
    """Finds and reads the transcripts of one agent."""

    agent: str  # its id, such as `claude-code`
    title: str  # its name for people

    def locate(
        self, home: Path, environ: Mapping[str, str], projects: Sequence[Path] = ()
    ) -> list[Path | Skipped]:
        """List the transcripts, and the folders that cannot be read.

        `projects` are folders to look in for agents that keep a transcript beside the code.
        """
        ...

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        """Read a transcript, or what was added since an offset."""
        ...


def folder_of(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """The folder that a variable of the environment names, if it is set."""
    value = environ.get(variable, "").strip()
    return Path(value) if value else default


def editor_folders(editor: str, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where an editor that is made from VS Code keeps what belongs to its user."""
    config = folder_of(environ, "XDG_CONFIG_HOME", home / ".config")
    roaming = folder_of(environ, "APPDATA", home / "AppData" / "Roaming")
    places = (home / "Library" / "Application Support", config, home / ".config", roaming)
    return list(dict.fromkeys(place / editor / "User" for place in places))


def find_files(folder: Path, wanted: Callable[[Path], bool]) -> list[Path | Skipped]:
    """List the wanted regular files below a folder, sorted. Links are not followed."""
    paths: list[Path | Skipped] = []

    def report(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            paths.append(Skipped(Path(error.filename or folder), f"unreadable: {error.strerror}"))

    for place, folders, names in os.walk(folder, onerror=report):
        folders.sort()
        files = (Path(place, name) for name in sorted(names))
        paths += [path for path in files if wanted(path) and _is_regular(path)]
    return paths


def _is_regular(path: Path) -> bool:
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:
        return False
