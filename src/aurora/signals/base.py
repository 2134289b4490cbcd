"""What a signal is: one reason to prefer chunks, asked one question. And what it is an index of."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from aurora.stores.base import Revision
from aurora.types import Query, Ranking


class Entry(NamedTuple):
    """A text to index. An index can be merged only when all of its entries have revisions."""

    id: str
    text: str
    revision: Revision = Revision(0, 0)


class Signal(Protocol):
    """Ranks the chunks of a memory for a query. Nothing is loaded before the first `rank`."""

    @property
    def name(self) -> str: ...

    def rank(self, query: Query, *, pool: int) -> Ranking:
        """The best `pool` chunks, best first, ties in a stable order; none when nothing fits."""
        ...
