"""A second look by somebody who reads the first results side by side, and names an order.

There are no new scores then, only places. So each place keeps its score, and who moves gets that of
the new one: the difference is what the second look gave or took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aurora.retrieval.confidence import leads_by_name
from aurora.retrieval.reranking import FIRST, Reranked
from aurora.text import tokenize
from aurora.types import Contribution, SearchResult

# Places of the texts that answer the question, best first; some may be missing.
Rank = Callable[[str, Sequence[str]], Sequence[int]]

_HEADING, _PART = 120, 280  # characters that are shown of a name with its path, and of the content


@dataclass(frozen=True, slots=True)
class Listwise:
    """A `Reranker`. A definition asked for by its name is first already, and stays."""

    rank: Rank
    first: int = FIRST

    def rerank(self, question: str, results: Sequence[SearchResult]) -> Reranked:
        if len(results) < 2 or leads_by_name(results):
            return Reranked(tuple(results), 0, 0)
        seen = results[: self.first]
        order = self.rank(question, [_text(result) for result in seen])
        moved = fill_slots(seen, order)
        return Reranked((*moved, *results[self.first :]), len(seen), len(seen))


def fill_slots(results: Sequence[SearchResult], order: Sequence[int]) -> list[SearchResult]:
    """Those named take the places that they have among themselves, in the order named."""
    slots = list(results)
    for rank, (slot, place) in enumerate(zip(sorted(order), order, strict=True), start=1):
        if slot != place:
            slots[slot] = _moved(results[place], results[slot].score, rank)
    return slots


def _moved(result: SearchResult, score: float, rank: int) -> SearchResult:
    gain = score - result.score
    part = Contribution("rerank", rank, gain, gain, gain)
    return replace(result, score=score, contributions=(*result.contributions, part))


def _text(result: SearchResult) -> str:
    """What a reader needs to judge: where it is, and its lines from the one that says most."""
    chunk = result.chunk
    lines = chunk.content.splitlines() or [""]
    terms = frozenset(result.terms)
    best = max(range(len(lines)), key=lambda at: len(terms.intersection(tokenize(lines[at]))))
    part = " ".join("\n".join(lines[best:]).split())
    return f"{chunk.qualified_name or chunk.name} {chunk.path}"[:_HEADING] + f"\n{part[:_PART]}"
