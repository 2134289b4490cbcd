"""What makes vectors of texts. Which one is used is chosen above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingProvider(Protocol):
    """A model that turns texts into vectors of one dimension.

    `fingerprint` changes whenever the same text would give another vector: two providers with the
    same name, dimension and fingerprint may fill one memory.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def batch_size(self) -> int:
        """How many texts are best given at once."""
        ...

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in the same order. Any exception means that none could be made."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question: some models treat it in another way than what is found."""
        ...
