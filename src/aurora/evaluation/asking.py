"""Ways to search, and what one of them answers to a question: documents, the best first."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aurora.engine import Memory
from aurora.errors import QueryError
from aurora.evaluation.filling import Filled
from aurora.types import DEFAULT_LIMIT, Mode, SearchResults

DEPTH = 100  # documents of an answer: recall is told up to here
_MORE = 3  # times as many chunks, where several are of one document
WARM_UP = ("the first search opens the index, the second one loads numpy", "neither is measured")


@dataclass(frozen=True, slots=True)
class System:
    """One way to search. `fusion` is empty where there is nothing to fuse."""

    mode: Mode
    fusion: str = ""

    @property
    def label(self) -> str:
        return f"{self.mode}/{self.fusion}" if self.fusion else str(self.mode)

    def search(self, memory: Memory, text: str, *, limit: int) -> SearchResults:
        return memory.search(text, limit=limit, mode=self.mode, fusion=self.fusion or None)


def make_systems(modes: Sequence[Mode], fusions: Sequence[str]) -> list[System]:
    """Each mode with each fusion, where it fuses; each once."""
    every = (
        System(mode, fusion)
        for mode in modes
        for fusion in (fusions if mode is Mode.HYBRID else [""])
    )
    return list(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class Answer:
    """The documents found, each once, where its best chunk is; and how long ten results took."""

    documents: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float


def warm_up(memory: Memory, system: System) -> None:
    """Searches that nobody times."""
    for words in WARM_UP:
        system.search(memory, words, limit=DEFAULT_LIMIT)


def ask(memory: Memory, filled: Filled, text: str, system: System) -> Answer:
    """Ten results against the clock, as people ask for; then as many as make 100 documents."""
    start = time.perf_counter()
    try:
        found = system.search(memory, text, limit=DEFAULT_LIMIT)
    except QueryError:  # nothing but quotes, say: somebody asked, and got no answer
        return Answer((), (), 1e3 * (time.perf_counter() - start))
    milliseconds = 1e3 * (time.perf_counter() - start)
    limit, best = DEFAULT_LIMIT, dict(_documents(found, filled))
    while len(found.results) == limit and len(best) < DEPTH:
        limit = limit * _MORE if limit >= DEPTH else DEPTH * (_MORE if filled.are_cut else 1)
        found = system.search(memory, text, limit=limit)
        best = dict(_documents(found, filled))
    return Answer(tuple(best)[:DEPTH], tuple(best.values())[:DEPTH], milliseconds)


def _documents(found: SearchResults, filled: Filled) -> Iterator[tuple[str, float]]:
    seen = set()
    for result in found.results:
        document = filled.item_of(result.chunk)
        if document and document not in seen:
            seen.add(document)
            yield document, result.score


def percentile(ordered: Sequence[float], share: int) -> float:
    """By nearest rank: one of the numbers, and no less than that share of them."""
    return ordered[-(-len(ordered) * share // 100) - 1]
