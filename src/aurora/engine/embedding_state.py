"""A memory that has vectors: of what is new, and of another model when it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from aurora.engine.opening import OpenedMemory
from aurora.errors import AuroraError, ConfigError, EmbeddingError
from aurora.stores.base import Embedder
from aurora.types import Note

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.indexing.embedding import Reembedded, RemoteEmbedder
    from aurora.redaction import Redactor


class EmbeddingMemory(OpenedMemory):
    """The part of `Memory` that makes vectors."""

    def reembed(self) -> Reembedded:
        """Make vectors of the provider that the settings choose, in place of those there are.

        Searches go by the old ones until all are made. Killed, it goes on where it was.
        """
        from aurora.indexing.embedding import reembed  # noqa: PLC0415
        from aurora.indexing.turns import retry_on_disconnect  # noqa: PLC0415 - as in `index`

        chosen = self._embedders.chosen()
        elsewhere = self._elsewhere(chosen)
        run = partial(reembed, self._store, chosen, elsewhere=elsewhere, listen=self._listen)
        made = retry_on_disconnect(run, listen=self._listen)
        self._make_searchable()
        return made

    def try_embedder(self) -> Embedder:
        """The provider that the settings choose, after it embedded a text. One that is elsewhere
        is not asked: its dimension is then 0. Raises `EmbeddingError` when it cannot."""
        from aurora.indexing.embedding import embedder_of  # noqa: PLC0415 - as in `index`

        chosen = self._embedders.chosen()
        if self._embedders.is_remote:
            return Embedder(chosen.name, 0, "")
        try:
            chosen.embed_query("aurora")
            return embedder_of(chosen)
        except AuroraError:
            raise
        except Exception as exc:  # a provider may fail in any way
            raise EmbeddingError(f"{chosen.name} failed: {exc!r}") from exc

    def chosen_embedder(self) -> str:
        """The name of the provider that the settings choose; empty where it is none, or missing."""
        try:
            return self._embedders.chosen().name
        except AuroraError:
            return ""

    def vectors_of(self) -> Embedder | None:
        """Who made the vectors that searches go by."""
        return self._store.vectors.embedder()

    def _embedder(self) -> EmbeddingProvider | None:
        """Who embeds what is new: whoever made the vectors there are, until `reembed`."""
        if self._embedders.are_off:
            return None
        owner = self._store.vectors.embedder()
        try:
            chosen = self._embedders.chosen()
            if owner is None or owner.name == chosen.name:
                return chosen
            if self._has_quick_vectors(owner):  # `_improve_vectors` follows
                return self._embedders.quick()
            self._tell(
                f"Vectors here are of {owner.name}; `aur mem reembed` makes those of {chosen.name}"
            )
            return self._embedders.of(owner)
        except ConfigError:
            raise
        except AuroraError as exc:
            self._tell(exc)
        except Exception as exc:  # a provider may fail in any way, even in telling its name
            self._tell(f"The embedding provider failed: {exc!r}")
        return None

    def _has_quick_vectors(self, owner: Embedder | None) -> bool:
        quick = self._embedders.quick()
        return quick is not None and owner is not None and owner.name == quick.name

    def _improve_vectors(self) -> Sequence[str]:
        """The chosen provider takes over from the quick one, if that made do; warnings."""
        if not self._has_quick_vectors(self._store.vectors.embedder()):
            return ()
        better = self._embedders.chosen().name
        self._listen(Note(f"Everything can be found now; the better vectors of {better} follow"))
        return self.reembed().embedded.warnings

    def _elsewhere(self, provider: EmbeddingProvider | None) -> RemoteEmbedder | None:
        """The processes or machines that the settings name for the work of a provider."""
        from aurora.engine.opening import find_elsewhere  # noqa: PLC0415 - as in `index`

        make = self._embedders.recipe_of(provider) if provider else None
        return find_elsewhere(self.settings.indexing, make) if make else None

    def _embed_new(self, chunk_ids: Sequence[str]) -> None:
        """Make vectors of what was just stored; where that fails, the next run of indexing does."""
        from aurora.indexing.embedding import embed  # noqa: PLC0415 - as in `index`

        try:
            known = self._store.vectors.get_embeddings(chunk_ids)
            missing = [id_ for id_ in chunk_ids if id_ not in known]
            provider = self._embedder() if missing else None
            if provider is None:
                return
            warnings = embed(self._store, provider, missing).warnings
        except AuroraError as exc:
            self._tell(exc)
        else:
            for warning in warnings:
                self._tell(warning)

    def _embed_all(self) -> None:
        """Make vectors of all that has none, as an index would; searches find them at once."""
        from aurora.indexing.embedding import embed_missing  # noqa: PLC0415 - as in `index`

        provider = self._embedder()
        if provider is not None:
            for warning in embed_missing(self._store, provider, listen=self._listen).warnings:
                self._tell(warning)
        self._make_searchable()

    def _make_searchable(self) -> None:
        """Bring the indexes up to date, so that the next search finds them so."""
        store = self._store
        if store.ranking is not None:
            store.ranking.prepare_search()
            return
        self.retriever.bm25.refresh()
        if store.vectors.embedder() is not None and not self._embedders.are_off:
            self.retriever.vectors.current()

    def _redactor(self) -> Redactor:
        from aurora.redaction import Redactor  # noqa: PLC0415 - as in `index`

        return Redactor(on=self.settings.indexing.redact_secrets)

    @contextmanager
    def _redacting(self) -> Iterator[Redactor]:
        """For what is about to be stored; tells afterwards if something was taken out of it."""
        redactor = self._redactor()
        yield redactor
        if redactor.told:
            self._tell(redactor.told)

    def _tell(self, what: str | AuroraError) -> None:
        text = what.in_one_line if isinstance(what, AuroraError) else what
        self._listen(Note(text, warning=True))
