"""The provider of the bundled model, at two depths: `deep` and `shallow`.

`deep` reads pieces in their context, `shallow` adds them up. Both use the same table, which ships
with the package; docs/model-card.md says what it was trained on and how good it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aurora.embeddings.aurora.tokens import PIECES, Tokenizer, read_tokenizer
from aurora.embeddings.base import ProviderOptions
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    from aurora.embeddings.aurora.model import LayerRunner
    from aurora.embeddings.aurora.weights import Floats, Tensors

FOLDER = Path(__file__).parent / "model"
WEIGHTS = "734736f7e14e"  # `weights_digest` of the folder
DEEP, SHALLOW = "deep", "shallow"
_RECIPE = 1  # raise it when the same files come to give other vectors
_BATCH_SIZES = {DEEP: 64, SHALLOW: 256}


class AuroraProvider:
    """Satisfies `EmbeddingProvider`; numpy and the model load with the first text."""

    dimension = 256
    reads_cjk = True  # a little: with keywords it gains on all CJK sets, docs/model-card.md

    def __init__(
        self, options: ProviderOptions, *, folder: Path = FOLDER, weights: str = WEIGHTS
    ) -> None:
        self._model = options.model or DEEP
        if self._model not in _BATCH_SIZES:
            raise EmbeddingError(
                f"The aurora provider has no model {self._model!r}",
                hint=f"set `embedding.model` to {DEEP} or {SHALLOW}, or to nothing",
            )
        self._threads = options.threads
        self._folder = folder
        self._weights = weights
        self._is_checked = False

    @property
    def name(self) -> str:
        return f"aurora/{self._model}"

    @property
    def fingerprint(self) -> str:
        return f"{self._weights}-{_RECIPE}"

    @property
    def batch_size(self) -> int:
        return _BATCH_SIZES[self._model]

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        from aurora.embeddings.pooling import unit_rows  # noqa: PLC0415 - numpy, here and below

        if len(texts) > 1 and not self._is_checked:  # a single query does not wait for the check
            from aurora.embeddings.aurora.weights import check_weights  # noqa: PLC0415

            check_weights(self._folder, self._weights)
            self._is_checked = True
        pieces = [self._tokenizer.encode(text) for text in texts]
        return cast("Sequence[Sequence[float]]", unit_rows(self._sums(pieces)))

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]

    def knows(self, text: str) -> bool:
        return self._tokenizer.knows(text)

    def _sums(self, texts: Sequence[Sequence[int]]) -> Floats:
        from aurora.embeddings.aurora.model import deep_sums, shallow_sums  # noqa: PLC0415

        if self._model == SHALLOW:
            return shallow_sums(self._tensors, texts)
        return deep_sums(self._tensors, self._layers, texts)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return read_tokenizer(self._folder / PIECES)

    @cached_property
    def _tensors(self) -> Tensors:
        from aurora.embeddings.aurora.weights import read_tensors  # noqa: PLC0415

        return read_tensors(self._folder, self._tokenizer.size)

    @cached_property
    def _layers(self) -> LayerRunner:
        from aurora.embeddings.aurora.model import LayerRunner  # noqa: PLC0415

        return LayerRunner(self._tensors, self._folder, threads=self._threads)
