"""A store and its index, to see how the second follows the first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.bm25_index import merge
from aurora.signals.bm25_segment import open_bm25_file
from aurora.stores.base import Reasoning, Revision
from aurora.stores.sqlite.chunks import SQLiteChunks
from aurora.stores.sqlite.store import SQLiteStore
from aurora.text import WORDS
from aurora.types import Chunk, Event, Json
from tests.builders import NOW, make_chunk

FOUR = [make_chunk(f"number {name}", name=name) for name in ("one", "two", "three", "four")]


class WatchedChunks(SQLiteChunks):
    """Remembers which rows were read for indexing: `None` stands for all."""

    read: list[Sequence[int] | None]

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        self.read.append(rows)
        return super().iter_revised(rows)


class Watched(SQLiteStore):
    """A store with such chunks."""

    chunks: WatchedChunks

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.chunks = WatchedChunks(self.database)
        self.chunks.read = []


class Bench:
    """A store, its index, and everything that is said of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, list[Event]()
        self.path = folder / "bm25.idx"
        self.open()

    def open(self) -> None:
        self.store = Watched(self.folder / "memory.db")

    def signal(self, path: Path | None = None, **parameters: float) -> BM25Signal:
        return BM25Signal(
            self.store,
            path or self.path,
            now=lambda: NOW,
            parameters=BM25Parameters(**parameters),  # type: ignore[arg-type]
            listen=self.events.append,
        )

    def rows_read(self) -> list[Sequence[int] | None]:
        """Since the last time this was asked."""
        read, self.store.chunks.read = self.store.chunks.read, []
        return read

    def saved(self) -> Content:
        """What is in the index file."""
        return content_of(self.path)

    def rebuilt(self) -> Content:
        """What a rebuild writes."""
        other = self.path.with_name("rebuilt.idx")
        self.signal(other).rebuild()
        return content_of(other)


Content: TypeAlias = tuple[Mapping[str, Json], Mapping[str, tuple[str, bytes]]]


def content_of(path: Path) -> Content:
    """The facts of a keyword index, and the arrays of all of its segments as one."""
    file = open_bm25_file(path, WORDS)
    facts = {name: fact for name, fact in file.facts.items() if name != "segments"}
    arrays = merge(file.segments) if file.segments else {}
    named = {name: np.asarray(array) for name, array in arrays.items()}
    content = {name: (array.dtype.char, array.tobytes()) for name, array in named.items()}
    is_empty = not facts["chunks"]
    return facts, {} if is_empty else content


class RacedChunks(SQLiteChunks):
    """Another process writes between the look at their revisions and the reading."""

    write: Callable[[SQLiteStore], object] | None = None

    def revisions(self, generations: Collection[int] | None = None) -> Mapping[int, int]:
        found = super().revisions(generations)
        if self.write is not None:
            write, self.write = self.write, None
            other = SQLiteStore(self._database.path)
            write(other)
            other.close()
        return found


class Raced(SQLiteStore):
    """A store with such chunks."""

    chunks: RacedChunks

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.chunks = RacedChunks(self.database)


def reasoning(score: float) -> Reasoning:
    return Reasoning("pattern", score, 1, NOW)
