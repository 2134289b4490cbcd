"""Adjustments after the signals are combined.

`Rules` are those of `auto`. Each rule adds a contribution to a score and is measured by the best
chunks of the whole memory, so that a filter changes no score. A strength of 0 turns a rule off, a
variety of 1 as well. `fade` and `lead` apply to every fusion: old notes fade, definitions lead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from aurora.fusion.base import CandidateContext, add_part, in_order, scaled
from aurora.signals.exact import ASSUMED, NAMED
from aurora.types import Fused, Ranking

# The share of a name in a score. With a definition, levels are 0.25 apart and all else has 0.2: so
# `SPELT` comes before `FOLDED`, that before `ASSUMED`, and any of them before all other chunks.
DEFINITION_SHARE = 0.8
NAMED_SHARE = 0.3  # with a mere name only: it helps, and does not lead


@dataclass(frozen=True, slots=True)
class Rules:
    """The strength of each rule."""

    aside: float = 0.1  # taken from tests, examples and the like, but no more than half
    file: float = 0.35  # added to all chunks of the file with the highest total; less to others
    context: float = 0.35  # of the scores of the turns before and after
    variety: float = 0.85  # the factor of each further chunk of a file

    def apply(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        best = [chunk.score for chunk in fused if chunk.row in context.best]
        mean = fsum(best) / (len(context.best) or 1)
        fused = in_order(_add("aside", fused, self._aside(fused, context)))
        above = {c.row: max(c.score - mean, 0.0) for c in fused if c.row in context.best}
        fused = _add("file", fused, self._files(above, context))
        fused = _add("context", fused, self._turns(above, context))
        highest = max((chunk.score for chunk in fused if chunk.row in context.best), default=0.0)
        return in_order(scaled(chunk, 1.0 / max(highest, chunk.score, 1.0)) for chunk in fused)

    def _aside(self, fused: Iterable[Fused], context: CandidateContext) -> dict[int, float]:
        """A low score loses half at most: chunks that stand aside keep their order."""
        aside = (chunk for chunk in fused if chunk.row in context.aside)
        return {chunk.row: -min(self.aside, chunk.score / 2.0) for chunk in aside}

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
        """An answer often shares its words with the turn right before or after it."""
        return {
            row: self.context * fsum(above.get(other, 0.0) for other in beside)
            for row, beside in context.beside.items()
        }

    def vary(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        """Lower further chunks of the same file, so that the first results are of several files.
        The best chunk of each file and definitions that the query names keep their scores."""
        seen: defaultdict[str, int] = defaultdict(int)
        lost: dict[int, float] = {}
        for chunk in fused:
            file = context.files.get(chunk.row, "")
            if file and chunk.score > 0.0 and not _is_named(chunk):
                lost[chunk.row] = (self.variety ** seen[file] - 1.0) * chunk.score
            seen[file] += chunk.row in context.best
        return in_order(_add("variety", fused, lost))


RULES = Rules()


def _add(signal: str, fused: Iterable[Fused], parts: Mapping[int, float]) -> list[Fused]:
    """Add a contribution to the chunks that have one. The order stays."""
    return [
        add_part(chunk, signal, part, raw=part) if (part := parts.get(chunk.row, 0.0)) else chunk
        for chunk in fused
    ]


def _is_named(chunk: Fused) -> bool:
    return any(part.signal == "exact" for part in chunk.contributions)


def fade(fused: Sequence[Fused], recency: Ranking) -> list[Fused]:
    """Multiply each score by its chunk's recency (seed 001); chunks without a date keep theirs."""
    hits = {hit.row: hit for hit in recency.hits}
    return in_order(
        add_part(chunk, "recency", (hit.score - 1.0) * chunk.score, raw=hit.score, rank=hit.rank)
        if (hit := hits.get(chunk.row))
        else chunk
        for chunk in fused
    )


def lead(fused: Sequence[Fused], exact: Ranking) -> list[Fused]:
    """Put the definitions that the query names first. Without a named chunk, nothing changes."""
    if not exact.hits:
        return list(fused)
    is_definition = exact.hits[0].score >= ASSUMED
    share = DEFINITION_SHARE if is_definition else NAMED_SHARE
    weight = share if is_definition else share / NAMED
    chunks = {chunk.row: scaled(chunk, 1.0 - share) for chunk in fused}
    for row, level, rank in exact.hits:
        chunk = chunks.get(row, Fused(row, 0.0, ()))
        chunks[row] = add_part(chunk, "exact", weight * level, raw=level, rank=rank)
    return in_order(chunks.values())
