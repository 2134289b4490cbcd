"""Chooses the embedding provider: the one of the settings, or the one of a memory's vectors.

A memory keeps its provider until `aur mem reembed`. Its file may come from a stranger, so it must
not decide where texts go or what code runs: its provider is used only if it is local, or if the
settings choose the same one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from aurora.config.schema import EmbeddingSettings
from aurora.embeddings.base import EmbeddingProvider, ProviderOptions, TokenEmbedder
from aurora.embeddings.registry import OURS, REMOVED, make_provider
from aurora.errors import EmbedderMismatchError, EmbeddingError
from aurora.stores.base import Embedder

_NONE = "none"
OWN_MODELS = "aurora/"  # how the names of Aurora's own models begin


class Embedders:
    """Creates each provider once. A provider loads its model with its first text."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        models: Path,
        environ: Mapping[str, str],
        given: EmbeddingProvider | None = None,
    ) -> None:
        self._settings, self._models, self._environ = settings, models, environ
        self._given = given  # by a program that uses Aurora
        self._providers: dict[tuple[str, str], EmbeddingProvider] = {}
        self._lock = threading.Lock()

    @property
    def are_off(self) -> bool:
        return self._settings.provider == _NONE

    @property
    def is_remote(self) -> bool:
        """Whether texts are sent to another machine."""
        return self._given is None and self._settings.provider == "openai"

    def chosen(self) -> EmbeddingProvider:
        """The provider of a new memory."""
        self._require_on()
        return self._given or self._make(self._settings.provider, self._settings.model)

    def quick(self) -> EmbeddingProvider | None:
        """A faster provider for many new chunks, until the chosen one has replaced its vectors.

        None if the settings name a model.
        """
        provider, model = self._settings.provider, self._settings.model
        if self._given is not None or model or provider not in OURS or not OURS[provider].quick:
            return None
        return self._make(provider, OURS[provider].quick)

    def is_quick(self, owner: Embedder | None) -> bool:
        """Whether the quick provider made a memory's vectors."""
        quick = self.quick()
        return quick is not None and owner is not None and owner.name == quick.name

    def is_earlier(self, owner: Embedder | None) -> bool:
        """Whether an earlier version of the chosen provider, one of Aurora's own, made them."""
        if self.are_off or owner is None or not owner.name.startswith(OWN_MODELS):
            return False
        chosen = self.chosen()
        return owner.name == chosen.name and owner.fingerprint != chosen.fingerprint

    def of(self, owner: Embedder) -> EmbeddingProvider:
        """The provider that made a memory's vectors."""
        self._require_on()
        chosen = self._given.name if self._given else self._settings.provider
        if self._given is not None and self._given.name == owner.name:
            return self._given
        provider, _, model = owner.name.partition("/")
        if provider == chosen or (provider in OURS and OURS[provider].is_local):
            return self._make(provider, model)
        set_back = "" if provider in REMOVED else ", or set `embedding.provider` back"
        raise EmbedderMismatchError(
            f"This memory holds vectors of {owner.name}, and the embedder chosen is {chosen}",
            hint=f"make its vectors again with `aur mem reembed`{set_back}",
        )

    def recipe_of(self, provider: EmbeddingProvider) -> Callable[[], EmbeddingProvider] | None:
        """A function that creates the same provider on another machine, with plain arguments.

        None for a provider of another package, and for one that calls an endpoint: no key leaves
        this process.
        """
        for (name, model), own in self._providers.items():
            if own is provider and name in OURS and OURS[name].computes:
                # Each processor runs one provider, so each has one thread.
                options = self._options(name, model)._replace(api_key="", threads=1)
                return partial(make_provider, name, options)
        return None

    def of_tokens(self, owner: Embedder | None) -> TokenEmbedder:
        """The model that reranks: the memory's own, if it can; else the default of `onnx`."""
        provider, _, model = owner.name.partition("/") if owner else ("", "", "")
        return cast("TokenEmbedder", self._make("onnx", model if provider == "onnx" else ""))

    def _require_on(self) -> None:
        if self.are_off:
            raise EmbeddingError(
                "`embedding.provider` is none", hint="set it to aurora, or unset it"
            )

    def _make(self, name: str, model: str) -> EmbeddingProvider:
        with self._lock:
            key = (name, model)
            if key not in self._providers:
                self._providers[key] = make_provider(name, self._options(name, model))
            return self._providers[key]

    def _options(self, name: str, model: str) -> ProviderOptions:
        settings = self._settings
        if name != settings.provider:  # the other settings belong to that provider
            return ProviderOptions(model, models=self._models)
        return ProviderOptions(
            model,
            settings.endpoint,
            settings.query_prefix,
            settings.document_prefix,
            api_key(self._environ, "embedding", settings.endpoint),
            self._models,
        )


def api_key(environ: Mapping[str, str], section: str, endpoint: str) -> str:
    """The key for an endpoint: Aurora's own variable, or OpenAI's if the endpoint is OpenAI."""
    own = environ.get(f"AURORA_{section.upper()}_API_KEY", "")
    is_openai = not endpoint or urlsplit(endpoint).hostname == "api.openai.com"
    return own or (environ.get("OPENAI_API_KEY", "") if is_openai else "")
