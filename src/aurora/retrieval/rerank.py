"""Optional stages of a search: reranking, and expansion by a language model.

Reranking gives the first results a better order.

`LateInteraction` compares the question's tokens with each chunk's tokens (MaxSim): the vector of a
whole chunk blurs what its parts say. `Listwise` asks a language model for an order of the results.

Expansion merges a second search, with related words that a language model names. The call starts
before the first search and runs beside it. The related words never replace the query. A model that
fails leaves the results as they were.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from aurora.concurrency import BackgroundTask
from aurora.embeddings.base import TokenEmbedder
from aurora.errors import AuroraError, EmbeddingError, LlmError
from aurora.quick_classes import dataclass, replace
from aurora.retrieval.confidence import never_rising
from aurora.signals.exact import is_named
from aurora.text import tokenize
from aurora.types import Contribution, Fused, Note, Rerank, SearchResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST = 20  # results that are reranked
SECONDS = 2.0
SHARE = 0.5  # of the new score; see docs/concepts/embeddings.md
SURE = 0.6  # confidence of the first result
EXPANSION = 0.3  # share of the second search: results of the query itself stay ahead
EXPANDED = 100  # results of each search that are merged, whatever the limit
_HEADING, _PART = 120, 280  # characters of a name with its path, and of the content, for a model


class Reranker(Protocol):
    """Puts the first results of a search into a better order."""

    @property
    def first(self) -> int:
        """How many results it reranks; those after them keep their places."""

    def rerank(self, question: str, results: Sequence[SearchResult]) -> Reranked: ...


@dataclass(frozen=True, slots=True)
class Reranked:
    """All results, and how many of the `wanted` first ones were reranked in time."""

    results: tuple[SearchResult, ...]
    seen: int
    wanted: int


# Returns a reranker; raises `EmbeddingError` or `LlmError` when there is none.
Rerankers = Callable[[Rerank], Reranker]


def no_reranker(wanted: Rerank) -> Reranker:
    raise EmbeddingError(f"There is no reranker {wanted} here")


@dataclass(frozen=True, slots=True)
class RerankStage:
    """The reranker of one search, or the reason why it has none."""

    reranker: Reranker | None = None
    only_if_unsure: bool = False
    notes: tuple[Note, ...] = ()

    @classmethod
    def load(cls, rerankers: Rerankers, wanted: Rerank, *, only_if_unsure: bool) -> RerankStage:
        if wanted is Rerank.NONE:
            return cls()
        try:
            return cls(rerankers(wanted), only_if_unsure)
        except (EmbeddingError, LlmError) as exc:
            return cls(notes=(_failed(exc),))

    @property
    def first(self) -> int:
        """How many results it needs, whatever the limit."""
        return self.reranker.first if self.reranker else 0

    def rerank(
        self, question: str, results: tuple[SearchResult, ...]
    ) -> tuple[tuple[SearchResult, ...], tuple[Note, ...]]:
        """The results in their new order, and notes about it."""
        if self.reranker is None or (self.only_if_unsure and is_sure(results)):
            return results, ()
        try:
            reranked = self.reranker.rerank(question, results)
        except (EmbeddingError, LlmError) as exc:
            return results, (_failed(exc),)
        pairs = zip(reranked.results, results, strict=True)
        placed = tuple(_with_score(moved, before.score) for moved, before in pairs)
        if reranked.seen >= reranked.wanted:
            return placed, ()
        text = f"Reranked {reranked.seen} of {reranked.wanted} in the time there was"
        return placed, (Note(text),)


def _failed(exc: AuroraError) -> Note:
    return Note(f"Not reranked: {exc.in_one_line}", warning=True)


def is_sure(results: Sequence[SearchResult]) -> bool:
    """True when the query names the first result, or its confidence is high."""
    if len(results) < 2 or leads_by_name(results):
        return bool(results)  # a single result has no competitor
    return results[0].score >= SURE


def leads_by_name(results: Sequence[SearchResult]) -> bool:
    """True when the first result is a definition that the query names."""
    return any(part.signal == "exact" and is_named(part.raw) for part in results[0].contributions)


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Adds the mean, over the question's tokens, of the highest cosine with a token of the chunk.

    Every chunk takes a run of the model, so only the first are compared, within a time limit. All
    scores are scaled down alike, and compared chunks gain: none falls behind the rest. A definition
    that the query names stays first.
    """

    tokens: TokenEmbedder
    first: int = FIRST
    seconds: float = SECONDS
    share: float = SHARE
    clock: Callable[[], float] = time.monotonic

    def rerank(self, question: str, results: Sequence[SearchResult]) -> Reranked:
        if not results or leads_by_name(results):
            return Reranked(tuple(results), 0, 0)
        wanted = results[: self.first]
        likeness = self._compare(question, wanted)
        if not likeness:
            return Reranked(tuple(results), 0, len(wanted))
        ascending = sorted(likeness)
        ranks = {like: len(ascending) - at for at, like in enumerate(ascending)}
        scaled = [_scaled(result, 1.0 - self.share) for result in results]
        gained = [
            _with_part(result, Contribution("rerank", ranks[like], like, like, self.share * like))
            for result, like in zip(scaled, likeness, strict=False)
        ]
        best = sorted(gained, key=lambda result: -result.score)  # stable: ties keep their order
        return Reranked((*best, *scaled[len(gained) :]), len(gained), len(wanted))

    def _compare(self, question: str, results: Sequence[SearchResult]) -> list[float]:
        """The likeness of as many results as the time allows, best first, on all processors."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few searches rerank

        started = self.clock()
        vectors = self.tokens.token_vectors(question, is_query=True)
        likeness: list[float] = []
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            calls = [pool.submit(self._max_sim, vectors, result) for result in results]
            for call in calls:
                left = self.seconds - (self.clock() - started)
                if left <= 0.0:
                    break
                likeness.append(call.result(left))
        except TimeoutError:
            pass  # the results so far count
        finally:
            pool.shutdown(cancel_futures=True)
        return likeness

    def _max_sim(self, question: NDArray[np.float32], result: SearchResult) -> float:
        chunk = result.chunk
        vectors = self.tokens.token_vectors(f"{_name(result)}\n{chunk.content}")
        if not len(question) or not len(vectors):
            return 0.0
        return float((question @ vectors.T).max(axis=1).mean().clip(0.0, 1.0))


# Places of the texts that answer the question, best first; some may be missing.
Rank = Callable[[str, Sequence[str]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Listwise:
    """A `Reranker` by an order instead of scores: each place keeps its score, and a result that
    moves gets the score of its new place. A definition that the query names stays first."""

    rank: Rank
    first: int = FIRST

    def rerank(self, question: str, results: Sequence[SearchResult]) -> Reranked:
        if len(results) < 2 or leads_by_name(results):
            return Reranked(tuple(results), 0, 0)
        seen = results[: self.first]
        order = self.rank(question, [_excerpt(result) for result in seen])
        return Reranked((*fill_slots(seen, order), *results[self.first :]), len(seen), len(seen))


def fill_slots(results: Sequence[SearchResult], order: Sequence[int]) -> list[SearchResult]:
    """Reorder the results named in `order` among their own places; the others stay."""
    slots = list(results)
    for rank, (slot, place) in enumerate(zip(sorted(order), order, strict=True), start=1):
        if slot != place:
            gain = results[slot].score - results[place].score
            moved = _with_part(results[place], Contribution("rerank", rank, gain, gain, gain))
            slots[slot] = replace(moved, score=results[slot].score)
    return slots


def _excerpt(result: SearchResult) -> str:
    """Name and path of a chunk, and its content from the line with the most words of the query."""
    lines = result.chunk.content.splitlines() or [""]
    terms = frozenset(result.terms)
    best = max(range(len(lines)), key=lambda at: len(terms.intersection(tokenize(lines[at]))))
    part = " ".join("\n".join(lines[best:]).split())
    return f"{_name(result)} {result.chunk.path}"[:_HEADING] + f"\n{part[:_PART]}"


def _name(result: SearchResult) -> str:
    return result.chunk.qualified_name or result.chunk.name


def _scaled(result: SearchResult, factor: float) -> SearchResult:
    parts = tuple(part._replace(value=part.value * factor) for part in result.contributions)
    return replace(result, score=result.score * factor, contributions=parts)


def _with_score(result: SearchResult, score: float) -> SearchResult:
    """A reranker says which result is better, not how sure it is: each place keeps its score."""
    if result.score <= 0.0 or result.score == score:
        return result
    return replace(_scaled(result, score / result.score), score=score)


def _with_part(result: SearchResult, part: Contribution) -> SearchResult:
    parts = (*result.contributions, part)
    return replace(result, score=result.score + part.value, contributions=parts)


# Returns words to search for beside the query, within its own time limit. Raises `LlmError`.
Expand = Callable[[str], Sequence[str]]


def no_expander(words: str) -> Sequence[str]:  # noqa: ARG001
    raise LlmError("No language model is set up to expand queries")


class Expansion:
    """The related words of one search. The model is called at once, in the background."""

    def __init__(self, expand: Expand, words: str) -> None:
        self._call: BackgroundTask[Sequence[str]] = BackgroundTask(lambda: expand(words))

    def terms(self) -> tuple[Sequence[str], tuple[Note, ...]]:
        """Wait for the related words. Returns them, and a note about them."""
        try:
            terms = self._call.result()
        except LlmError as exc:
            return (), (Note(f"Not expanded: {exc.in_one_line}", warning=True),)
        return terms, (Note(f"Expanded with: {', '.join(terms)}"),) if terms else ()


def merge(first: Sequence[Fused], second: Sequence[Fused]) -> list[Fused]:
    """One order, with EXPANSION as the share of the second search.

    Only the first EXPANDED of each take part; further chunks of the first search come after them.
    """
    places = {chunk.row: (rank, chunk) for rank, chunk in enumerate(second[:EXPANDED], start=1)}
    merged = [_merged(chunk, places) for chunk in first[:EXPANDED]]
    rows = {chunk.row for chunk in merged}
    new = (chunk for row, (_, chunk) in places.items() if row not in rows)
    merged += [_merged(Fused(chunk.row, 0.0, (), chunk.relevance), places) for chunk in new]
    rows.update(places)
    rest = [chunk.scaled(1.0 - EXPANSION) for chunk in first[EXPANDED:] if chunk.row not in rows]
    return never_rising((*sorted(merged, key=lambda chunk: -chunk.score), *rest))


def _merged(chunk: Fused, places: Mapping[int, tuple[int, Fused]]) -> Fused:
    kept = chunk.scaled(1.0 - EXPANSION)
    if chunk.row not in places:
        return kept
    rank, again = places[chunk.row]
    part = Contribution("expansion", rank, again.score, again.score, EXPANSION * again.score)
    return Fused(
        kept.row, kept.score + part.value, (*kept.contributions, part), relevance=kept.relevance
    )
