"""The memories that a server was opened for, kept warm; no tool reaches any other.

A memory is found anew for each call, as the command line finds it, so that one that `aur mem index`
has just made for the project is used from then on. Everything that was loaded stays loaded.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.engine.location import places_to_index
from aurora.errors import QueryError, SourceError
from aurora.types import Event, Listener, Note

logger = logging.getLogger(__name__)


# What a call is told while it works: it goes into its own answer and into no other.
_told: ContextVar[list[str] | None] = ContextVar("told", default=None)

_NOT_SOURCES = {".git", ".aurora"}  # what git and Aurora keep for themselves


@dataclass(slots=True)
class MemoryPool:
    """One memory for each folder that was opened, by name. The first is the usual one."""

    folders: Mapping[str, Path]
    environ: Mapping[str, str]
    flags: Mapping[str, object] = field(default_factory=dict)
    _memories: dict[Places, Memory] = field(default_factory=dict)
    _turns: dict[Path | str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def names(self) -> list[str]:
        return list(self.folders)

    def memory(self, name: str = "") -> Memory:
        """A memory by name, warm from the last call."""
        places = Places.find(self._folder(name), self.environ)
        with self._lock:
            if places not in self._memories:
                self._memories[places] = self._open(places, _hear)
            return self._memories[places]

    def memory_to_index(self, name: str, listen: Listener) -> Memory:
        """One of its own, so that what it tells goes to who asked; made for the project if need
        be. The warm one notices what it wrote."""
        here = self._folder(name)
        return self._open(places_to_index(Places.find(here, self.environ), here), listen)

    def inside(self, name: str, path: str) -> Path:
        """A path below the folder that was opened, or its project; nothing else may be read."""
        here = self._folder(name)
        root = (Places.find(here, self.environ).project or here).resolve()
        if Path.home().resolve().is_relative_to(root):  # where a client starts what has no project
            raise SourceError(
                f"This server was opened for {root}, which is no project but all you have",
                hint="start it inside a project, or name one: aur mcp --memory DIR",
            )
        try:
            wanted = (here / path).resolve()
        except (OSError, ValueError, RuntimeError) as exc:  # a null byte, a loop of links
            raise SourceError(f"{path!r} is no path") from exc
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
    def turn(self, memory: Memory) -> Iterator[None]:
        """Writers of this server one after the other: the database's own queue is not fair."""
        with self._lock:
            turn = self._turns.setdefault(memory.name, threading.Lock())
        with turn:
            yield

    def close(self) -> None:
        with self._lock:
            for memory in self._memories.values():
                memory.close()
            self._memories.clear()

    def _folder(self, name: str) -> Path:
        wanted = name or self.names[0]
        if wanted not in self.folders:
            raise QueryError(
                f"This server has no memory {name!r}", hint=f"it has {', '.join(self.names)}"
            )
        return self.folders[wanted]

    def _open(self, places: Places, listen: Listener) -> Memory:
        return Memory(places, SettingsFiles(places, self.environ, self.flags), listen=listen)


def name_folders(folders: Sequence[Path]) -> dict[str, Path]:
    """Each by its own name; one that comes again gets a number."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        name, count = folder.name or "root", 1
        while (shown := name if count == 1 else f"{name}-{count}") in named:
            count += 1
        named[shown] = folder
    return named


@contextmanager
def hearing() -> Iterator[list[str]]:
    """What the memory tells during one call."""
    told: list[str] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def _hear(event: Event) -> None:
    if not isinstance(event, Note):
        return
    if event.warning:  # the others may name what is stored: the log outlives it
        logger.warning("%s", event.text)
    told = _told.get()
    if told is not None and event.text not in told:
        told.append(event.text)
