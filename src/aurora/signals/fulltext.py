"""The store's own text search as a signal: FTS5 in SQLite, tsvector in PostgreSQL (seed 001).

Raw scores lie in [0, 1). Slower than `bm25` on large memories, but it needs no index beside the
store, and it finds parts of words where whole ones find nothing.
"""

from __future__ import annotations

from aurora.signals.base import Question
from aurora.signals.sparse import SparseAnswer
from aurora.stores.base import Store

_DEEPEST = 1000  # rows a text search returns; those beyond are no answer to anything


class FulltextSignal:
    """Asks the store. A chunk beyond the first thousand has no score."""

    name = "fulltext"

    def __init__(self, store: Store) -> None:
        self._store = store

    def ask(self, question: Question) -> SparseAnswer:
        return SparseAnswer(dict(self._store.find_text(question.text, limit=_DEEPEST)))
