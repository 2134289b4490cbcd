"""Use as a signal: how likely a chunk comes to mind, by ACT-R (see `actr`).

Raw scores lie in [0, 1): 0 for what was never opened or committed. Being listed is no use, so that
showing a result never changes the next ranking.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from aurora.signals.actr import ActivationEngine
from aurora.signals.base import Question
from aurora.signals.sparse import SparseAnswer
from aurora.stores.base import Store
from aurora.types import Hit


class ActivationSignal:
    """Judges candidates; it proposes none, for use says nothing about a question."""

    name = "activation"

    def __init__(self, store: Store, engine: ActivationEngine | None = None) -> None:
        self._store, self._engine = store, engine or ActivationEngine()

    def ask(self, question: Question) -> ActivationAnswer:
        return ActivationAnswer(self._store, self._engine, question.now)


class ActivationAnswer:
    ceiling = 1.0

    def __init__(self, store: Store, engine: ActivationEngine, now: datetime) -> None:
        self._store, self._engine, self._now = store, engine, now

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:  # noqa: ARG002
        return []

    def hits(self, rows: Collection[int]) -> list[Hit]:
        """Ranks are those among the rows: nobody asks for the activation of all chunks."""
        uses = {
            row: (*one.accesses, *one.commits)
            for row, one in self._store.get_uses(list(rows)).items()
        }
        activations = self._engine.activations(uses, self._now.timestamp())
        return SparseAnswer(activations).hits(rows)
