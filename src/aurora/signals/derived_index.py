"""An index file that is kept up to date with a store.

The file is derived. It is current only when this program made it from this store at this
generation. An older index is updated where that is cheaper; a missing, foreign or damaged file is
rebuilt. The file is opened on the first use, once for all threads.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

from aurora.errors import IndexFileError, IndexVersionError
from aurora.files import open_file
from aurora.platforms import lock
from aurora.stores.base import Store
from aurora.types import IndexCheck, IndexState, Json, Listener, Note, ignore_events

logger = logging.getLogger(__name__)


class IndexBehindError(Exception):
    """An index run has stored more than the index has: another way has to find it."""


class OpenedFile(Protocol):
    """A file opened for reading."""

    facts: Mapping[str, Json]

    def check(self) -> None:
        """Compare every checksum."""


class SavableIndex(Protocol):
    """An index in memory. `facts` are those of the file it was loaded from or saved to."""

    facts: Mapping[str, Json]

    def save_index(self, path: Path, facts: Mapping[str, Json]) -> None: ...


Index = TypeVar("Index", bound=SavableIndex)

_TRIES, _PAUSE = 150, 0.02  # seconds between tries: a merge of a large memory takes less than all


class DerivedIndex(ABC, Generic[Index]):
    """Opens, merges or builds an index when it is needed, whichever is the least work."""

    title: str  # the index's name in messages

    def __init__(
        self,
        store: Store,
        path: Path,
        *,
        now: Callable[[], datetime],
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._path, self._now, self._listen = store, path, now, listen
        # One value, as it is read without the lock.
        self._held: tuple[Index | None, int] = (None, -1)  # the index, and its generation
        self._seen: tuple[int, ...] = ()  # the file that `usable` has looked at
        self._started = self._finished = 0  # updates
        self.saved = True  # false when the index in use could not be written
        self._lock = threading.Lock()

    @abstractmethod
    def _open_file(self) -> OpenedFile:
        """Open the file; raises `IndexVersionError` when another version made it."""

    @abstractmethod
    def _load(self) -> Index:
        """Load the file; raises `OSError` when it is missing, `IndexFileError` when it is bad."""

    @abstractmethod
    def _origin(self) -> dict[str, Json]:
        """The facts of every index that this program makes of this store."""

    @abstractmethod
    def _merge(self, base: Index) -> Index | None:
        """`base`, of this origin, with all later changes; None when there are too many."""

    @abstractmethod
    def _make(self) -> Index:
        """Build the index of the whole store."""

    @abstractmethod
    def _difference(self, index: Index) -> str:
        """What an index lacks, for the message of a rebuild."""

    def check(self, *, whole: bool = False) -> IndexCheck:
        """Compare the file with the store. Changes nothing.

        `whole` compares every checksum; otherwise only the header is read.
        """
        try:
            file = self._open_file()
            if whole:
                file.check()
        except FileNotFoundError:
            return IndexCheck(IndexState.MISSING)
        except IndexVersionError as exc:
            return IndexCheck(IndexState.OUTDATED, exc.message)
        except IndexFileError as exc:
            return IndexCheck(IndexState.DAMAGED, exc.message)
        except OSError as exc:
            return IndexCheck(IndexState.DAMAGED, f"{self._path} cannot be read: {exc.strerror}")
        return self._compare(file.facts)

    def _compare(self, facts: Mapping[str, Json]) -> IndexCheck:
        if not _contains(facts, self._origin()):
            reason = f"{self._path} was made of another memory, or by another version"
            return IndexCheck(IndexState.OUTDATED, reason)
        current = _contains(facts, self._stamp(self._store.generation()))
        return IndexCheck(IndexState.CURRENT if current else IndexState.BEHIND)

    def current(self) -> Index:
        """The index of everything stored before the call.

        An update that starts after the call is enough for all waiting threads: otherwise each of
        them would update the index again.
        """
        started, wanted = self._started, self._store.generation()
        index, generation = self._held
        if index is not None and generation == wanted:
            return index
        with self._lock:
            index, generation = self._held
            # An update by a thread that reads an older state of the store is not enough.
            if index is not None and self._finished > started and generation >= wanted:
                return index
            self._started += 1  # before the generation is read: later callers need the next update
            wanted = self._store.generation()
            if index is None or generation != wanted:
                index = self._update(wanted)
            self._finished = self._started
            return index

    def complete(self) -> Index:
        """`current`; but raises `IndexBehindError` while an index run is ahead of the index."""
        wanted = self._store.generation()
        if not self._is_updated_by_run():
            return self.current()
        self._take_saved()
        index, generation = self._held
        if index is None or generation < wanted:
            raise IndexBehindError
        return index

    def usable(self) -> Index | None:
        """`current`; but during an index run the newest index there is, or None."""
        if not self._is_updated_by_run():
            return self.current()
        self._take_saved()
        return self._held[0]

    def _is_updated_by_run(self) -> bool:
        """True while an index run is at work that makes the index current itself: each of its
        batches would outdate what a search makes."""
        run = self._store.run_progress()
        return run is not None and bool(run.ready_part)  # others change nothing that is in use

    def _take_saved(self) -> None:
        """Use the index file of another process, if it is newer than the index held."""
        if not self._lock.acquire(blocking=False):  # another thread replaces the index
            return
        try:
            status = self._path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._seen:
                self._seen = stamp
                self._take(self._load())
        except (OSError, IndexFileError):
            pass  # the run builds it again
        finally:
            self._lock.release()

    def _take(self, saved: Index) -> None:
        generation = saved.facts.get("generation")
        if not isinstance(generation, int) or generation <= self._held[1]:
            return
        if _contains(saved.facts, self._origin()):
            self._held = saved, generation

    def rebuild(self) -> Index:
        """Build the index again and save it."""
        with self._lock:
            return self._build(self._store.generation())

    def scrub(self) -> None:
        """Write the index again if what was removed may still be in its file."""
        self.current()
        with self._lock:
            index, generation = self._held  # of another thread, if that has updated it meanwhile
            clean = None if index is None else self._without_removed(index)
            if clean is not None:
                self._save(clean, generation)
                self._held = clean, generation

    def _without_removed(self, index: Index) -> Index | None:  # noqa: ARG002
        """The index without anything that was removed; None if it is so already."""
        return None

    def mend(self, damaged: Index, exc: IndexFileError) -> Index:
        """Build the index again, once for all threads that found the damage."""
        with self._lock:
            index = self._held[0]
            if index is not None and index is not damaged:
                return index
            self._report_damage(exc)
            return self._build(self._store.generation())

    def _update(self, generation: int) -> Index:
        """Open, merge or build the index. Reports a rebuild."""
        try:
            with self._turn():
                index = self._open_or_merge(generation)
        except IndexVersionError:
            self._listen(Note(f"Rebuilding {self.title} (made by another version)..."))
            index = None
        except IndexFileError as exc:
            self._report_damage(exc)
            index = None
        if index is None:
            return self._build(generation)
        self._held = index, generation
        return index

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One process at a time merges: the next one opens the file that it saves.

        After some seconds both merge, so that a stopped process stops no search.
        """
        with ExitStack() as stack:
            with suppress(OSError):  # there is no folder yet, or nothing can be written to it
                if not self._store.is_read_only:
                    turn = stack.enter_context(open_file(self._path.with_suffix(".lock"), "ab"))
                    _lock_in_time(turn)
            yield

    def _open_or_merge(self, generation: int) -> Index | None:
        """The up-to-date index, from the file or from memory; None when both are of no use."""
        try:
            saved = self._load()
        except OSError as exc:  # usually the file does not exist yet
            logger.debug("no %s: %s", self.title, exc)
            saved = None
        if saved is not None and _contains(saved.facts, self._stamp(generation)):
            return saved
        held = self._held[0]
        base = saved if held is None else held
        if base is None:
            return None
        merged = self._merge(base) if _contains(base.facts, self._origin()) else None
        if merged is not None:
            self._save(merged, generation)
        else:
            self._listen(Note(f"Rebuilding {self.title} ({self._difference(base)})..."))
        return merged

    def _build(self, generation: int) -> Index:
        index = self._make()
        self._save(index, generation)
        self._held = index, generation
        return index

    def _save(self, index: Index, generation: int) -> None:
        if self._store.is_read_only:
            return
        facts = {**self._stamp(generation), "created_at": self._now().isoformat()}
        try:
            index.save_index(self._path, facts)
            self.saved = True
        except OSError as exc:
            self.saved = False
            logger.warning("cannot save %s: %s", self._path, exc)
            text = f"Cannot save the {self.title} to {self._path}: {exc}"
            self._listen(Note(f"{text}. The next search builds it again.", warning=True))

    def _stamp(self, generation: int) -> dict[str, Json]:
        """The facts of an index that is current at this generation."""
        return {**self._origin(), "generation": generation}

    def _report_damage(self, exc: Exception) -> None:
        logger.error("%s %s: %s", self.title, self._path, exc)
        self._listen(Note(f"{self.title} corrupted, rebuilding...", warning=True))
        if self._store.is_read_only:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as failure:  # the rebuild replaces the file if it can write at all
            logger.warning("cannot delete %s: %s", self._path, failure)


def _lock_in_time(file: BinaryIO) -> None:
    """Lock a file unless another process keeps it locked for seconds."""
    for _ in range(_TRIES):
        try:
            return lock(file)
        except (BlockingIOError, PermissionError):  # of Linux and macOS; of Windows
            time.sleep(_PAUSE)
    return None


def _contains(facts: Mapping[str, Json], expected: Mapping[str, Json]) -> bool:
    return all(facts.get(name) == value for name, value in expected.items())
