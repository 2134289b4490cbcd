"""What the tests of searching share: a store, and searches of it in one line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from aurora import Places
from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.base import Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Mode, Query, SearchResults
from tests.backends import keep_on_server
from tests.builders import NOW
from tests.retrieval.meaning import index_folder


class Searched:
    """A memory of some chunks, with vectors where there is a provider.

    It shows weak answers, too: a few chunks cannot tell which answer is good.
    """

    def __init__(self, store: Store, **config: object) -> None:
        self.store, self._config = store, config
        self.provider: EmbeddingProvider | None = None

    def put(self, *chunks: Chunk, provider: EmbeddingProvider | None = None) -> None:
        self.store.chunks.put_chunks(chunks)
        if provider is not None:
            self.provider = provider
            assert embed_missing(self.store, provider).failed == 0

    def retriever(
        self, now: datetime = NOW, projects: frozenset[str] = frozenset(), **config: object
    ) -> HybridRetriever:
        return HybridRetriever(
            self.store,
            HybridConfig(**{"min_score": 0.0} | self._config | config),  # type: ignore[arg-type]
            index_folder=index_folder(self.store),
            now=lambda: now,
            embedders=None if self.provider is None else lambda _: self.provider,
            projects=projects,
        )

    def search(
        self,
        text: str,
        mode: str = "hybrid",
        *,
        limit: int = 10,
        min_score: float | None = None,
        least: float = 0.0,
        now: datetime = NOW,
        **config: object,
    ) -> SearchResults:
        """`min_score` is that of the query, `least` that of the settings."""
        query = Query(text, limit, Mode(mode), min_score=min_score)
        return self.retriever(now, min_score=least, **config).retrieve(query)

    def names(self, text: str, mode: str = "hybrid", **options: object) -> list[str]:
        answer = self.search(text, mode, **options)  # type: ignore[arg-type]
        return [result.chunk.name for result in answer.results]

    def scores(self, text: str, mode: str = "hybrid", **options: object) -> dict[str, float]:
        answer = self.search(text, mode, **options)  # type: ignore[arg-type]
        return {result.chunk.name: result.score for result in answer.results}


@pytest.fixture
def store(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty one."""
    store: Store = (
        PostgresStore.open(request.getfixturevalue("memory_url"))
        if backend == "postgres"
        else SQLiteStore(tmp_path / "memory.db")
    )
    yield store
    store.close()


@pytest.fixture
def memory(store: Store) -> Searched:
    return Searched(store)


@pytest.fixture
def places(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Places:
    """A project whose memory is to be made."""
    places = Places(tmp_path / "home", tmp_path / "project")
    (tmp_path / "project").mkdir()
    if backend == "postgres":
        keep_on_server(tmp_path / "project", places.home, request.getfixturevalue("memory_url"))
    return places
