"""Aurora's own model, at two depths: `deep` reads pieces beside each other, `shallow` sums them up.

Both read the same table, which comes with the package and which `training/` makes;
docs/model-card.md tells of what, and how good it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aurora.embeddings.aurora.tokens import PIECES, Words, read_words
from aurora.embeddings.base import ProviderOptions
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    from aurora.embeddings.aurora.model import Runtime
    from aurora.embeddings.aurora.weights import Floats, Tensors


FOLDER = Path(__file__).parent / "model"
WEIGHTS = "734736f7e14e"  # what `weights_digest` says of the folder
DEEP, SHALLOW = "deep", "shallow"
_RECIPE = 1  # grows when the same files come to give other vectors
_BATCHES = {DEEP: 64, SHALLOW: 256}


class AuroraProvider:
    """Satisfies `EmbeddingProvider`; loads with the first text."""

    dimension = 256
    reads_cjk = True  # a little: beside words it gains on all CJK sets, docs/model-card.md

    def __init__(
        self, options: ProviderOptions, *, folder: Path = FOLDER, weights: str = WEIGHTS
    ) -> None:
        self._model = options.model or DEEP
        if self._model not in _BATCHES:
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
        return _BATCHES[self._model]

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        from aurora.embeddings.pooling import unit_rows  # noqa: PLC0415 - numpy, here and below

        if len(texts) > 1:  # a single question need not wait for it
            self._check()
        pieces = [self._words.of(text) for text in texts]
        return cast("Sequence[Sequence[float]]", unit_rows(self._sums(pieces)))

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]

    def knows(self, text: str) -> bool:
        return self._words.knows(text)

    def _sums(self, texts: Sequence[Sequence[int]]) -> Floats:
        if self._model == SHALLOW:
            from aurora.embeddings.aurora.model import shallow_sums  # noqa: PLC0415

            return shallow_sums(self._tensors, texts)
        from aurora.embeddings.aurora.model import deep_sums  # noqa: PLC0415

        return deep_sums(self._tensors, self._runtime, texts)

    def _check(self) -> None:
        from aurora.embeddings.aurora.weights import check_weights  # noqa: PLC0415

        if not self._is_checked:
            check_weights(self._folder, self._weights)
            self._is_checked = True

    @cached_property
    def _words(self) -> Words:
        return read_words(self._folder / PIECES)

    @cached_property
    def _tensors(self) -> Tensors:
        from aurora.embeddings.aurora.weights import read_tensors  # noqa: PLC0415

        return read_tensors(self._folder, self._words.size)

    @cached_property
    def _runtime(self) -> Runtime:
        from aurora.embeddings.aurora.model import Runtime  # noqa: PLC0415

        return Runtime(self._tensors, self._folder, threads=self._threads)
