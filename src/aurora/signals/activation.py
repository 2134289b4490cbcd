"""Signals of time: activation and recency. Activation is use, after ACT-R:

    strength S = Σ t^(−d)    base level B = ln S    activation P = 1 / (1 + e^(−B)) = S / (1 + S)

over the ages t, in days, of all uses. Opening a chunk and committing it are uses; being listed is
none, so a search never changes the next ranking. A use younger than a day, or from a clock that is
ahead, counts as one day old, so that no use adds more than 1 to S. Ages that are not finite do not
count. See docs/concepts/activation.md; Anderson and Schooler (1991), Petrov (2006).

Recency is exp(−ln 2 / half-life · age in days) (seed 001). The factor lies in (0, 1] and multiplies
a chunk's score. Only notes whose path contains a date have one: `memory/2026-03-01.md` fades,
`MEMORY.md` and logs of conversations do not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from aurora.quick_classes import dataclass
from aurora.signals.base import Question, SparseScores
from aurora.stores.base import SearchedStore
from aurora.text import find_date
from aurora.types import Hit

DECAY = 0.5  # ACT-R's own value
EXACT_USES = 200  # Django has no chunk with more commits; beyond, P was off by 0.005 at most
HALF_LIFE = 30.0  # days; seed 001
_DAY = 86_400.0  # seconds
_YOUNGEST = 1.0  # days


def approximate_strength(
    ages: Iterable[float], decay: float = DECAY, *, exact_uses: int = EXACT_USES
) -> float:
    """The strength by ages in days, with only the latest `exact_uses` added exactly.

    The others count as spread evenly between the last of those and the first use (Petrov's hybrid
    of ACT-R's optimised learning). The error is at most the number of the others times the
    difference between what the youngest and the oldest of them adds.
    """
    counted = _counted(ages)
    if len(counted) <= exact_uses:
        return _sum(counted, decay)
    counted.sort()
    youngest = counted[exact_uses - 1] if exact_uses else _YOUNGEST
    others = (len(counted) - exact_uses) * _mean_between(youngest, counted[-1], decay)
    return _sum(counted[:exact_uses], decay) + others


def retrieval_probability(strength: float) -> float:
    """P of a strength, with ACT-R's threshold 0 and noise 1."""
    return strength / (1.0 + strength)


def _counted(ages: Iterable[float]) -> list[float]:
    return [age if age > _YOUNGEST else _YOUNGEST for age in filter(math.isfinite, ages)]


def _sum(counted: Iterable[float], decay: float) -> float:
    return math.fsum([age**-decay for age in counted])  # the same in any order


def _mean_between(youngest: float, oldest: float, decay: float) -> float:
    """The mean that a use adds when its age is evenly distributed between the two.

    That is (o^(1−d) − y^(1−d)) / ((1−d)·(o−y)), for d = 1 (ln o − ln y) / (o−y), written so that no
    digits are lost when the two are close.
    """
    spread, rest = (oldest - youngest) / youngest, 1.0 - decay
    if spread == 0.0:
        return math.pow(youngest, -decay)
    grown = math.expm1(rest * math.log1p(spread)) / rest if rest else math.log1p(spread)
    return math.pow(youngest, -decay) * (grown / spread)


@dataclass(frozen=True, slots=True)
class ActivationEngine:
    """Activations of many chunks. Uses are seconds since 1970, in any order."""

    decay: float = DECAY
    exact_uses: int = EXACT_USES

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < math.inf:
            raise ValueError(f"decay must be a number from 0 up, not {self.decay}")
        if self.exact_uses < 1:
            raise ValueError(f"exact_uses must be at least 1, not {self.exact_uses}")

    def activations(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """Row → P, in [0, 1): 0 without uses, 0.5 after one today, at most 0.5 more by one use."""
        return {row: retrieval_probability(self._strength(uses[row], now)) for row in uses}

    def _strength(self, times: Sequence[float], now: float) -> float:
        ages = [(now - time) / _DAY for time in times]
        return approximate_strength(ages, self.decay, exact_uses=self.exact_uses)


class ActivationSignal:
    """Orders candidates but proposes none: use says nothing about a question."""

    name = "activation"

    def __init__(self, store: SearchedStore, engine: ActivationEngine | None = None) -> None:
        self._store, self._engine = store, engine or ActivationEngine()

    def score(self, question: Question) -> ActivationScores:
        return ActivationScores(self._store, self._engine, question.now)


class ActivationScores:
    """`SignalScores` that read the uses of chunks from the store."""

    ceiling = 1.0

    def __init__(self, store: SearchedStore, engine: ActivationEngine, now: datetime) -> None:
        self._store, self._engine, self._now = store, engine, now

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:  # noqa: ARG002
        return []

    def hits(self, rows: Collection[int]) -> list[Hit]:
        """Ranks are those among the rows: the activation of all chunks is never needed."""
        read = self._store.search.get_uses(list(rows)).items()
        uses = {row: (*accesses, *commits) for row, (accesses, commits) in read}
        activations = self._engine.activations(uses, self._now.timestamp())
        return SparseScores(activations).hits(rows)


def recency(age_days: float, *, half_life: float = HALF_LIFE) -> float:
    """1 today and for dates to come, ½ after one half-life; never 0, which would be no score."""
    faded = math.exp(-math.log(2.0) / half_life * max(age_days, 0.0))
    return max(faded, sys.float_info.min)


class RecencySignal:
    """Caches the dates of a memory's notes until its generation changes."""

    name = "recency"

    def __init__(self, store: SearchedStore, *, half_life: float = HALF_LIFE) -> None:
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
