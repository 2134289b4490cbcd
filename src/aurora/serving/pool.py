"""The memories that a server was opened for, kept open, and the index runs on them.

A memory is looked up again for each call, as the command line does, so that a memory that
`aur mem index` has just made for the project is used from then on.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.engine.layers import Workspace
from aurora.engine.projects import places_to_index
from aurora.errors import AuroraError, QueryError, SourceError
from aurora.indexing.indexer import IndexReport
from aurora.text import count_tokens
from aurora.types import Event, Listener, Note, Progress
from aurora.usage_log import UsageRecord, memory_key, write_usage

logger = logging.getLogger(__name__)

# The notes of the call that runs in this context: they go into its own answer only.
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)

_NAMED = re.compile(r'^\d+\. (\S+?):\d|"path":"([^"]+)"', re.MULTILINE)
_BYTES_OF_TOKEN, _MOST_OF_FILE = 4, 25_000  # where agents cut a file that they read
_COUNTED = 2_000  # characters
_NOT_SOURCES = {".git", ".aurora"}


@dataclass(slots=True)
class MemoryPool:
    """One memory for each opened folder, by name. The first one is the default."""

    folders: Mapping[str, Path]
    environ: Mapping[str, str]
    flags: Mapping[str, object] = field(default_factory=dict)
    read_only: bool = False  # nothing is written, not even a use
    _memories: dict[Places, Memory] = field(default_factory=dict)
    _turns: dict[Path | str, threading.Lock] = field(default_factory=dict)
    _places: dict[str, Places] = field(default_factory=dict)  # of the latest call by name
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def names(self) -> list[str]:
        return list(self.folders)

    def workspace(self) -> Mapping[str, Path]:
        """The repositories of the user's workspace, by name."""
        return Workspace(Places.find(self.folders[self.names[0]], self.environ).home).list()

    def memory(self, name: str = "") -> Memory:
        """The open memory of a name."""
        places = self._places[name] = Places.find(self._folder(name), self.environ)
        with self._lock:
            if places not in self._memories:
                self._memories[places] = self._open(places, _add_note, self._folder(name))
            return self._memories[places]

    def memory_to_index(self, name: str, listen: Listener) -> Memory:
        """A separate memory object with its own listener, made for the project if need be. The
        open one notices its writes."""
        here = self._folder(name)
        return self._open(places_to_index(Places.find(here, self.environ), here), listen, here)

    def resolve(self, name: str, path: str) -> Path:
        """The absolute path to index. Raises `SourceError` for a path outside of the project."""
        here = self._folder(name)
        root = (Places.find(here, self.environ).root or here).resolve()
        if Path.home().resolve().is_relative_to(root):  # some clients start servers in the home
            raise SourceError(
                f"This server was opened for {root}, which is your home folder or above it",
                hint="start it inside a project, or name one: `aur mcp --memory DIR`",
            )
        try:
            wanted = (here / path).resolve()
        except (OSError, ValueError, RuntimeError) as exc:  # a null byte, a loop of links
            raise SourceError(f"{path!r} is not a path") from exc
        if not wanted.is_relative_to(root):
            raise SourceError(
                f"{path!r} is outside of what this server was opened for",
                hint=f"name a path below {root}, or leave it out for all of it",
            )
        if not _NOT_SOURCES.isdisjoint(map(str.lower, wanted.relative_to(root).parts)):
            raise SourceError(
                f"{path!r} is not indexed: it belongs to git or to Aurora itself",
                hint="name a folder of sources, or leave it out for all of the project",
            )
        return wanted

    @contextmanager
    def turn(self, name: str) -> Iterator[Memory]:
        """The open memory, for one writer at a time: the database's own queue is not fair."""
        memory = self.memory(name)
        with self._lock:
            turn = self._turns.setdefault(memory.name, threading.Lock())
        with turn:
            yield memory

    def note_call(self, tool: str, name: str, text: str, seconds: float, error: str) -> None:
        """Write the numbers of a call of a tool to the user's log."""
        with suppress(AuroraError, OSError, ValueError):
            folder = self.folders.get(name, self.folders[self.names[0]])
            places = self._places.get(name) or Places.find(folder, self.environ)
            record = UsageRecord(
                time.time(),
                "mcp",
                "",
                tool,
                milliseconds=round(seconds * 1000),
                tokens=_count_tokens(text),
                whole=_whole_tokens(text, places.root or folder),
                error=error,
                memory=memory_key(places.memory_folder),
            )
            write_usage(places.home, record)

    def close(self) -> None:
        with self._lock:
            for memory in self._memories.values():
                memory.close()
            self._memories.clear()

    def _folder(self, name: str) -> Path:
        """The opened folder of a name, or the repository of the user's workspace."""
        wanted = name or self.names[0]
        if wanted in self.folders:
            return self.folders[wanted]
        workspace = self.workspace()
        if wanted not in workspace:
            known = ", ".join(dict.fromkeys((*self.names, *workspace)))
            raise QueryError(f"This server has no memory {name!r}", hint=f"it has {known}")
        return workspace[wanted]

    def _open(self, places: Places, listen: Listener, folder: Path) -> Memory:
        files = SettingsFiles(places, self.environ, self.flags)
        others = tuple(self.folders.values())
        return Memory(
            places,
            files,
            listen=listen,
            folder=folder,
            beside=others,
            reads_on=True,
            read_only=self.read_only,
        )


