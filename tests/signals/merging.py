"""A store and its index, to see how the second follows the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_formula import BM25Parameters
from aurora.stores.base import Reasoning, Revision
from aurora.stores.sqlite.chunks import SQLiteChunks
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Event
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

    def rebuilt(self, **parameters: float) -> bytes:
        """The file that building the index anew gives."""
        other = self.path.with_name("rebuilt.idx")
        self.signal(other, **parameters).rebuild()
        return other.read_bytes()


class RacedChunks(SQLiteChunks):
    """Another process writes between the look at their revisions and the reading."""

    write: Callable[[SQLiteStore], object] | None = None

    def revisions(self) -> Mapping[int, int]:
        found = super().revisions()
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
