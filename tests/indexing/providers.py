"""A small embedding provider that counts what it is asked, and fails where a test wants it to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

VOWELS = "aeiou"


def count_vowels(text: str) -> list[float]:
    """A vector that anyone can work out by hand."""
    return [float(text.lower().count(vowel)) for vowel in VOWELS]


@dataclass
class VowelProvider:
    """`make` answers a batch of texts; a test replaces it with something that fails."""

    make: Callable[[Sequence[str]], Sequence[Sequence[float]]] = field(
        default=lambda texts: [count_vowels(text) for text in texts]
    )
    name: str = "vowels"
    dimension: int = len(VOWELS)
    fingerprint: str = "1"
    batch_size: int = 4
    asked: list[list[str]] = field(default_factory=list)

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked.append(list(texts))
        return self.make(texts)

    def embed_query(self, text: str) -> Sequence[float]:
        return count_vowels(text)


def failing_for(word: str, error: Exception | None = None) -> VowelProvider:
    """One that cannot embed a text with this word in it, nor any batch that holds it."""

    def make(texts: Sequence[str]) -> list[list[float]]:
        if any(word in text for text in texts):
            raise error or ConnectionError("model is away")
        return [count_vowels(text) for text in texts]

    return VowelProvider(make)


def answering(vector: Sequence[float]) -> VowelProvider:
    """One that answers every text with the same vector."""
    return VowelProvider(lambda texts: [vector] * len(texts))
