"""A small embedder that knows a few synonyms, and retrievers that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Chunk, Listener, ignore_events
from tests.builders import NOW
from tests.embedders import WordsProvider


@dataclass
class WordProvider(WordsProvider):
    """Words and synonyms in a few dimensions; it counts the batches."""

    dimension: int = 64
    batches: int = 0

    @property
    def queries(self) -> list[str]:
        return self.questions

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches += 1
        return super().embed_batch(texts)


class BrokenProvider(WordProvider):
    """Embeds chunks, but no question."""

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
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
        embedders=None if embedder is None else lambda _: embedder,
        listen=listen,
    )


def remember(store: SQLiteStore, *chunks: Chunk) -> None:
    """Chunks with their vectors."""
    store.put_chunks(chunks)
    embed_missing(store, WordProvider())
