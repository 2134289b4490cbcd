"""Embedding providers whose vectors can be worked out by hand, and one that knows synonyms."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aurora.text import tokenize

# What a model would have learnt: words on the left mean what stands on the right.
SYNONYMS = {
    "login": "authenticate", "signin": "authenticate", "credentials": "authenticate",
    "auth": "authenticate", "verify": "authenticate", "authentication": "authenticate",
    "password": "authenticate", "delete": "remove", "erase": "remove", "drop": "remove",
    "purge": "remove", "fetch": "load", "read": "load", "retrieve": "load", "settings": "config",
    "car": "vehicle", "auto": "vehicle", "configuration": "config",
    "preferences": "config", "options": "config",
}  # fmt: skip


def words_vector(text: str, dimension: int) -> list[float]:
    """How often each word comes, every word at a place of its own, synonyms at one."""
    vector = [0.0] * dimension
    for token in tokenize(text):
        word = SYNONYMS.get(token, token)
        vector[zlib.crc32(word.encode("utf-8", "replace")) % dimension] += 1.0
    return vector


@dataclass
class WordsProvider:
    """A hashed bag of words, with synonyms; it remembers the questions it was asked."""

    name: str = "words"
    dimension: int = 2048
    fingerprint: str = "1"
    batch_size: int = 64
    questions: list[str] = field(default_factory=list)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        return [words_vector(text, self.dimension) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        return words_vector(text, self.dimension)


@dataclass
class TableProvider:
    """The vector of the first word of the table that a text has; without one, it points nowhere."""

    table: Mapping[str, Sequence[float]]
    asked: Callable[[str], Sequence[float]] | None = None  # what answers questions, if not this
    name: str = "table"
    fingerprint: str = "1"
    batch_size: int = 64

    @property
    def dimension(self) -> int:
        return len(next(iter(self.table.values())))

    def embed_batch(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return self._vector(text) if self.asked is None else self.asked(text)

    def _vector(self, text: str) -> Sequence[float]:
        found = (vector for word, vector in self.table.items() if word in text)
        return next(found, [0.0] * self.dimension)
