"""The default fusion: weights that follow the question and the candidates, and a few rules.

Each score is measured in standard deviations above the lowest candidate. So the signal that
separates its candidates better decides more, whatever its scale and however large the memory is. Of
ten candidates with almost the same score, the other signal makes the order.
docs/concepts/ranking.md shows what each number is worth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from math import fsum, sqrt
from typing import ClassVar

from aurora.fusion.base import (
    KEYWORD,
    NO_CONTEXT,
    WORDS_AND_MEANING,
    CandidateContext,
    Order,
    Part,
    by_row,
    fuse,
    shares,
    within,
)
from aurora.quick_classes import NamedTuple, dataclass, field, replace
from aurora.types import Ranking

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

    def apply(self, order: Order, context: CandidateContext) -> Order:
        scores = order.scores
        mean = fsum([scores[row] for row in scores if row in context.best])
        mean /= len(context.best) or 1
        order = _add("aside", order, _lowered(order, context.aside, self.aside))
        order = _add("elsewhere", order, _lowered(order, context.elsewhere, self.elsewhere))
        order = order.best_first()
        scores = order.scores
        above = {row: max(scores[row] - mean, 0.0) for row in order.rows if row in context.best}
        order = _add("file", order, self._files(above, context))
        order = _add("context", order, self._turns(above, context))
        scores = order.scores
        highest = max([1.0, *(scores[row] for row in scores if row in context.best)])
        return order.times(
            {r: 1.0 / max(highest, score) for r, score in scores.items()}
        ).best_first()

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

    def vary(self, order: Order, context: CandidateContext) -> Order:
        """Lower further chunks of the same file, so that the first results are of several files.
        The best chunk of each file and definitions that the query names keep their scores."""
        seen: defaultdict[str, int] = defaultdict(int)
        lost: dict[int, float] = {}
        for row in order.rows:
            file, score = context.files.get(row, ""), order.scores[row]
            if file and score > 0.0 and row not in context.named:
                lost[row] = (self.variety ** seen[file] - 1.0) * score
            seen[file] += row in context.best
        return _add("variety", order, lost).best_first()


def _lowered(order: Order, rows: Set[int], most: float) -> dict[int, float]:
    """What is taken from these rows. A low score loses half at most: they keep their order."""
    return {row: -min(most, score / 2.0) for row, score in order.scores.items() if row in rows}


def _add(rule: str, order: Order, values: Mapping[int, float]) -> Order:
    """Add what a rule changes. The order stays."""
    return order.plus(Part(rule, {r: v for r, v in values.items() if v and r in order.scores}))


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
    ) -> Order:
        rows = frozenset([row for ranking in rankings for row, _, _ in ranking.hits])
        context = context if context.best else context._replace(best=rows)
        weights = self._weights(rankings, context)
        parts = [
            _scale(ranking, weights.get(ranking.signal, 0.0), context, rows)
            for ranking in rankings
            if ranking.hits
        ]
        return self.rules.apply(fuse(parts), context)

    def vary(self, order: Order, context: CandidateContext) -> Order:
        return self.rules.vary(order, context)

    def _weights(self, rankings: Sequence[Ranking], context: CandidateContext) -> dict[str, float]:
        code = len(context.best & context.code) / (len(context.best) or 1)
        semantic = self.trust.prose + (self.trust.code - self.trust.prose) * code
        weights = {"semantic": semantic, **dict.fromkeys(KEYWORD, 1.0 - semantic)}
        present = [r.signal for r in rankings if any(hit.row in context.best for hit in r.hits)]
        relevance = shares(weights, [signal for signal in present if signal in weights])
        return {**relevance, "activation": self.use}


def _scale(ranking: Ranking, weight: float, context: CandidateContext, rows: Set[int]) -> Part:
    """One signal's scores, in standard deviations above the lowest candidate, times a weight.

    `normalised` is the share of the ceiling, which means the same for every query.
    """
    ceiling, is_use = ranking.ceiling or 1.0, ranking.signal == "activation"
    raw = {row: score for row, score, _ in ranking.hits}
    raw = _by_file(raw, context, rows) if is_use else raw
    among = [raw.get(row, 0.0) for row in context.best] or [0.0]
    mean = fsum(among) / len(among)
    lowest, deviation = min(among), sqrt(fsum([(v - mean) ** 2 for v in among]) / len(among))
    if deviation <= 1e-9 * abs(mean):  # a single candidate, or equal scores: measured from 0
        lowest, deviation = 0.0, abs(mean) / 2.0 or ceiling
    above = {row: (value - lowest) / deviation for row, value in raw.items() if value >= lowest}
    if is_use:
        above = {row: min(deviations, _USED) for row, deviations in above.items()}
    beyond = _BEYOND if lowest > 0.0 else 0.0
    values = {row: weight * (d / _DEVIATIONS + beyond) for row, d in above.items()}
    for row in raw.keys() - above.keys():
        values[row] = weight * (beyond and beyond * max(raw[row], 0.0) / lowest)
    return Part(ranking.signal, values, by_row(ranking), lambda hit: within(hit.score / ceiling))


def _by_file(
    uses: Mapping[int, float], context: CandidateContext, rows: Set[int]
) -> dict[int, float]:
    """Give each chunk the highest activation in its file: work on a file concerns all of it."""
    most: dict[str, float] = {}
    for row in context.best:
        file = context.files.get(row, "")
        most[file] = max(most.get(file, 0.0), uses.get(row, 0.0))
    most.pop("", None)  # no file
    of_files = {row: most.get(context.files.get(row, ""), 0.0) for row in rows}
    shared = {row: max(use, uses.get(row, 0.0)) for row, use in of_files.items() if use}
    return {**uses, **shared}
