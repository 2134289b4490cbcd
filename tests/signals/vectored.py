"""A store with vectors and the index of them, to see how the second follows the first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.packing import pack_vector
from aurora.signals.base import Question
from aurora.signals.semantic import SemanticSignal
from aurora.signals.vector_index import VectorIndex, Vectors, join_vectors
from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Note
from tests.builders import NOW
from tests.indexing.providers import VowelProvider

CORRUPTED = Note("vector index corrupted, rebuilding...", warning=True)


class VectorBench:
    """Signals on one store and one index file, and everything they say."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "indexes" / "vectors.idx"
        self.events: list[Event] = []
        self.provider: EmbeddingProvider = VowelProvider()
        self.store = SQLiteStore(folder / "memory.db")

    def embed(self) -> None:
        assert embed_missing(self.store, self.provider).failed == 0

    def index(self, path: Path | None = None) -> VectorIndex:
        return VectorIndex(
            self.store, path or self.path, now=lambda: NOW, listen=self.events.append
        )

    def signal(self) -> SemanticSignal:
        return SemanticSignal(self.index(), lambda _: self.provider)

    def find(self, text: str, signal: SemanticSignal | None = None) -> list[str]:
        rows = (signal or self.signal()).score(Question(text, NOW)).best(10)
        chunks = self.store.chunks.get_rows(rows)
        return [chunks[row].name for row in rows]

    def rebuilt(self) -> bytes:
        """The file that making the index anew gives."""
        other = self.path.with_name("rebuilt.idx")
        self.index(other).rebuild()
        return other.read_bytes()


def vectors_of(values: Sequence[Sequence[float]], first_row: int = 10) -> Vectors:
    """Vectors in memory, three rows apart."""
    parts = {first_row + 3 * place: (1, pack_vector(vector)) for place, vector in enumerate(values)}
    return join_vectors(parts, Embedder("any", len(values[0]) if values else 1, "1"))


def without_numpy(program: str) -> list[str]:
    """A command that runs a program in a Python where numpy cannot be imported."""
    return [sys.executable, "-c", f"import sys\nsys.modules['numpy'] = None\n{program}"]
