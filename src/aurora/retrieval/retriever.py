"""The way of a query: signals rank, a fusion combines, the store gives the chunks.

Creating a retriever opens nothing: each signal opens its index with the first question, once for
all threads (seed 003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aurora.errors import QueryError
from aurora.fusion.base import Fusion
from aurora.fusion.weighted import Weighted
from aurora.signals.base import Signal
from aurora.signals.bm25_signal import BM25Signal
from aurora.signals.formula import BM25Parameters
from aurora.stores.base import Store
from aurora.types import Fused, Listener, Query, SearchResult, SearchResults, ignore_events


@dataclass(frozen=True, slots=True)
class HybridConfig:
    """Everything that shapes a ranking."""

    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"
    stage1_top_k: int = 100


class HybridRetriever:
    """Finds chunks. Today by keyword alone; every further signal is one more in the list."""

    def __init__(
        self,
        store: Store,
        config: HybridConfig,
        *,
        index_folder: Path,
        now: Callable[[], datetime],
        fusion: Fusion | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        self._store, self._config = store, config
        self._fusion = fusion or Weighted()
        self.bm25 = BM25Signal(
            store,
            index_folder / "bm25.idx",
            now=now,
            parameters=BM25Parameters(config.k1, config.b, config.idf),
            listen=listen,
        )

    def retrieve(self, query: Query) -> SearchResults:
        """Rank, combine, fetch. What is first does not depend on how many are asked for."""
        if not query.text.strip():
            raise QueryError(
                "The query is empty", hint='say what to look for: aur mem search "parse config"'
            )
        signals: Sequence[Signal] = (self.bm25,)
        pool = max(self._config.stage1_top_k, query.limit)
        fused = self._fusion([signal.rank(query, pool=pool) for signal in signals])
        names = tuple(signal.name for signal in signals)
        return SearchResults(query, self._results(fused[: query.limit]), self._fusion.name, names)

    def _results(self, fused: Sequence[Fused]) -> tuple[SearchResult, ...]:
        ids = [one.chunk_id for one in fused]
        chunks = {chunk.id: chunk for chunk in self._store.get_chunks(ids)}
        histories = self._store.get_histories(ids)
        return tuple(
            SearchResult(
                chunks[one.chunk_id], one.score, one.contributions, histories.get(one.chunk_id)
            )
            for one in fused
            if one.chunk_id in chunks  # forgotten by another process a moment ago
        )
