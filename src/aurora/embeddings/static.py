"""One vector a piece of a word, and a text is the weighted sum of its pieces.

WordLlama's table of 32,000 × 256 numbers, 16 MB, mapped, of which a question touches a few rows;
the default before there was a model of our own. The files come with the package `wordllama`; its
code is not imported.

Words are taken in small letters and without punctuation, and one that comes often weighs the
logarithm of how often: docs/concepts/embeddings.md has what else was tried, and the numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.pieces import Pieces, read_pieces
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "wordllama-256"
_RECIPE = 1  # grows when the same text gives another vector
_PACKAGE = "wordllama"
_TABLE = "weights/l2_supercat_256.safetensors"
_VOCABULARY = "tokenizers/l2_supercat_tokenizer_config.json"
_WORD = re.compile(r"\w{1,100}")  # what is longer is no word, and would take long to cut


class StaticProvider:
    """Satisfies `EmbeddingProvider`; loads with the first text."""

    name = f"static/{MODEL}"
    dimension = 256
    fingerprint = f"l2_supercat-{_RECIPE}"
    batch_size = 256
    reads_cjk = False  # it cuts most characters to bytes, and takes more from words than it gives

    def __init__(self, options: ProviderOptions) -> None:
        if options.model not in ("", MODEL):
            raise EmbeddingError(
                f"The static provider has no model {options.model!r}",
                hint=f"set `embedding.model` to {MODEL}, or to nothing",
            )

    @cached_property
    def _pieces(self) -> Pieces:
        return read_pieces(_folder() / _VOCABULARY)

    @cached_property
    def _table(self) -> NDArray[np.generic]:
        from aurora.embeddings.aurora.weights import read_safetensors  # noqa: PLC0415 - numpy

        (table,) = read_safetensors(_folder() / _TABLE).values()
        return table

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - not before the first text

        from aurora.embeddings.pooling import unit_rows  # noqa: PLC0415

        at, pieces, weights = self._weigh(texts)
        touched, which = np.unique(np.asarray(pieces, np.int64), return_inverse=True)
        # What each piece weighs in each text, times the pieces: their sums. A row is read once.
        shape = (len(texts), len(touched))
        places = np.asarray(at, np.int64) * len(touched) + which
        weighed = np.bincount(places, weights, math.prod(shape)).reshape(shape)
        sums = weighed.astype(np.float32) @ self._table[touched].astype(np.float32)
        return cast("Sequence[Sequence[float]]", unit_rows(sums))

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]

    def _weigh(self, texts: Sequence[str]) -> tuple[list[int], list[int], list[float]]:
        """Which text, which piece, and how much of it: three lists of the same length."""
        at: list[int] = []
        pieces: list[int] = []
        weights: list[float] = []
        for place, text in enumerate(texts):
            for word, count in Counter(_WORD.findall(text.lower())).items():
                cut = self._pieces.of(word)
                at += [place] * len(cut)
                pieces += cut
                weights += [math.log1p(count)] * len(cut)
        return at, pieces, weights


def _folder() -> Path:
    """Where the package lies; finding it does not run it."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingError(
            f"The package {_PACKAGE}, which holds the static model, is not installed",
            hint="pip install 'aurora-memory[static]'",
        )
    return Path(spec.origin).parent
