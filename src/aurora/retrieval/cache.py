"""Retrievers that are kept for a while: what one has loaded, the next search finds loaded.

A retriever by itself notices a new generation of its store. It is made anew when it is asked for
with other settings or another store, and let go with the memory it holds when it was not used for
as long as it lives (seed 003).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aurora.retrieval.retriever import HybridRetriever  # who has one has imported it

LIFETIME = 1800.0  # seconds since it was last asked for
_KEPT = 4  # retrievers; one for each memory and setting in use


class CacheCounts(NamedTuple):
    hits: int
    misses: int


class RetrieverCache:
    """Hands out one retriever a key to all threads. `clock` tells seconds."""

    def __init__(self, *, clock: Callable[[], float], lifetime: float = LIFETIME) -> None:
        self._clock, self._lifetime = clock, lifetime
        self._kept: OrderedDict[Hashable, tuple[float, HybridRetriever]] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get(self, key: Hashable, make: Callable[[], HybridRetriever]) -> HybridRetriever:
        """The retriever of that key; `make` opens nothing, so it may run under the lock."""
        with self._lock:
            now = self._clock()
            self._let_go(now)
            known = self._kept.pop(key, None)
            self._hits, self._misses = self._hits + (known is not None), self._misses + (not known)
            retriever = known[1] if known is not None else make()
            self._kept[key] = (now, retriever)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return retriever

    def _let_go(self, now: float) -> None:
        old = [key for key, (used, _) in self._kept.items() if now - used > self._lifetime]
        for key in old:
            del self._kept[key]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    @property
    def counts(self) -> CacheCounts:
        return CacheCounts(self._hits, self._misses)
