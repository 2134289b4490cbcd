"""The default fusion: weights that follow the question and the candidates, and a few rules.

Each score is measured in standard deviations above the lowest candidate. So the signal that
separates its candidates better decides more, whatever its scale and however large the memory is. Of
ten candidates with almost the same score, the other signal makes the order.
docs/concepts/ranking.md shows what each number is worth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from math import fsum, sqrt
from typing import ClassVar

from aurora.fusion.base import (
    KEYWORD,
    NO_CONTEXT,
    WORDS_AND_MEANING,
    CandidateContext,
    add_part,
    fuse,
    in_order,
    scaled,
    shares,
    within,
)
from aurora.quick_classes import NamedTuple, dataclass, field, replace
from aurora.types import Contribution, Fused, Hit, Ranking

_DEVIATIONS = 10.0  # that make a score of 1
_BEYOND = 0.01  # the most that a score below the lowest candidate adds: in order, above 0
_USED = 3.0  # deviations of use that count at most: where little was used, every use stands out
_WEAK = 0.2  # of the semantic weight, where the model hardly knows the script


class Trust(NamedTuple):
    """The semantic weight where the candidates are prose, and where they are code.

    Keywords have the rest. The numbers depend on the model: docs/concepts/embeddings.md.
    """

    prose: float = 0.3
    code: float = 0.75


OWN = Trust()  # of the bundled model, the default


@dataclass(frozen=True, slots=True)
class Rules:
    """The strength of each rule; 0 turns a rule off, a variety of 1 as well.

    Each rule adds a contribution to a score and is measured by the best chunks of the whole memory,
    so that a filter changes no score.
    """

    aside: float = 0.1  # taken from tests, examples and the like, but no more than half
    elsewhere: float = 0.15  # taken from sessions of other projects, but no more than half
    file: float = 0.35  # added to all chunks of the file with the highest total; less to others
    context: float = 0.35  # of the scores of the turns before and after, and of a piece
    variety: float = 0.85  # the factor of each further chunk of a file

    def apply(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        best = [chunk.score for chunk in fused if chunk.row in context.best]
        mean = fsum(best) / (len(context.best) or 1)
        fused = _add("aside", fused, _lowered(fused, context.aside, self.aside))
        fused = _add("elsewhere", fused, _lowered(fused, context.elsewhere, self.elsewhere))
        fused = in_order(fused)
        above = {c.row: max(c.score - mean, 0.0) for c in fused if c.row in context.best}
        fused = _add("file", fused, self._files(above, context))
        fused = _add("context", fused, self._turns(above, context))
        highest = max((chunk.score for chunk in fused if chunk.row in context.best), default=0.0)
        return in_order(scaled(chunk, 1.0 / max(highest, chunk.score, 1.0)) for chunk in fused)

    def _files(self, above: Mapping[int, float], context: CandidateContext) -> dict[int, float]:
        """A file with many good chunks is a better answer than a file with a single one.

        Prose is left out: a long document has more matches without saying more.
        """
        totals: defaultdict[str, float] = defaultdict(float)
        chunks: defaultdict[str, int] = defaultdict(int)
        for row, score in above.items():
            if row in context.code and (file := context.files.get(row)):
                totals[file] += score
                chunks[file] += 1
        most = max(totals.values(), default=0.0) or 1.0
        gain = self.file * max(above.values(), default=0.0) / most
        gains = {file: gain * total for file, total in totals.items() if chunks[file] > 1}
        return {row: gains[file] for row, file in context.files.items() if file in gains}

    def _turns(self, above: Mapping[int, float], context: CandidateContext) -> dict[int, float]:
        """An answer often shares its words with the turn right before or after it. Of a turn that
        has several chunks, the best counts."""

        def of(turn: Sequence[int]) -> float:
            return max((above.get(row, 0.0) for row in turn), default=0.0)

        return {row: self.context * fsum(map(of, turns)) for row, turns in context.beside.items()}

    def vary(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        """Lower further chunks of the same file, so that the first results are of several files.
        The best chunk of each file and definitions that the query names keep their scores."""
        seen: defaultdict[str, int] = defaultdict(int)
        lost: dict[int, float] = {}
        for chunk in fused:
            file = context.files.get(chunk.row, "")
            if file and chunk.score > 0.0 and chunk.row not in context.named:
                lost[chunk.row] = (self.variety ** seen[file] - 1.0) * chunk.score
            seen[file] += chunk.row in context.best
        return in_order(_add("variety", fused, lost))


def _lowered(fused: Iterable[Fused], rows: Set[int], most: float) -> dict[int, float]:
    """What is taken from these rows. A low score loses half at most: they keep their order."""
    return {chunk.row: -min(most, chunk.score / 2.0) for chunk in fused if chunk.row in rows}


def _add(signal: str, fused: Iterable[Fused], parts: Mapping[int, float]) -> list[Fused]:
    """Add a contribution to the chunks that have one. The order stays."""
    return [
        add_part(chunk, signal, part, raw=part) if (part := parts.get(chunk.row, 0.0)) else chunk
        for chunk in fused
    ]


@dataclass(frozen=True, slots=True)
class Auto:
    """The weights follow the share of code among the best candidates."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING | {"activation", "recency"}
    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset()

    trust: Trust = OWN
    use: float = 0.15  # beside words and meaning, which have 1 together
    rules: Rules = field(default_factory=Rules)
    name: str = "auto"

    def with_weak_semantics(self) -> Auto:
        """A small weight still orders chunks that keywords cannot tell apart, or do not find."""
        return replace(self, trust=Trust(*(_WEAK * weight for weight in self.trust)))

    def __call__(
        self, rankings: Sequence[Ranking], context: CandidateContext = NO_CONTEXT
    ) -> list[Fused]:
        rows = frozenset(hit.row for ranking in rankings for hit in ranking.hits)
        context = context if context.best else context._replace(best=rows)
        weights = self._weights(rankings, context)
        scales = [_Scale.of(ranking, context) for ranking in rankings if ranking.hits]
        parts = {
            row: tuple([s.part(row, weights.get(s.signal, 0.0)) for s in scales if row in s.values])
            for row in rows
        }
        return self.rules.apply(fuse(parts), context)

    def vary(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        return self.rules.vary(fused, context)

    def _weights(self, rankings: Sequence[Ranking], context: CandidateContext) -> dict[str, float]:
        code = len(context.best & context.code) / (len(context.best) or 1)
        semantic = self.trust.prose + (self.trust.code - self.trust.prose) * code
        weights = {"semantic": semantic, **dict.fromkeys(KEYWORD, 1.0 - semantic)}
        present = [r.signal for r in rankings if any(hit.row in context.best for hit in r.hits)]
        relevance = shares(weights, [signal for signal in present if signal in weights])
        return {**relevance, "activation": self.use}


@dataclass(frozen=True, slots=True)
class _Scale:
    """One signal's scores, in standard deviations above the lowest candidate."""

    signal: str
    ceiling: float
    hits: Mapping[int, Hit]
    values: Mapping[int, float]
    lowest: float
    deviation: float

    @classmethod
    def of(cls, ranking: Ranking, context: CandidateContext) -> _Scale:
        signal, ceiling = ranking.signal, ranking.ceiling or 1.0
        hits = {hit.row: hit for hit in ranking.hits}
        values = {row: hit.score for row, hit in hits.items()}
        if signal == "activation":
            values = _by_file(values, context)
        among = [values.get(row, 0.0) for row in context.best] or [0.0]
        mean = fsum(among) / len(among)
        deviation = sqrt(fsum((value - mean) ** 2 for value in among) / len(among))
        if deviation > 1e-9 * abs(mean):
            return cls(signal, ceiling, hits, values, min(among), deviation)
        # A single candidate, or equal scores: measured from 0.
        return cls(signal, ceiling, hits, values, 0.0, abs(mean) / 2.0 or ceiling)

    def part(self, row: int, weight: float) -> Contribution:
        """`normalised` is the share of the ceiling, which means the same for every query."""
        _, raw, rank = self.hits.get(row, (row, 0.0, 0))
        value = weight * self._stands_out(self.values[row])
        return Contribution(self.signal, rank, raw, within(raw / self.ceiling), value)

    def _stands_out(self, value: float) -> float:
        if value < self.lowest:
            return _BEYOND * max(value, 0.0) / self.lowest if self.lowest > 0.0 else 0.0
        above = (value - self.lowest) / self.deviation
        counted = min(above, _USED) if self.signal == "activation" else above
        return counted / _DEVIATIONS + (_BEYOND if self.lowest > 0.0 else 0.0)


def _by_file(uses: Mapping[int, float], context: CandidateContext) -> dict[int, float]:
    """Give each chunk the highest activation in its file: work on a file concerns all of it."""
    most: dict[str, float] = {}
    for row in context.best:
        file = context.files.get(row, "")
        most[file] = max(most.get(file, 0.0), uses.get(row, 0.0))
    shared = {row: most.get(file, 0.0) for row, file in context.files.items() if file}
    return {**uses, **{row: max(use, uses.get(row, 0.0)) for row, use in shared.items() if use}}
