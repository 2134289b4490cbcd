"""What a fusion is: rankings in, one order out, with the contribution of each signal.

An order has one number for each candidate, and what was done to all of them: of hundreds of
candidates ten are shown, and only these need contributions. `fade` and `lead` adjust the order of
every fusion: old notes fade, definitions lead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from math import fsum
from typing import ClassVar, Final, Protocol, TypeAlias, TypeGuard

from aurora.quick_classes import NamedTuple, dataclass, field, replace
from aurora.signals.exact import is_named, leads
from aurora.types import Contribution, Fused, Hit, Ranking

KEYWORD: Final = ("bm25", "fulltext")  # keyword signals; a search uses one of them
WORDS_AND_MEANING: Final = frozenset((*KEYWORD, "semantic"))
DEFINITION_SHARE = 0.8  # of a name in a score, where the query names a definition
NAMED_SHARE = 0.3  # where it only has an identifier, or a note's heading


Turns: TypeAlias = Sequence[Sequence[int]]  # the rows of each


class CandidateContext(NamedTuple):
    """What a fusion may know of the candidates' rows beside their scores."""

    best: Set[int]  # by words and by meaning in the whole memory: scores are relative to them
    files: Mapping[int, str]  # the file or document that contains a chunk
    code: Set[int] = frozenset()
    aside: Set[int] = frozenset()  # tests, examples and vendored code, unless the query names them
    beside: Mapping[int, Turns] = {}  # turns before and after, and pieces of the own
    named: Set[int] = frozenset()  # definitions that the query names
    lessons: Set[int] = frozenset()  # and documents, among the best
    exchanges: Set[int] = frozenset()  # with agents
    elsewhere: Set[int] = frozenset()  # exchanges in other projects than the one that is asked


NO_CONTEXT = CandidateContext(frozenset(), {})


class Fusion(Protocol):
    """A frozen dataclass with its weights. Pure: the same rankings give the same result.

    Ranks in rankings are those in the whole memory. So a fusion can tell the best of all from
    chunks that only a filter has brought in: a filter never changes a score.
    """

    @property
    def name(self) -> str: ...

    @property
    def signals(self) -> frozenset[str]:
        """Signals that it uses."""

    @property
    def proposers(self) -> frozenset[str]:
        """Signals whose best chunks are the candidates; other signals only order them."""

    @property
    def fill_ups(self) -> frozenset[str]:
        """Signals used only when the others find too few candidates."""

    def __call__(self, rankings: Sequence[Ranking]) -> Order:
        """Best first, ties by row; the contributions of each chunk sum to its score."""


class SimpleFusion:
    """The usual properties of a fusion."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset()
    __slots__ = ()


class ContextFusion(Fusion, Protocol):
    """A fusion that also uses the context of the candidates."""

    def with_weak_semantics(self) -> Fusion:
        """The same fusion for a question in a script that the model hardly knows."""

    def __call__(
        self, rankings: Sequence[Ranking], context: CandidateContext = NO_CONTEXT
    ) -> Order: ...

    def vary(self, order: Order, context: CandidateContext) -> Order:
        """Spread the results over several files."""


def uses_context(fusion: Fusion) -> TypeGuard[ContextFusion]:
    """Whether it is a `ContextFusion`. `isinstance` of a protocol takes 20 µs."""
    return hasattr(fusion, "vary")


def keyword_ranking(rankings: Iterable[Ranking]) -> Ranking | None:
    return next((ranking for ranking in rankings if ranking.signal in KEYWORD), None)


def shares(weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """The weights of the present signals, scaled to sum to 1.

    Without any weight, activation alone decides, or else all signals equally (seed 003).
    """
    part = {signal: weights.get(signal, 0.0) for signal in present}
    total = fsum(part.values())
    if total > 0.0:
        return {signal: weight / total for signal, weight in part.items()}
    alone = ["activation"] if "activation" in part else list(part)
    return {signal: 1.0 / len(alone) if signal in alone else 0.0 for signal in part}


class Part(NamedTuple):
    """What a signal or a rule adds to scores.

    `hits` are those of the signal; `normalised` makes a number in [0, 1] of each. A rule has none.
    """

    signal: str
    values: Mapping[int, float]
    hits: Mapping[int, Hit] | None = None
    normalised: Callable[[Hit], float] = lambda hit: hit.score

    def contribution(self, row: int, value: float) -> Contribution:
        """`value` is what is left of the part's own value after later steps."""
        none = self.values[row] if self.hits is None else 0.0
        hit = (self.hits or {}).get(row, Hit(row, none, 0))
        return Contribution(self.signal, hit.rank, hit.score, self.normalised(hit), value)


