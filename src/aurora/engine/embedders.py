"""Who embeds: the provider that the settings choose, and the one that made a memory's vectors.

A memory keeps to its own until `aur mem reembed`. Its file may come from a stranger, so it has no
say in where texts go or what code runs: it is followed to models that are here, and to a provider
of another kind only where the settings choose that one, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aurora.config.schema import EmbeddingSettings
from aurora.endpoints import EMBEDDING
from aurora.errors import EmbedderMismatchError, EmbeddingError
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider, ProviderOptions, TokenEmbedder


_NONE = "none"


class Embedders:
    """Each provider is made once, and loads with its first text."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        models: Path,
        environ: Mapping[str, str],
        given: EmbeddingProvider | None = None,
    ) -> None:
        self._settings, self._models, self._environ = settings, models, environ
        self._given = given  # by a program that brings its own
        self._made: dict[tuple[str, str], EmbeddingProvider] = {}
        self._lock = threading.Lock()

    @property
    def are_off(self) -> bool:
        return self._settings.provider == _NONE

    @property
    def is_remote(self) -> bool:
        """Whether what is embedded is sent somewhere."""
        return self._given is None and self._settings.provider == "openai"

    def chosen(self) -> EmbeddingProvider:
        """The one that a new memory gets."""
        self._require_on()
        return self._given or self._make(self._settings.provider, self._settings.model)

    def quick(self) -> EmbeddingProvider | None:
        """Who embeds at first where there is much to embed, until the chosen one is done. Nobody,
        unless the settings leave the model to the provider."""
        from aurora.embeddings.registry import OURS  # noqa: PLC0415 - as in `_make`

        provider, model = self._settings.provider, self._settings.model
        if self._given is not None or model or provider not in OURS or not OURS[provider].quick:
            return None
        return self._make(provider, OURS[provider].quick)

    def of(self, owner: Embedder) -> EmbeddingProvider:
        """The one that can embed questions, and more chunks, for vectors that are there."""
        self._require_on()
        chosen = self._given.name if self._given else self._settings.provider
        if self._given is not None and self._given.name == owner.name:
            return self._given
        provider, _, model = owner.name.partition("/")
        if provider == chosen or _is_local(provider):
            return self._make(provider, model)
        from aurora.embeddings.registry import REMOVED  # noqa: PLC0415 - as in `_make`

        set_back = "" if provider in REMOVED else ", or set `embedding.provider` back"
        raise EmbedderMismatchError(
            f"This memory holds vectors of {owner.name}, and the embedder chosen is {chosen}",
            hint=f"make its vectors again with `aur mem reembed`{set_back}",
        )

    def recipe_of(self, provider: EmbeddingProvider) -> Callable[[], EmbeddingProvider] | None:
        """How another process makes the same one: plain data, and a function that a name finds.

        None for what a program or another package brought, and for what only asks an endpoint: no
        key leaves this process.
        """
        from aurora.embeddings.registry import OURS, make_provider  # noqa: PLC0415 - as in `_make`

        for (name, model), made in self._made.items():
            if made is provider and name in OURS and OURS[name].computes:
                # There is one for each processor, so each has one thread.
                options = self._options(name, model)._replace(api_key="", threads=1)
                return partial(make_provider, name, options)
        return None

    def of_tokens(self, owner: Embedder | None) -> TokenEmbedder:
        """The model that reranks: the memory's own, if it can; else the onnx provider's usual."""
        provider, _, model = owner.name.partition("/") if owner else ("", "", "")
        return cast("TokenEmbedder", self._make("onnx", model if provider == "onnx" else ""))

    def _require_on(self) -> None:
        if self.are_off:
            raise EmbeddingError(
                "`embedding.provider` is none", hint="set it to aurora, or unset it"
            )

    def _make(self, name: str, model: str) -> EmbeddingProvider:
        from aurora.embeddings.registry import make_provider  # noqa: PLC0415 - not for `stats`

        with self._lock:
            key = (name, model)
            if key not in self._made:
                self._made[key] = make_provider(name, self._options(name, model))
            return self._made[key]

    def _options(self, name: str, model: str) -> ProviderOptions:
        from aurora.embeddings.base import ProviderOptions  # noqa: PLC0415

        settings = self._settings
        if name != settings.provider:  # what is set is for another
            return ProviderOptions(model, models=self._models)
        return ProviderOptions(
            model,
            settings.endpoint,
            settings.query_prefix,
            settings.document_prefix,
            EMBEDDING.key_in(self._environ, settings.endpoint),
            self._models,
        )


def _is_local(provider: str) -> bool:
    from aurora.embeddings.registry import OURS  # noqa: PLC0415 - as above

    return provider in OURS and OURS[provider].is_local
