"""Recency of dated notes: exp(−ln 2 / half-life · age in days) (seed 001).

The factor lies in (0, 1] and multiplies a chunk's score. Only notes whose path contains a date have
a factor: `memory/2026-03-01.md` fades, `MEMORY.md` and logs of conversations do not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from datetime import datetime

from aurora.signals.base import Question, SparseScores
from aurora.stores.base import Store
from aurora.text import find_date

HALF_LIFE = 30.0  # days; seed 001
_DAY = 86_400.0  # seconds


def recency(age_days: float, *, half_life: float = HALF_LIFE) -> float:
    """1 today and for dates to come, ½ after one half-life; never 0, which would be no score."""
    faded = math.exp(-math.log(2.0) / half_life * max(age_days, 0.0))
    return max(faded, sys.float_info.min)


class RecencySignal:
    """Caches the dates of a memory's notes until its generation changes."""

    name = "recency"

    def __init__(self, store: Store, *, half_life: float = HALF_LIFE) -> None:
        self._store, self._half_life = store, half_life
        self._cached: tuple[int, Mapping[int, datetime]] = (-1, {})

    def score(self, question: Question) -> SparseScores:
        ages = {row: question.now - date for row, date in self._dates().items()}
        return SparseScores(
            {
                row: recency(age.total_seconds() / _DAY, half_life=self._half_life)
                for row, age in ages.items()
            }
        )

    def _dates(self) -> Mapping[int, datetime]:
        generation = self._store.generation()
        if self._cached[0] != generation:
            paths = self._store.search.dated_paths()
            dates = {row: date for row, path in paths.items() if (date := find_date(path))}
            self._cached = (generation, dates)
        return self._cached[1]
