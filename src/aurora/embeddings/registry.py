"""The embedding providers by name: the built-in ones, and those of other packages.

A package adds a provider with an entry point of the group `aurora.embedding_providers`. Its name is
the value of `embedding.provider`; its object takes `ProviderOptions` and returns a provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.errors import ConfigError, EmbeddingError
from aurora.quick_classes import NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "aurora.embedding_providers"
NONE = "none"

Factory = Callable[[ProviderOptions], EmbeddingProvider]


class ProviderKind(NamedTuple):
    """A built-in provider."""

    factory: str  # module:callable
    is_local: bool = True  # sends no text away, and runs no code that a model's file names
    computes: bool = True  # on the processors of this machine, so that more of them help
    quick: str = ""  # the model for a first large index, until the usual one is done


OURS = {
    "aurora": ProviderKind("aurora.embeddings.aurora.provider:AuroraProvider", quick="shallow"),
    "onnx": ProviderKind("aurora.embeddings.onnx:OnnxProvider"),
    "sentence-transformers": ProviderKind(
        "aurora.embeddings.sentence_transformers:SentenceTransformersProvider", is_local=False
    ),
    "openai": ProviderKind(
        "aurora.embeddings.openai:OpenAIProvider", is_local=False, computes=False
    ),
}
REMOVED = {"static": "WordLlama"}  # providers of earlier versions, and the model behind each


class Shares(NamedTuple):
    """The share of the semantic signal; docs/concepts/embeddings.md has the reasons."""

    weighted: float = 0.7  # in the fusion `weighted`
    prose: float = 0.5  # in the fusion `auto`, in prose and in code
    code: float = 0.75


_SHARES = {
    "aurora/deep": Shares(0.24, 0.3, 0.75),
    "aurora/shallow": Shares(0.25, 0.3, 0.65),
    "onnx/all-minilm-l6-v2": Shares(0.4),
}


def trust_of(name: str) -> Shares:
    """The shares of PROVIDER/MODEL, unless the settings say."""
    return _SHARES.get(name, Shares())


def share_of(name: str) -> float:
    """The share in the fusion `weighted`, unless the settings say."""
    return trust_of(name).weighted


def provider_names() -> list[str]:
    """All values that `embedding.provider` may have."""
    return [*OURS, *sorted({entry.name for entry in _entry_points()}), NONE]


def make_provider(name: str, options: ProviderOptions) -> EmbeddingProvider:
    """The provider of that name. Raises `EmbeddingError` where it cannot be made."""
    try:
        return _factory(name)(options)
    except (ConfigError, EmbeddingError):
        raise
    except Exception as exc:  # another package's code may raise anything
        raise EmbeddingError(f"The embedding provider {name!r} cannot be made: {exc}") from exc


def _factory(name: str) -> Factory:
    if name in OURS:
        module, _, attribute = OURS[name].factory.partition(":")
        return cast("Factory", getattr(import_module(module), attribute))
    for entry in _entry_points():
        if entry.name == name:
            return _load(entry)
    if name in REMOVED:
        raise ConfigError(
            f"The embedding provider {name!r} ({REMOVED[name]}) was removed from Aurora",
            hint="unset `embedding.provider` to use the bundled model; "
            "`aur mem reembed` makes the vectors of a memory again",
        )
    raise ConfigError(
        f"There is no embedding provider {name!r}",
        hint=f"set `embedding.provider` to one of {', '.join(provider_names())}",
    )


def _load(entry: EntryPoint) -> Factory:
    try:
        return cast("Factory", entry.load())
    except Exception as exc:  # another package's code may raise anything
        raise EmbeddingError(
            f"The embedding provider {entry.name!r} of {entry.value} cannot be loaded: {exc}"
        ) from exc


def _entry_points() -> Iterator[EntryPoint]:
    """Those of other packages; none replaces a built-in provider."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and ours need none

    yield from (entry for entry in entry_points(group=GROUP) if entry.name not in {*OURS, NONE})
