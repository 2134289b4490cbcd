"""Embeddings by a transformer that onnxruntime runs: the extra `onnx`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.onnx.catalogue import KNOWN
from aurora.embeddings.onnx.installed import Manifest, model_folder, read_manifest
from aurora.embeddings.onnx.packages import check_packages
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aurora.embeddings.onnx.text_vectors import TextVectors

DEFAULT_MODEL = "all-minilm-l6-v2"
_RECIPE = 1  # raise it when the same files come to give other vectors
_POOLINGS = ("mean", "cls")


class OnnxProvider:
    """A model of the folder `models`. Raises `EmbeddingError` where it or a package is missing."""

    batch_size = 32  # texts are run one by one, so this only says how often progress is told

    def __init__(self, options: ProviderOptions) -> None:
        check_packages("onnxruntime", "tokenizers")
        self._threads = options.threads
        self._folder = model_folder(options.models, options.model or DEFAULT_MODEL)
        self._manifest = _checked(read_manifest(self._folder))
        self._query_prefix = options.query_prefix or self._manifest.query_prefix
        self._document_prefix = options.document_prefix or self._manifest.document_prefix

    @property
    def name(self) -> str:
        return f"onnx/{self._folder.name}"

    @property
    def dimension(self) -> int:
        return self._manifest.dimension

    @property
    def fingerprint(self) -> str:
        model = self._manifest
        prefixes = [self._query_prefix, self._document_prefix]
        facts = [_RECIPE, model.pooling, model.window, prefixes, sorted(model.files.items())]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    @property
    def reads_cjk(self) -> bool:
        known = KNOWN.get(self._folder.name)
        return known is None or known.reads_cjk

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._vectors.of_texts(texts, self._document_prefix).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._vectors.of_texts([text], self._query_prefix)[0].tolist()
        return vector

    def token_vectors(self, text: str, *, is_query: bool = False) -> NDArray[np.float32]:
        """A vector of length 1 for each token of the text, for late interaction."""
        prefix = self._query_prefix if is_query else self._document_prefix
        return self._vectors.of_tokens(text, prefix)

    @cached_property
    def _vectors(self) -> TextVectors:
        # numpy is only needed with the first text
        from aurora.embeddings.onnx.text_vectors import TextVectors  # noqa: PLC0415

        return TextVectors(self._folder, threads=self._threads)


def _checked(manifest: Manifest) -> Manifest:
    """Raises `EmbeddingError` for a manifest that is JSON, but tells nothing usable."""
    if manifest.pooling not in _POOLINGS:
        raise EmbeddingError(
            f"The model {manifest.name} wants the pooling {manifest.pooling!r}",
            hint=f"only {' and '.join(_POOLINGS)} are known",
        )
    return manifest
