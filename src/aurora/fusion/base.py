"""What a fusion is: rankings in, one order out, with the part each signal had in it.

What a fusion may know of the candidates beside their scores: where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import fsum
from typing import Final, NamedTuple, Protocol, runtime_checkable

from aurora.types import Contribution, Fused, Ranking


class CandidateContext(NamedTuple):
    """Of rows. What is not known of one has no effect on it."""

    best: Set[int]  # the first of words and of meaning in the whole memory: others are measured by
    homes: Mapping[int, str]  # the file or the document that a chunk is a part of
    code: Set[int] = frozenset()
    aside: Set[int] = frozenset()  # tests, examples and what others wrote, unless asked for
    beside: Mapping[int, Sequence[int]] = {}  # the turns of a conversation before and after


NOWHERE = CandidateContext(frozenset(), {})


KEYWORD: Final = ("bm25", "fulltext")  # signals that find by words; a search uses one of them
WORDS_AND_MEANING: Final = frozenset((*KEYWORD, "semantic"))


class Fusion(Protocol):
    """A frozen dataclass with its weights. Pure: the same rankings give the same outcome.

    Rankings name the rank a chunk has in the whole memory, so that a fusion can tell the best of
    all from those that only a filter has brought in: a filter never changes a score.
    """

    @property
    def name(self) -> str: ...

    @property
    def signals(self) -> frozenset[str]:
        """Those it makes use of; the others need not be asked."""
        ...

    @property
    def proposers(self) -> frozenset[str]:
        """Those whose best are the candidates; the others only judge them."""
        ...

    @property
    def fill_ups(self) -> frozenset[str]:
        """Those that change nothing while the others find enough, and need not be asked then."""
        ...

    @property
    def min_score(self) -> float:
        """Outcomes below it are no answer, where meaning takes part."""
        ...

    @property
    def words_lead(self) -> bool:
        """Whether what words found is an answer as it would be without meaning."""
        ...

    @property
    def min_best(self) -> float:
        """Where it does not: when the best is below it, there is no answer."""
        ...

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Best first, ties by row; the contributions of each outcome sum to its score."""
        ...


@runtime_checkable
class ContextFusion(Fusion, Protocol):
    """One that also looks at where the candidates stand."""

    @property
    def evidence(self) -> Fusion:
        """Whose scores mean the same for every query, and tell what is no answer."""
        ...

    def doubting_meaning(self) -> Fusion:
        """The same for a question whose script the model knows little of."""
        ...

    def __call__(
        self, rankings: Sequence[Ranking], around: CandidateContext = NOWHERE
    ) -> list[Fused]: ...

    def vary(self, outcomes: Sequence[Fused], around: CandidateContext) -> list[Fused]:
        """The last step, when definitions lead: what is shown is not all from one place."""
        ...


def keyword_ranking(rankings: Sequence[Ranking]) -> Ranking | None:
    return next((ranking for ranking in rankings if ranking.signal in KEYWORD), None)


def shares(weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """Weights of the signals that take part; what the others had goes to them in proportion.

    Where none of them has a weight, activation alone decides, or else all alike (seed 003).
    """
    part = {signal: weights.get(signal, 0.0) for signal in present}
    total = fsum(part.values())
    if total > 0.0:
        return {signal: weight / total for signal, weight in part.items()}
    alone = ["activation"] if "activation" in part else list(part)
    return {signal: 1.0 / len(alone) if signal in alone else 0.0 for signal in part}


def fuse(chunks: Mapping[int, tuple[Contribution, ...]]) -> list[Fused]:
    """Sum up each chunk's contributions and put the best first.

    `fsum` rounds once: the same sum in whatever order, on every version of Python.
    """
    return in_order(
        [
            Fused(row, parts[0].value if len(parts) == 1 else fsum([p.value for p in parts]), parts)
            for row, parts in chunks.items()
        ]
    )


def scaled(outcome: Fused, factor: float) -> Fused:
    """The score itself is scaled, not summed up anew: what was alike before stays alike."""
    parts = tuple([part._replace(value=part.value * factor) for part in outcome.contributions])
    return Fused(outcome.row, outcome.score * factor, parts)


def in_order(outcomes: Iterable[Fused]) -> list[Fused]:
    return sorted(outcomes, key=lambda outcome: (-outcome.score, outcome.row))


def within(value: float) -> float:
    """At least 0, at most 1."""
    return min(max(value, 0.0), 1.0)
