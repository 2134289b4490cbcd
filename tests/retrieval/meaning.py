"""A small embedder that knows a few synonyms, and retrievers that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.stores.sqlite.store import SQLiteStore
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


def index_folder(store: Store) -> Path:
    """Beside the file; a store that ranks by itself has none, and whoever writes there fails."""
    return store.path.parent / "indexes" if isinstance(store, SQLiteStore) else Path("/dev/null")


def retriever_on(
    store: Store,
    embedder: EmbeddingProvider | None = None,
    *,
    listen: Listener = ignore_events,
    **config: object,
) -> HybridRetriever:
    return HybridRetriever(
        store,
        HybridConfig(**config),  # type: ignore[arg-type]
        index_folder=index_folder(store),
        now=lambda: NOW,
        embedders=None if embedder is None else lambda _: embedder,
        listen=listen,
    )


def remember(store: Store, *chunks: Chunk) -> None:
    """Chunks with their vectors."""
    store.chunks.put_chunks(chunks)
    embed_missing(store, WordProvider())
