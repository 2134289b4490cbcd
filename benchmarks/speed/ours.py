"""Everything of Aurora that the search benchmarks call, each in one place.

Imports wait inside the functions: what a process loads before its first answer is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.retrieval.retriever import HybridRetriever
    from aurora.stores.sqlite.store import SQLiteStore
    from aurora.types import Chunk

LIMIT = 10
VECTORS = "vectors.made"  # lies beside a memory whose chunks have vectors
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Ask = Callable[[str], Sequence[str | int]]  # the best ids, or places among the chunks


def open_store(folder: Path) -> SQLiteStore:
    from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415

    return SQLiteStore(folder / "memory.db")


def open_retriever(
    store: SQLiteStore, folder: Path, embedder: EmbeddingProvider | None = None
) -> HybridRetriever:
    from aurora.retrieval.retriever import HybridRetriever  # noqa: PLC0415

    return HybridRetriever(
        store, index_folder=folder / "indexes", now=lambda: NOW, embedders=lambda _: embedder
    )


def can_search_by_meaning(folder: Path) -> bool:
    """Whether the memory has vectors."""
    return (folder / VECTORS).exists()


def open_keyword(folder: Path) -> Ask:
    """The whole way of a keyword search: ranked, combined, and the chunks fetched."""
    return _asking(open_retriever(open_store(folder), folder), "keyword")


def open_fallback(folder: Path) -> Ask:
    """The usual search, but nothing can make vectors."""
    return _asking(open_retriever(open_store(folder), folder), "hybrid")


def open_hybrid(folder: Path) -> Ask:
    """The usual search of a memory with vectors."""
    from embedders import default_embedder  # noqa: PLC0415

    return _asking(open_retriever(open_store(folder), folder, default_embedder()), "hybrid")


def _asking(retriever: HybridRetriever, mode: str) -> Ask:
    from aurora.types import Mode, Query  # noqa: PLC0415

    def ask(text: str) -> Sequence[str]:
        found = retriever.retrieve(Query(text, LIMIT, Mode(mode)))
        return [result.chunk.id for result in found.results]

    return ask


def open_ranking(folder: Path) -> Ask:
    """The keyword index alone, which answers ids as the peers do."""
    from aurora.signals.bm25 import BM25Scorer  # noqa: PLC0415
    from aurora.text import WORDS  # noqa: PLC0415

    scorer = BM25Scorer(analysis=WORDS)
    scorer.load_index(folder / "indexes" / "bm25.idx")

    def ask(text: str) -> Sequence[int]:
        # Rows are counted from 1 in the order of writing, places from 0.
        return [row - 1 for row in scorer.score_all(text).best(LIMIT)]

    return ask


def put_chunks(folder: Path, chunks: Iterable[Chunk]) -> None:
    store = open_store(folder)
    store.chunks.put_chunks(chunks)
    store.close()


def refresh_index(folder: Path) -> None:
    """The indexes as this Aurora makes them: older ones are brought up to date."""
    store = open_store(folder)
    open_retriever(store, folder).bm25.refresh()
    store.close()
    if can_search_by_meaning(folder):
        open_hybrid(folder)("refresh")


def add_vectors(folder: Path, embedder: EmbeddingProvider) -> None:
    """Vectors for the chunks that have none."""
    from aurora.indexing.embedding import embed_missing  # noqa: PLC0415

    store = open_store(folder)
    done = embed_missing(store, embedder)
    store.close()
    if done.failed:
        print(f"{done.failed} chunks have no vector: {done.warnings[0]}", file=sys.stderr)


def chunk_ids(folder: Path) -> list[str]:
    """In the order that the peers know them by."""
    store = open_store(folder)
    ids = [chunk.id for chunk in store.chunks.iter_chunks()]
    store.close()
    return ids


def indexed_texts(folder: Path) -> Iterable[str]:
    """What is indexed of every chunk."""
    from aurora.text import chunk_text  # noqa: PLC0415

    store = open_store(folder)
    yield from map(chunk_text, store.chunks.iter_chunks())
    store.close()


def document_terms(text: str) -> list[str]:
    """What our index holds of a text."""
    from aurora.text import WORDS  # noqa: PLC0415

    return list(WORDS.words.of(text))


def query_terms(text: str) -> list[str]:
    """What our index is asked for, without weights."""
    from aurora.text import WORDS  # noqa: PLC0415

    return list(WORDS.question(text))


def recipe() -> str:
    """Changes whenever the peers would be given other tokens."""
    from aurora.text import chunk_text  # noqa: PLC0415
    from aurora.types import Chunk, Kind  # noqa: PLC0415

    body = "def getUserData(self):\n    return self.cache_2.load(HTTPServer) # 検索 ok"
    sample = Chunk("a/b.py:C.f", Kind.METHOD, "f_g", body, "C.f_g", "a/b.py")
    return " ".join(document_terms(chunk_text(sample)))
