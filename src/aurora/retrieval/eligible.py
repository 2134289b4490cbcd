"""Which chunks may be results: rows that fit all criteria, remembered while the memory stays."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict

from aurora.stores.base import Store
from aurora.types import Criteria

_REMEMBERED = 8  # filters; an agent tends to ask with the same few


class Eligible:
    """Asks the store once for each filter and generation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[int, Criteria], array[int]] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, *wanted: Criteria) -> array[int] | None:
        """Ascending rows that fit everything wanted; none at all means: every chunk may."""
        found = [self._find(criteria) for criteria in wanted if criteria]
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        return array("q", sorted(set(found[0]).intersection(*found[1:])))

    def _find(self, criteria: Criteria) -> array[int]:
        if criteria.since is not None:  # commits and files' times change within a generation
            return self._store.find_rows(criteria)
        key = (self._store.generation(), criteria)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        rows = self._store.find_rows(criteria)
        with self._lock:
            self._known[key] = rows
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return rows
