"""What a memory stands on: its settings, its database and its retriever, opened when needed.

Here, and only here, settings become objects. Nothing is open before the first call that needs it:
neither the database nor the index nor numpy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aurora.config import Places, Settings, SettingsFiles
from aurora.errors import NoMemoryError
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Listener, ignore_events

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider


def utc_now() -> datetime:
    return datetime.now(UTC)


class OpenedMemory:
    """Opened by the first who asks, one for all threads; anew when a file or setting is another."""

    def __init__(
        self,
        places: Places,
        settings: SettingsFiles | None = None,
        *,
        listen: Listener = ignore_events,
        now: Callable[[], datetime] = utc_now,
        embedder: EmbeddingProvider | None = None,
    ) -> None:
        self.places = places
        self._embedder = embedder
        self._files = settings or SettingsFiles(places)
        self._listen, self._now = listen, now
        self._opened: Store | None = None
        self._file: tuple[int, int] | None = None  # which file that is, whatever its name
        self._retriever: tuple[Settings, HybridRetriever] | None = None
        self._lock = threading.RLock()

    @property
    def settings(self) -> Settings:
        """As the files say now: a change takes effect with the next call."""
        return self._files.current().settings

    @property
    def path(self) -> Path:
        return self.places.memory_folder / Path(self.settings.store.path).expanduser()

    @property
    def index_path(self) -> Path:
        return self.path.parent / "indexes" / "bm25.idx"

    @property
    def _store(self) -> Store:
        """Opened by the first who asks, one for all threads; anew when the file is another."""
        with self._lock:
            path = self.path
            file = _file_identity(path)
            if file is None:
                raise NoMemoryError(
                    f"There is no memory yet at {path}", hint="make one with `aur mem index .`"
                )
            if self._opened is None or self._file != file:
                # Not closed: another thread may still be reading the one that was.
                self._opened, self._file, self._retriever = SQLiteStore(path), file, None
            return self._opened

    @property
    def retriever(self) -> HybridRetriever:
        """Made again when a setting changed; it opens nothing by itself."""
        with self._lock:
            settings, _ = self.settings, self._store  # another file means another retriever
            if self._retriever is None or self._retriever[0] != settings:
                self._retriever = (settings, self._make_retriever(settings))
            return self._retriever[1]

    def _make_retriever(self, settings: Settings) -> HybridRetriever:
        bm25, hybrid = settings.search.bm25, settings.search.hybrid
        return HybridRetriever(
            self._store,
            HybridConfig(bm25.k1, bm25.b, bm25.idf, hybrid.stage1_top_k),
            index_folder=self.index_path.parent,
            now=self._now,
            listen=self._listen,
        )

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._retriever = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
