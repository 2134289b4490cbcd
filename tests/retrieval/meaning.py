"""A small embedder that knows a few synonyms, and retrievers that use it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from zlib import crc32

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Chunk, Listener, ignore_events
from tests.builders import NOW

SYNONYMS = {"authentication": "login", "signin": "login", "car": "vehicle", "auto": "vehicle"}
_WORD = re.compile(r"[a-z]+")


@dataclass
class WordProvider:
    """Counts words in as many places as it has dimensions; synonyms are counted in one place."""

    name: str = "words"
    dimension: int = 64
    fingerprint: str = "1"
    batch_size: int = 100
    queries: list[str] = field(default_factory=list)
    batches: int = 0

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.batches += 1
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        self.queries.append(text)
        return self.vector(text)

    def vector(self, text: str) -> list[float]:
        counts = [0.0] * self.dimension
        for word in _WORD.findall(text.lower()):
            counts[crc32(SYNONYMS.get(word, word).encode()) % self.dimension] += 1.0
        return counts


class BrokenProvider(WordProvider):
    """Embeds chunks, but no question."""

    def embed_query(self, text: str) -> Sequence[float]:
        self.queries.append(text)
        raise RuntimeError("Model load failed")


def retriever_on(
    store: SQLiteStore,
    embedder: EmbeddingProvider | None = None,
    *,
    listen: Listener = ignore_events,
    **config: object,
) -> HybridRetriever:
    return HybridRetriever(
        store,
        HybridConfig(**config),  # type: ignore[arg-type]
        index_folder=store.path.parent / "indexes",
        now=lambda: NOW,
        embedder=embedder,
        listen=listen,
    )


def remember(store: SQLiteStore, *chunks: Chunk) -> None:
    """Chunks with their vectors."""
    store.put_chunks(chunks)
    embed_missing(store, WordProvider())
