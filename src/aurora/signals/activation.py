"""Use as a signal: how likely a chunk comes to mind, by ACT-R (see `actr`).

Raw scores lie in [0, 1): 0 for what was never opened or committed. Being listed is no use, so that
showing a result never changes the next ranking.

Activation: how ready a chunk is because it was used, after ACT-R.

    strength S = Σ t^(−d)    base level B = ln S    activation P = 1 / (1 + e^(−B)) = S / (1 + S)

over the ages t, in days, of all uses. A use younger than a day, or from a clock that is ahead, is
one day old, so that none adds more than 1 to S. An age that is not a finite number is no use.
See docs/concepts/activation.md; Anderson and Schooler (1991), Petrov (2006).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from aurora.signals.base import Question
from aurora.signals.matches import SparseAnswer
from aurora.stores.base import Store
from aurora.types import Hit

DECAY = 0.5  # ACT-R's own value
NEVER_USED = -10.0  # the lowest base level: below that of any use since 1970 for a decay up to 1
EXACT_USES = 200  # Django has no chunk with more commits; beyond, P was off by 0.005 at most
_DAY = 86_400.0  # seconds
_YOUNGEST = 1.0  # days
_MANY = 200_000  # uses with which numpy saves as much time as its import takes


def strength(ages: Iterable[float], decay: float = DECAY) -> float:
    """The exact sum over all ages, in days. Without uses 0."""
    return _add(_counted(ages), decay)


def approximate_strength(
    ages: Iterable[float], decay: float = DECAY, *, exact_uses: int = EXACT_USES
) -> float:
    """The sum with only the latest `exact_uses` added one by one.

    The others count as spread evenly between the last of those and the first use (Petrov's hybrid
    of ACT-R's optimised learning). What may be wrong is at most the number of the others times the
    difference between what the youngest and the oldest of them adds.
    """
    counted = _counted(ages)
    if len(counted) <= exact_uses:
        return _add(counted, decay)
    counted.sort()
    youngest = counted[exact_uses - 1] if exact_uses else _YOUNGEST
    others = (len(counted) - exact_uses) * _mean_between(youngest, counted[-1], decay)
    return _add(counted[:exact_uses], decay) + others


def base_level(strength: float) -> float:
    """B of a strength, never below `NEVER_USED`."""
    return max(math.log(strength), NEVER_USED) if strength > 0.0 else NEVER_USED


def retrieval_probability(strength: float) -> float:
    """P of a strength: with ACT-R's threshold 0 and noise 1."""
    return strength / (1.0 + strength)


@dataclass(frozen=True, slots=True)
class ActivationEngine:
    """Activations of many chunks at once. Uses are seconds since 1970, in any order."""

    decay: float = DECAY
    exact_uses: int = EXACT_USES

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < math.inf:
            raise ValueError(f"decay must be a number from 0 up, not {self.decay}")
        if self.exact_uses < 1:
            raise ValueError(f"exact_uses must be at least 1, not {self.exact_uses}")

    def activations(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """Row → P, in [0, 1): 0 without uses, 0.5 after one today, at most 0.5 more by one use."""
        strengths = self.strengths(uses, now)
        return {row: retrieval_probability(value) for row, value in strengths.items()}

    def base_levels(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """Row → B, in [`NEVER_USED`, ∞)."""
        return {row: base_level(value) for row, value in self.strengths(uses, now).items()}

    def strengths(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """Row → S, in the order of `uses`; by either way the same to 1e-12."""
        many = sum(map(len, uses.values())) > _MANY
        return self.add_at_once(uses, now) if many else self.add_one_by_one(uses, now)

    def add_one_by_one(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """In plain Python, so that the first search of a process does not pay for numpy."""
        return {row: self._strength(times, now) for row, times in uses.items()}

    def add_at_once(self, uses: Mapping[int, Sequence[float]], now: float) -> dict[int, float]:
        """With numpy. Long histories are few, and go one by one here too."""
        short = {row: times for row, times in uses.items() if 0 < len(times) <= self.exact_uses}
        sums = dict(zip(short, _sums(short.values(), now, self.decay), strict=True))
        return {
            row: sums[row] if row in sums else self._strength(times, now)
            for row, times in uses.items()
        }

    def _strength(self, times: Sequence[float], now: float) -> float:
        ages = [(now - time) / _DAY for time in times]
        return approximate_strength(ages, self.decay, exact_uses=self.exact_uses)


def _counted(ages: Iterable[float]) -> list[float]:
    return [age if age > _YOUNGEST else _YOUNGEST for age in ages if math.isfinite(age)]


def _add(counted: Iterable[float], decay: float) -> float:
    return math.fsum([age**-decay for age in counted])  # the same in any order


def _mean_between(youngest: float, oldest: float, decay: float) -> float:
    """What a use adds on average when it may as well have any age between the two.

    That is (o^(1−d) − y^(1−d)) / ((1−d)·(o−y)), for d = 1 (ln o − ln y) / (o−y), written so that no
    digits are lost when the two are close.
    """
    spread, rest = (oldest - youngest) / youngest, 1.0 - decay
    if spread == 0.0:
        return math.pow(youngest, -decay)
    grown = math.expm1(rest * math.log1p(spread)) / rest if rest else math.log1p(spread)
    return math.pow(youngest, -decay) * (grown / spread)


def _sums(histories: Collection[Sequence[float]], now: float, decay: float) -> list[float]:
    """The exact strength of each history; none may be empty."""
    import numpy as np  # noqa: PLC0415 - its import takes longer than most answers

    sizes = [len(times) for times in histories]
    times = np.fromiter(chain.from_iterable(histories), np.float64, count=sum(sizes))
    with np.errstate(over="ignore", invalid="ignore"):
        ages = (now - times) / _DAY
        added = np.where(np.isfinite(ages), np.maximum(ages, _YOUNGEST) ** -decay, 0.0)
    starts = np.cumsum([0, *sizes])[:-1]
    sums: list[float] = np.add.reduceat(added, starts).tolist()
    return sums


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
            for row, one in self._store.search.get_uses(list(rows)).items()
        }
        activations = self._engine.activations(uses, self._now.timestamp())
        return SparseAnswer(activations).hits(rows)
