"""Makes a memory's vectors: for new chunks, and by another model when the settings change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.opening import OpenedMemory
from aurora.errors import AuroraError, ConfigError
from aurora.indexing.embedding import Reembedded, RemoteEmbedder, embed, embed_missing, reembed
from aurora.indexing.turns import retry_on_disconnect
from aurora.stores.base import Embedder
from aurora.types import Note


class VectorUpdates:
    """Makes and indexes the vectors of one memory."""

    def __init__(self, opened: OpenedMemory) -> None:
        self._opened = opened

    def embedder(self) -> EmbeddingProvider | None:
        """The provider for new chunks: the one that made the vectors, until `reembed`."""
        opened, embedders = self._opened, self._opened.embedders
        if embedders.are_off:
            return None
        owner = opened.store.vectors.embedder()
        try:
            chosen = embedders.chosen()
            if owner is None or owner.name == chosen.name:
                return chosen
            if self._are_quick(owner):  # `improve` replaces them
                return embedders.quick()
            opened.warn(
                f"Vectors here are of {owner.name}; `aur mem reembed` makes those of {chosen.name}"
            )
            return embedders.of(owner)
        except ConfigError:
            raise
        except AuroraError as exc:
            opened.warn(exc)
        except Exception as exc:  # a provider may fail in any way, even when it returns its name
            opened.warn(f"The embedding provider failed: {exc!r}")
        return None

    def quick(self) -> EmbeddingProvider | None:
        return self._opened.embedders.quick()

    def remote(self, provider: EmbeddingProvider | None) -> RemoteEmbedder | None:
        """The cluster that the settings name, if it can run this provider."""
        settings = self._opened.settings.indexing
        if settings.workers > 1:
            self._opened.listen(
                Note("indexing.workers has no effect: one process embeds with all processors")
            )
        make = self._opened.embedders.recipe_of(provider) if provider and settings.ray else None
        if make is None:
            return None
        from aurora.indexing.ray import RayEmbedder  # noqa: PLC0415 - most have no cluster

        return RayEmbedder(settings.ray, make)

    def embed_new(self, chunk_ids: Sequence[str]) -> None:
        """Make vectors of chunks just stored. If that fails, the next index run makes them."""
        try:
            store = self._opened.store
            embedded = store.vectors.get_embeddings(chunk_ids)
            missing = [id_ for id_ in chunk_ids if id_ not in embedded]
            provider = self.embedder() if missing else None
            if provider is None:
                return
            warnings = embed(store, provider, missing).warnings
        except AuroraError as exc:
            self._opened.warn(exc)
        else:
            self._warn_all(warnings)

    def embed_missing(self) -> None:
        """Make vectors of all chunks that have none, as an index run does."""
        provider = self.embedder()
        if provider is not None:
            opened = self._opened
            self._warn_all(embed_missing(opened.store, provider, listen=opened.listen).warnings)
        self.make_searchable()

    def _warn_all(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._opened.warn(warning)

    def reembed(self) -> Reembedded:
        """Replace the vectors by those of the provider that the settings choose.

        Searches use the old vectors until all new ones exist. A killed run continues later.
        """
        opened = self._opened
        chosen = opened.embedders.chosen()
        remote = self.remote(chosen)
        run = partial(reembed, opened.store, chosen, remote=remote, listen=opened.listen)
        reembedded = retry_on_disconnect(run, listen=opened.listen)
        self.make_searchable()
        return reembedded

    def improve(self) -> Sequence[str]:
        """Replace quick vectors, if there are any, by those of the chosen provider; warnings."""
        if not self._are_quick(self._opened.store.vectors.embedder()):
            return ()
        better = self._opened.embedders.chosen().name
        self._opened.listen(
            Note(f"Everything can be found now; the better vectors of {better} follow")
        )
        return self.reembed().embedded.warnings

    def _are_quick(self, owner: Embedder | None) -> bool:
        quick = self.quick()
        return quick is not None and owner is not None and owner.name == quick.name

    def make_searchable(self) -> None:
        """Bring the indexes up to date, so that the next search need not."""
        opened = self._opened
        if ranking := opened.store.ranking:
            ranking.prepare_search()
            return
        retriever = opened.retriever
        retriever.bm25.refresh()
        if opened.store.vectors.embedder() is not None and not opened.embedders.are_off:
            retriever.vectors.current()