def _count_tokens(text: str) -> int:
    """The tokens of an answer, of a long one by those of its beginning: the log is an estimate."""
    beginning = text[:_COUNTED]
    return round(count_tokens(beginning) * len(text) / len(beginning)) if text else 0


def _whole_tokens(text: str, root: Path) -> int:
    """The tokens of the files that an answer names at the beginning of its results."""
    total = 0
    for name in {brief or full for brief, full in _NAMED.findall(text)}:
        with suppress(OSError, ValueError):
            total += min((root / name).stat().st_size // _BYTES_OF_TOKEN, _MOST_OF_FILE)
    return total


def name_folders(folders: Sequence[Path]) -> dict[str, Path]:
    """Each folder by its name; a name that repeats gets a number."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        name, count = folder.name or "root", 1
        while (shown := name if count == 1 else f"{name}-{count}") in named:
            count += 1
        named[shown] = folder
    return named


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """The notes that open memories emit during one call."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def _add_note(event: Event) -> None:
    if not isinstance(event, Note):
        return
    if event.warning:  # other notes may name stored text, which the log would keep
        logger.warning("%s", event.text)
    notes = _notes.get()
    if notes is not None and event.text not in notes:
        notes.append(event.text)


@dataclass(slots=True)
class IndexRun:
    """One index run, in its own thread.

    The run belongs to the server: it continues when the client stops waiting or disconnects.
    """

    report: IndexReport | None = None
    error: Exception | None = None
    chunks: int = 0
    steps: int = 0  # of all tasks together: progress only grows
    latest: Progress | None = None
    notes: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _before: int = 0  # steps of earlier tasks

    def listen(self, event: Event) -> None:
        if isinstance(event, Note):
            self.notes.append(event.text)
            return
        if self.latest is not None and event.task != self.latest.task:
            self._before = self.steps
        self.latest = event
        self.steps = max(self.steps, self._before + event.done)

    @property
    def progress_text(self) -> str:
        if self.latest is None:
            return self.notes[-1] if self.notes else "starting"
        task, done, total = self.latest
        return f"{task}: {done}/{total}" if total else f"{task}: {done}"

    def work(self, memory: Memory, path: Path, *, git: bool) -> None:
        try:
            with memory:
                self.report = memory.index(path, git=git)
                self.chunks = sum(memory.stats().chunks.values())
        except Exception as exc:  # reported by the calls that wait for the run
            logger.exception("an index run failed")
            self.error = exc
        finally:
            self.over.set()


class IndexRuns:
    """The running index runs of one server. A second call for the same path joins the first."""

    def __init__(self, pool: MemoryPool) -> None:
        self._pool = pool
        self._running: dict[tuple[str, Path, bool], IndexRun] = {}
        self._lock = threading.Lock()

    def join(self, name: str, path: Path, *, git: bool) -> IndexRun:
        """The run for a path: the running one, or a new one."""
        key = (name, path, git)
        with self._lock:
            running = self._running.get(key)
            if running is not None and not running.over.is_set():
                return running
            run = IndexRun()
            memory = self._pool.memory_to_index(name, run.listen)
            self._running[key] = run
        # A daemon: a run may be cut anywhere when the server ends, and the next one continues.
        threading.Thread(
            target=run.work, args=(memory, path), kwargs={"git": git}, daemon=True
        ).start()
        return run

    def is_any_running(self) -> bool:
        with self._lock:
            return any(not run.over.is_set() for run in self._running.values())

    def progress_text(self, name: str) -> str | None:
        """The progress of all runs on a memory; None without a run."""
        with self._lock:
            runs = [run for key, run in self._running.items() if key[0] == name]
        return "; ".join(run.progress_text for run in runs if not run.over.is_set()) or None
