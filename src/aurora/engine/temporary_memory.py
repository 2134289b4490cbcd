"""Temporary memories with default settings, for measurements that can be compared.

Only the user's embedding settings and the flags of this command apply.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from aurora.config import Places, Settings, SettingsFiles
from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.embedders import Embedders
from aurora.engine.memory import Memory
from aurora.types import Listener, ignore_events


class TemporaryMemory:
    """Creates temporary memories, which share one loaded embedding model."""

    def __init__(self, files: SettingsFiles) -> None:
        """`files` are the user's settings with the flags of this command."""
        self._models = files.places.home / "models"
        self._embedding = files.current().settings.embedding
        embedding = {f"embedding.{key}": value for key, value in self._embedding._asdict().items()}
        flags = {key: value for key, value in files.flags.items() if not key.startswith("store.")}
        self._flags: Mapping[str, object] = {**flags, **embedding}
        self._environ = {
            name: value
            for name, value in files.environ.items()
            if not name.startswith("AURORA_") or name.endswith("_API_KEY")
        }

    @property
    def settings(self) -> Settings:
        nowhere = Places(Path("/nonexistent"))
        return SettingsFiles(nowhere, self._environ, self._flags).current().settings

    @cached_property
    def embedder(self) -> EmbeddingProvider | None:
        """The provider that the settings choose; None if embedding is off."""
        embedders = Embedders(self._embedding, models=self._models, environ=self._environ)
        return None if embedders.are_off else embedders.chosen()

    @contextmanager
    def memory(self, listen: Listener = ignore_events) -> Iterator[Memory]:
        """An empty memory in a folder that is removed afterwards."""
        with tempfile.TemporaryDirectory(prefix="aurora-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            places = Places(top / "home", top / "files")
            for new in (places.home, top / "files"):
                new.mkdir()
            with suppress(OSError):  # Windows may refuse links: only reranking needs this one
                (places.home / "models").symlink_to(self._models)
            files = SettingsFiles(places, self._environ, self._flags)
            with Memory(places, files, listen=listen, embedder=self.embedder) as memory:
                yield memory
