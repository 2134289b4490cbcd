"""The embedding providers by name: ours, and those that other packages bring.

A package adds one by an entry point of the group `aurora.embedding_providers`: its name is what
`embedding.provider` says, its object is called with `ProviderOptions` and gives a provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.errors import ConfigError, EmbeddingError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "aurora.embedding_providers"
NONE = "none"

Factory = Callable[[ProviderOptions], EmbeddingProvider]


class ProviderKind(NamedTuple):
    """One of our own."""

    factory: str  # module:callable
    is_local: bool = True  # neither sends a text away nor runs what a stranger's file names
    computes: bool = True  # by the processors it runs on, so that more of them help
    quick: str = ""  # the model that makes do at first, where its own choice takes its time


OURS = {
    "aurora": ProviderKind("aurora.embeddings.aurora.provider:AuroraProvider", quick="shallow"),
    "static": ProviderKind("aurora.embeddings.static:StaticProvider"),
    "onnx": ProviderKind("aurora.embeddings.onnx.provider:OnnxProvider"),
    "sentence-transformers": ProviderKind(
        "aurora.embeddings.sentence_transformers:SentenceTransformersProvider", is_local=False
    ),
    "openai": ProviderKind(
        "aurora.embeddings.openai:OpenAIProvider", is_local=False, computes=False
    ),
}


# What meaning has in `weighted`, by provider and model; why is in docs/concepts/embeddings.md.
_SHARE = 0.7  # seeds 001 and 004
_SHARES = {
    "aurora/deep": 0.24,
    "aurora/shallow": 0.25,
    "static/wordllama-256": 0.3,
    "onnx/all-minilm-l6-v2": 0.4,
}


def share_of(name: str) -> float:
    """What vectors of PROVIDER/MODEL may weigh beside words, unless the settings say."""
    return _SHARES.get(name, _SHARE)


class Shares(NamedTuple):
    """What meaning has in `auto`, among prose and among code."""

    prose: float
    code: float


_TRUSTED = Shares(0.5, 0.75)
_TRUST = {
    "aurora/deep": Shares(0.3, 0.8),
    "aurora/shallow": Shares(0.3, 0.65),
    "static/wordllama-256": Shares(0.4, 0.55),
}


def trust_of(name: str) -> Shares:
    """Likewise in `auto`."""
    return _TRUST.get(name, _TRUSTED)


def provider_names() -> list[str]:
    """Every name that `embedding.provider` may have."""
    return [*OURS, *sorted({entry.name for entry in _others()}), NONE]


def make_provider(name: str, options: ProviderOptions) -> EmbeddingProvider:
    """The provider of that name. Raises `EmbeddingError` where something is missing for it."""
    try:
        return _factory(name)(options)
    except (ConfigError, EmbeddingError):
        raise
    except Exception as exc:  # another package's code may fail in any way
        raise EmbeddingError(f"The embedding provider {name!r} cannot be made: {exc}") from exc


def _factory(name: str) -> Factory:
    if name in OURS:
        module, _, attribute = OURS[name].factory.partition(":")
        return cast("Factory", getattr(import_module(module), attribute))
    for entry in _others():
        if entry.name == name:
            return _load(entry)
    names = ", ".join(provider_names())
    raise ConfigError(
        f"There is no embedding provider {name!r}",
        hint=f"set `embedding.provider` to one of {names}",
    )


def _load(entry: EntryPoint) -> Factory:
    try:
        return cast("Factory", entry.load())
    except Exception as exc:  # as above
        raise EmbeddingError(
            f"The embedding provider {entry.name!r} of {entry.value} cannot be loaded: {exc}"
        ) from exc


def _others() -> Iterator[EntryPoint]:
    """Nobody takes one of our names."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and ours need none

    yield from (entry for entry in entry_points(group=GROUP) if entry.name not in {*OURS, NONE})
