"""Embedding models by the names that benchmarks are given: PROVIDER, or PROVIDER:MODEL.

Those that `embedding.provider` may name, and `distilled`, which Aurora does not have: it is here
to be compared with. `@numpy` at the end: as if onnxruntime were not installed; that holds for the
whole process, so only a process of its own asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider

NUMPY = "@numpy"
DEFAULT = "aurora"

# Settings for a model that Aurora knows no shares of.
_SETTINGS: Mapping[str, Mapping[str, object]] = {
    "distilled": {
        "search.fusion": "auto",  # else who sets the share of `weighted` has that fusion
        "search.weighted.semantic": 0.3,
        "search.auto.prose": 0.4,
        "search.auto.code": 0.55,
    }
}


def make_embedder(spec: str, models: Path) -> EmbeddingProvider:
    """Raises `AuroraError` or `ImportError` where it cannot be had."""
    # Nothing of Aurora is imported before: how long that takes is measured, too.
    from aurora.embeddings.base import ProviderOptions  # noqa: PLC0415
    from aurora.embeddings.registry import make_provider  # noqa: PLC0415

    if spec.endswith(NUMPY):
        hide_package("onnxruntime")
    name, _, model = spec.removesuffix(NUMPY).partition(":")
    options = ProviderOptions(model=model, models=models)
    if name == "distilled":
        from quality.distilled import Distilled  # noqa: PLC0415

        return Distilled(options)
    return make_provider(name, options)


def default_embedder() -> EmbeddingProvider:
    """The model that comes with Aurora."""
    return make_embedder(DEFAULT, Path("models"))


class DrawnVectors:
    """Vectors drawn by lot, under the default model's name and size: their cost is the same."""

    batch_size = 1000

    def __init__(self) -> None:
        model = default_embedder()
        self.name, self.fingerprint = model.name, model.fingerprint
        self.dimension = model.dimension

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - not before it is needed

        drawn = [np.random.default_rng(crc32(text.encode())) for text in texts]
        vectors = np.array([lot.standard_normal(self.dimension, np.float32) for lot in drawn])
        scaled: Sequence[Sequence[float]] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return scaled

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]


def settings_of(name: str) -> Mapping[str, object]:
    """Settings to search with, by the provider's own PROVIDER/MODEL; mostly none."""
    return _SETTINGS.get(name.partition("/")[0], {})


def hide_package(name: str) -> None:
    """From now on it is not installed."""
    sys.meta_path[:] = [_Without(finder, name) for finder in sys.meta_path]


@dataclass(frozen=True)
class _Without(MetaPathFinder):
    finder: Any  # whatever Python has there
    hidden: str

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] == self.hidden:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)
