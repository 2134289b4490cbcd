"""What a signal is: one reason to prefer chunks, asked one question."""

from __future__ import annotations

from typing import Protocol

from aurora.types import Query, Ranking


class Signal(Protocol):
    """Ranks the chunks of a memory for a query. Nothing is loaded before the first `rank`."""

    @property
    def name(self) -> str: ...

    def rank(self, query: Query, *, pool: int) -> Ranking:
        """The best `pool` chunks, best first, ties in a stable order; none when nothing fits."""
        ...
