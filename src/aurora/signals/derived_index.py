"""An index file kept in step with a store.

The file is derived. It counts as current only when it was made of this store at this generation,
by this program. An older one is brought up to date where that is cheaper; anything else, from a
deleted file to a flipped bit, leads to a rebuild (FR-8). Nothing is read before the first question,
and that once for all threads (seed 003).
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.index_file import IndexFile
from aurora.stores.base import Store
from aurora.types import IndexCheck, IndexState, Json, Listener, Note, ignore_events

logger = logging.getLogger(__name__)


Index = TypeVar("Index")


class DerivedIndex(ABC, Generic[Index]):
    """Opens, merges or builds its index when it is asked for, whichever is the least work."""

    title: str  # as messages call it

    def __init__(
        self,
        store: Store,
        path: Path,
        *,
        now: Callable[[], datetime],
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._path, self._now, self._listen = store, path, now, listen
        self._index: Index | None = None
        self._generation = -1
        self._begun = self._done = 0  # times that it was brought up to date
        self.saved = True  # false while the index in use could not be written
        self._lock = threading.Lock()

    @abstractmethod
    def _open_file(self) -> IndexFile:
        """The file as it lies there; `IndexVersionError` when another version made it."""

    @abstractmethod
    def _load(self) -> Index:
        """Open the file; `OSError` when there is none, `IndexFileError` when it is no use."""

    @abstractmethod
    def _facts(self, index: Index) -> Mapping[str, Json]:
        """What an index says of itself."""

    @abstractmethod
    def _origin(self) -> dict[str, Json]:
        """What it must say to be of this store at all, and to be made as this program would."""

    @abstractmethod
    def _merge(self, base: Index) -> Index | None:
        """`base`, of this origin, with what changed since; none when too much did."""

    @abstractmethod
    def _make(self) -> Index:
        """Build the index of all there is."""

    @abstractmethod
    def _write(self, index: Index, facts: Mapping[str, Json]) -> None: ...

    @abstractmethod
    def _difference(self, index: Index) -> str:
        """What an index misses, in the words of FR-8.2."""

    def _is_as_written(self, index: Index) -> bool:  # noqa: ARG002
        """False when opening had to change it, so that it is worth saving again."""
        return True

    def _is_made_alike(self, facts: Mapping[str, Json]) -> bool:  # noqa: ARG002
        """False when an index with these facts was made with other settings than ours."""
        return True

    def check(self, *, whole: bool = False) -> IndexCheck:
        """How the file stands to the store. Nothing is loaded, made or mended.

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
        if not _hold(self._origin(), facts):
            reason = f"{self._path} was made of another memory, or by another version"
            return IndexCheck(IndexState.OUTDATED, reason)
        if not self._is_made_alike(facts):
            return IndexCheck(IndexState.OUTDATED, f"{self._path} was made with other settings")
        current = _hold(self._stamp(self._store.generation()), facts)
        return IndexCheck(IndexState.CURRENT if current else IndexState.BEHIND)

    def current(self) -> Index:
        """The index of all that was stored before the call. What comes while one waits for it need
        not be there: or many who ask would bring it up to date one after the other."""
        came, generation = self._begun, self._store.generation()
        if self._index is not None and generation == self._generation:
            return self._index
        with self._lock:
            if self._index is not None and self._done > came:
                return self._index
            self._begun += 1  # before the store is asked: who comes from now on waits for the next
            generation, index = self._store.generation(), self._index
            if index is None or generation != self._generation:
                index = self._bring_up_to_date(generation)
            self._done = self._begun
            return index

    def rebuild(self) -> Index:
        """Build the index anew, whatever there is, and save it."""
        with self._lock:
            return self._build(self._store.generation())

    def mend(self, damaged: Index, exc: IndexFileError) -> Index:
        """Build the index anew, once for all threads that met the damage."""
        with self._lock:
            if self._index is not None and self._index is not damaged:
                return self._index
            self._report_damage(exc)
            return self._build(self._store.generation())

    def _bring_up_to_date(self, generation: int) -> Index:
        """The cheapest way that works; says so when that is building the index anew."""
        try:
            index = self._open_or_merge(generation)
        except IndexVersionError:
            self._listen(Note(f"Rebuilding {self.title} (made by another version)..."))
            index = None
        except IndexFileError as exc:
            self._report_damage(exc)
            index = None
        return self._build(generation) if index is None else self._keep(index, generation)

    def _open_or_merge(self, generation: int) -> Index | None:
        """The index made of what there is of it, on disk or in memory; none when that is no use."""
        saved = self._open()
        if saved is not None and self._says(saved, self._stamp(generation)):
            if not self._is_as_written(saved):
                self._save(saved, generation)
            return saved
        base = saved if self._index is None else self._index
        if base is None:
            return None
        merged = self._merge(base) if self._says(base, self._origin()) else None
        if merged is not None:
            self._save(merged, generation)
        else:
            self._listen(Note(f"Rebuilding {self.title} ({self._difference(base)})..."))
        return merged

    def _open(self) -> Index | None:
        try:
            return self._load()
        except OSError as exc:  # mostly: there is none yet
            logger.debug("no %s: %s", self.title, exc)
            return None

    def _build(self, generation: int) -> Index:
        index = self._make()
        self._save(index, generation)
        return self._keep(index, generation)

    def _keep(self, index: Index, generation: int) -> Index:
        self._index, self._generation = index, generation
        return index

    def _save(self, index: Index, generation: int) -> None:
        try:
            self._write(index, {**self._stamp(generation), "created_at": self._now().isoformat()})
            self.saved = True
        except OSError as exc:
            self.saved = False
            logger.warning("cannot save %s: %s", self._path, exc)
            text = f"Cannot save the {self.title} to {self._path}: {exc}"
            self._listen(Note(f"{text}. The next search builds it again.", warning=True))

    def _stamp(self, generation: int) -> dict[str, Json]:
        """What an index must say of itself to be the index of this store, now."""
        return {**self._origin(), "generation": generation}

    def _says(self, index: Index, facts: Mapping[str, Json]) -> bool:
        return _hold(facts, self._facts(index))

    def _report_damage(self, exc: Exception) -> None:
        logger.error("%s %s: %s", self.title, self._path, exc)
        self._listen(Note(f"{self.title} corrupted, rebuilding...", warning=True))
        try:
            self._path.unlink(missing_ok=True)
        except OSError as failure:  # it is replaced by the rebuild, if anything can be written
            logger.warning("cannot delete %s: %s", self._path, failure)


def _hold(facts: Mapping[str, Json], said: Mapping[str, Json]) -> bool:
    return all(said.get(name) == value for name, value in facts.items())