class Scaling(NamedTuple):
    """Factors of scores, by row."""

    factors: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Order:
    """The candidates of a search, best first, with their scores and the steps that made these."""

    rows: Sequence[int]
    scores: Mapping[int, float]
    steps: tuple[Part | Scaling, ...] = ()
    relevance: Mapping[int, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Fused]:
        return map(self.fused, self.rows)

    def __getitem__(self, place: int) -> Fused:
        return self.fused(self.rows[place])

    def fused(self, row: int) -> Fused:
        """One candidate with its contributions."""
        parts: list[Part] = []
        values: list[float] = []
        for step in self.steps:
            if isinstance(step, Scaling):
                factor = step.factors.get(row, 1.0)
                values = [value * factor for value in values]
            elif row in step.values:
                parts.append(step)
                values.append(step.values[row])
        pairs = zip(parts, values, strict=True)
        contributions = tuple([part.contribution(row, value) for part, value in pairs])
        return Fused(row, self.scores[row], contributions, self.relevance.get(row, 1.0))

    def plus(self, part: Part) -> Order:
        """Add to the scores of candidates. The order stays."""
        if not part.values:
            return self
        scores = {row: self.scores[row] + value for row, value in part.values.items()}
        return replace(self, scores={**self.scores, **scores}, steps=(*self.steps, part))

    def times(self, factors: Mapping[int, float]) -> Order:
        """Multiply the scores themselves instead of summing again: equal scores stay equal."""
        scores = {row: self.scores[row] * factor for row, factor in factors.items()}
        steps = (*self.steps, Scaling(factors))
        return replace(self, scores={**self.scores, **scores}, steps=steps)

    def with_scores(self, scores: Mapping[int, float]) -> Order:
        """Give candidates other scores, and scale their contributions. A score of 0 stays."""
        changed = {row: score for row, score in scores.items() if self.scores[row] > 0.0}
        factors = {row: score / self.scores[row] for row, score in changed.items()}
        steps = (*self.steps, Scaling(factors))
        return replace(self, scores={**self.scores, **changed}, steps=steps)

    def with_rows(self, rows: Sequence[int]) -> Order:
        """The same candidates in another order."""
        return replace(self, rows=rows)

    def best_first(self) -> Order:
        """The highest score first, ties by row."""
        rows = sorted(self.scores)
        rows.sort(key=self.scores.__getitem__, reverse=True)  # equal scores stay in this order
        return self.with_rows(rows)


def fuse(parts: Sequence[Part]) -> Order:
    """Sum what all parts add to each candidate, and put the best first.

    `fsum` rounds once: the sum is the same in any order, on every version of Python.
    """
    values: dict[int, list[float]] = {}
    for part in parts:
        for row, value in part.values.items():
            values.setdefault(row, []).append(value)
    scores = {row: some[0] if len(some) == 1 else fsum(some) for row, some in values.items()}
    return Order((), scores, tuple(parts)).best_first()


def by_row(ranking: Ranking) -> dict[int, Hit]:
    return {hit[0]: hit for hit in ranking.hits}


def within(value: float) -> float:
    """At least 0, at most 1."""
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


def fade(order: Order, recency: Ranking) -> Order:
    """Multiply each score by its chunk's recency (seed 001); chunks without a date keep theirs."""
    hits = {row: hit for row, hit in by_row(recency).items() if row in order.scores}
    values = {row: (hit.score - 1.0) * order.scores[row] for row, hit in hits.items()}
    return order.plus(Part("recency", values, hits)).best_first() if hits else order


def lead(order: Order, exact: Ranking) -> Order:
    """Put the chunks that the query names first. Without a named chunk, nothing changes."""
    if not exact.hits:
        return order
    highest = exact.hits[0].score
    share = DEFINITION_SHARE if is_named(highest) else NAMED_SHARE
    order = order.times(dict.fromkeys(order.scores, 1.0 - share))
    hits = by_row(exact)
    values = {row: share * hit.score / highest for row, hit in hits.items()}
    scores = {**dict.fromkeys(hits, 0.0), **order.scores}
    order = replace(order, scores=scores).plus(Part("exact", values, hits)).best_first()
    levels = {row: hit.score for row, hit in hits.items() if leads(hit.score)}
    return order.with_rows(sorted(order.rows, key=lambda row: -levels.get(row, 0.0)))
