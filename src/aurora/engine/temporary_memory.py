"""Memories for an hour: in a folder of their own, with settings as by default, gone afterwards.

Of the user's settings only those about embedding count, and what was said for this command alone;
whoever measures with them can compare with others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.config.schema import Settings
from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.embedders import Embedders
from aurora.engine.memory import Memory
from aurora.types import Listener, ignore_events

_KEY = "_API_KEY"  # how variables end that are no settings, and needed to ask an endpoint


class TemporaryMemory:
    """Makes them, one like the other. Their embedding model is loaded once."""

    def __init__(self, files: SettingsFiles) -> None:
        """`files`: the user's own settings, with the flags of this command."""
        self._models = files.places.home / "models"
        self._embedding = files.current().settings.embedding
        embedding = {f"embedding.{key}": value for key, value in self._embedding._asdict().items()}
        ours = {key: value for key, value in files.flags.items() if not key.startswith("store.")}
        self._flags: Mapping[str, object] = {**ours, **embedding}
        self._environ = {
            name: value
            for name, value in files.environ.items()
            if not name.startswith("AURORA_") or name.endswith(_KEY)
        }

    @property
    def settings(self) -> Settings:
        """As all of them have it."""
        nowhere = Places(Path("/nonexistent"))
        return SettingsFiles(nowhere, self._environ, self._flags).current().settings

    @cached_property
    def embedder(self) -> EmbeddingProvider | None:
        """The provider that the settings choose; none where that is none."""
        environ = self._environ
        embedders = Embedders(self._embedding, models=self._models, environ=environ)
        return None if embedders.are_off else embedders.chosen()

    @contextmanager
    def memory(self, listen: Listener = ignore_events) -> Iterator[Memory]:
        """An empty one. It goes with all that it was made of, whatever happens inside."""
        with tempfile.TemporaryDirectory(prefix="aurora-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            places = Places(top / "home", top / "files")
            for made in (places.home, top / "files"):
                made.mkdir()
            with suppress(OSError):  # not every Windows has links: there only reranking is without
                (places.home / "models").symlink_to(self._models)
            files = SettingsFiles(places, self._environ, self._flags)
            with Memory(places, files, listen=listen, embedder=self.embedder) as memory:
                yield memory
