"""The provider of the bundled model, at two depths: `deep` and `shallow`.

`deep` reads pieces in their context, `shallow` adds them up. Both use the same table, which ships
with the package; docs/model-card.md says what it was trained on and how good it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aurora.embeddings.aurora.tokens import PIECES, Tokenizer, read_tokenizer
from aurora.embeddings.base import ProviderOptions
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    from aurora.embeddings.aurora.model import Model

FOLDER = Path(__file__).parent / "model"
WEIGHTS = "734736f7e14e"  # `weights_digest` of the folder
DEEP, SHALLOW = "deep", "shallow"
_RECIPES = {DEEP: 2, SHALLOW: 1}  # raise one when the same files come to give other vectors
_BATCH_SIZES = {DEEP: 128, SHALLOW: 256}


class AuroraProvider:
    """Satisfies `EmbeddingProvider`; numpy and the model load with the first text."""

    dimension = 256
    batches_at_once = 2  # the layers run while the next text is split into pieces
    reads_cjk = True  # a little: with keywords it gains on all CJK sets, docs/model-card.md

    def __init__(
        self, options: ProviderOptions, *, folder: Path = FOLDER, weights: str = WEIGHTS
    ) -> None:
        depth = options.model or DEEP
        if depth not in _BATCH_SIZES:
            raise EmbeddingError(
                f"The aurora provider has no model {depth!r}",
                hint=f"set `embedding.model` to {DEEP} or {SHALLOW}, or to nothing",
            )
        self.name, self.fingerprint = f"aurora/{depth}", f"{weights}-{_RECIPES[depth]}"
        self.batch_size, self._is_deep = _BATCH_SIZES[depth], depth == DEEP
        self._folder, self._weights, self._threads = folder, weights, options.threads

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if len(texts) > 1:  # a single query does not wait for the check
            self._model.check()
        rows = self._model.embed(self._tokenizer, texts, deep=self._is_deep)
        return cast("Sequence[Sequence[float]]", rows)

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]

    def knows(self, text: str) -> bool:
        return self._tokenizer.knows(text)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return _open_tokenizer(self._folder / PIECES)

    @cached_property
    def _model(self) -> Model:
        return _open_model(self._folder, self._weights, self._threads)


# All memories of a process share what was opened: that takes 70 ms and 20 MB each time.
_open_tokenizer = cache(read_tokenizer)


@cache
def _open_model(folder: Path, weights: str, threads: int) -> Model:
    from aurora.embeddings.aurora.model import Model  # noqa: PLC0415 - numpy

    return Model(folder, weights, threads=threads)
