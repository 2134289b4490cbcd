"""The search behind the API: one HybridRetriever for all requests."""

from atlas.memory.bm25_scorer import BM25Scorer
from atlas.memory.hybrid_retriever import HybridRetriever


class SearchService:
    """Owns a HybridRetriever and replaces the HybridRetriever when the store has changed."""

    def __init__(self, store):
        self.store = store
        self.retriever = HybridRetriever(store)
        self.generation = store.generation

    def search(self, query, limit=10):
        """Ask the HybridRetriever; a stale HybridRetriever is thrown away first."""
        if self.generation != self.store.generation:
            self.retriever = HybridRetriever(self.store)
            self.generation = self.store.generation
        return self.retriever.search(query, limit)


def warm_up(service, texts):
    """Fill the BM25Scorer of the HybridRetriever: a BM25Scorer without documents knows no idf.

    A second BM25Scorer is filled beside the first, so that no request sees a half-full BM25Scorer.
    """
    scorer = BM25Scorer()
    for text in texts:
        scorer.add(text)
    service.retriever.keyword = scorer
