"""Vectors of chunks, made here or by other processes with the same model.

Texts go there and vectors come back; what a vector belongs to, nobody there knows.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, SpreadingError
from aurora.indexing.packing import packed, unit_rows
from aurora.stores.base import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aurora.indexing.spreading import Spreader

logger = logging.getLogger(__name__)

LABEL_SHARE = 0.5  # of a label in the vector of its text: docs/concepts/embeddings.md

Vectors: TypeAlias = list[bytes]
LabelRows: TypeAlias = "dict[str, NDArray[np.float64]]"  # of the batch before
Made: TypeAlias = Generator[Vectors | None, None, None]  # none: each text must be tried alone


class ChunkText(NamedTuple):
    """What a vector is made of. A label weighs the same, however long the text is."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Who works, and how each of them makes its provider: by a function that its name finds."""

    spreader: Spreader
    make: Callable[[], EmbeddingProvider]

    def embed(self, embedder: Embedder, batches: Iterable[Sequence[ChunkText]]) -> Made:
        """The vectors of each batch, by no other embedder than this."""
        return self.spreader.map_batches(EmbedTexts(self.make, embedder), batches)


class EmbedTexts:
    """What is sent. The model is loaded with the first batch, and stays with the worker."""

    def __init__(self, make: Callable[[], EmbeddingProvider], embedder: Embedder) -> None:
        self._make, self._embedder = make, embedder
        self._provider: EmbeddingProvider | None = None
        self._labels: LabelRows = {}

    def __call__(self, texts: Sequence[ChunkText]) -> Vectors | None:
        if self._provider is None:
            self._provider = self._checked()
        return try_vectors(self._provider, texts, self._labels)

    def _checked(self) -> EmbeddingProvider:
        try:
            provider = self._make()
            found = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except Exception as exc:  # no such model there, or no package for it
            said = exc.in_one_line if isinstance(exc, AuroraError) else repr(exc)
            raise SpreadingError(f"On {platform.node()} nothing can be embedded: {said}") from exc
        if found != self._embedder:
            raise SpreadingError(
                f"On {platform.node()} the model is {found.name} ({found.fingerprint}), "
                f"not {self._embedder.name} ({self._embedder.fingerprint})",
                hint="give all machines the same model and the same version of Aurora",
            )
        return provider


def vectors_of(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows | None = None
) -> Vectors:
    """As a store keeps them. Raises whatever the provider does; it may be anybody's code.

    `labels`: what is known of the batch before. The chunks of a file come one after the other, and
    its path is asked for once.
    """
    made = _unit_rows(provider, [text.text for text in texts])
    labels = {} if labels is None else labels
    if told := list(dict.fromkeys(text.label for text in texts if text.label)):
        _learn(provider, told, labels)
        for at, text in enumerate(texts):
            if text.label:
                made[at] += LABEL_SHARE * labels[text.label]
        made = unit_rows(made, count=len(texts), dimension=provider.dimension)
    return list(packed(made))


def _learn(provider: EmbeddingProvider, told: Sequence[str], labels: LabelRows) -> None:
    """From now on, these are known and no others."""
    new = [label for label in told if label not in labels]
    rows = dict(zip(new, _unit_rows(provider, new), strict=True)) if new else {}
    known = {label: labels[label] for label in told if label in labels}
    labels.clear()
    labels.update(known | rows)


def _unit_rows(provider: EmbeddingProvider, texts: Sequence[str]) -> NDArray[np.float64]:
    made = provider.embed_batch(texts)
    return unit_rows(made, count=len(texts), dimension=provider.dimension)


def try_vectors(
    provider: EmbeddingProvider, texts: Sequence[ChunkText], labels: LabelRows
) -> Vectors | None:
    """None where they cannot be made together: one text may be the reason."""
    if not texts:
        return []
    try:
        return vectors_of(provider, texts, labels)
    except Exception as exc:  # in any way
        logger.info("a batch of %d could not be embedded: %r", len(texts), exc)
        return None
