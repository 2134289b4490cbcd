"""A small embedder that knows a few synonyms, and retrievers that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Listener, SearchResult, ignore_events
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
    """It shows weak answers, too: a few chunks cannot tell which answer is good."""
    return HybridRetriever(
        store,
        HybridConfig(**{"min_score": 0.0} | config),  # type: ignore[arg-type]
        index_folder=index_folder(store),
        now=lambda: NOW,
        embedders=None if embedder is None else lambda _: embedder,
        listen=listen,
    )


def shares(result: SearchResult) -> dict[str, float]:
    """The share of each signal in a score: confidence scales the parts of a fusion alike."""
    return {part.signal: part.value / result.score for part in result.contributions}


def assert_weighted(results: Sequence[SearchResult], **weights: float) -> None:
    """Each score is made of normalised scores with these weights, and the best sum is first."""
    sums = []
    for result in results:
        parts = {signal: weight * result.normalised(signal) for signal, weight in weights.items()}
        sums.append(sum(parts.values()))
        if not sums[-1]:
            assert result.score == 0.0
            continue
        found = {signal: share for signal, share in shares(result).items() if share}
        expected = {signal: part / sums[-1] for signal, part in parts.items() if part}
        assert found == pytest.approx(expected, abs=1e-9)
    for before, after in pairwise(sums):
        assert before >= after - 1e-12


def remember(store: Store, *chunks: Chunk) -> None:
    """Chunks with their vectors."""
    store.chunks.put_chunks(chunks)
    embed_missing(store, WordProvider())
