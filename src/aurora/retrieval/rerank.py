"""Whether the first results are looked at again, and what is said when they cannot be.

Whether a search is sure of its first result: then a second look has little to mend.

A second look at the best: late interaction between the question's words and a chunk's (MaxSim).

A vector of a whole chunk blurs what its parts say. Here each token of the question looks for the
token of the chunk that is most like it, and the mean of those cosines is what the chunk is worth.
It takes a run of the model for each chunk, so only the first are looked at, and only for so long.

A second look by somebody who reads the first results side by side, and names an order.

There are no new scores then, only places. So each place keeps its score, and who moves gets that of
the new one: the difference is what the second look gave or took.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Protocol

from aurora.embeddings.base import TokenEmbedder
from aurora.errors import AuroraError, EmbeddingError, LlmError
from aurora.signals.exact import ASSUMED
from aurora.text import tokenize
from aurora.types import Contribution, Listener, Note, Rerank, SearchResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PLACES = 10  # the first, and those that it is compared with
SURE = 0.4  # of the first score; measured: see docs/concepts/ranking.md


def is_sure(results: Sequence[SearchResult]) -> bool:
    """A definition asked for by name leads, or the first stands far above the mean of the next.

    Relative to its score, so that it holds for every fusion.
    """
    if len(results) < 2 or leads_by_name(results):
        return bool(results)  # one alone has nothing to be compared with
    first, *others = [one.score for one in results[:PLACES]]
    return first - fsum(others) / len(others) > SURE * first


def leads_by_name(results: Sequence[SearchResult]) -> bool:
    """Whether the first is a definition that was asked for by its name."""
    return any(part.signal == "exact" and part.raw >= ASSUMED for part in results[0].contributions)


FIRST = 20  # results that are looked at again
SECONDS = 2.0
SHARE = 0.5  # of the new score; see docs/concepts/embeddings.md


class Reranker(Protocol):
    """Puts the first results of a search into a better order."""

    @property
    def first(self) -> int:
        """How many it looks at; what is asked for beyond them keeps its place."""
        ...

    def rerank(self, question: str, results: Sequence[SearchResult]) -> Reranked: ...


@dataclass(frozen=True, slots=True)
class Reranked:
    """All results, of which so many were looked at in time, out of those that should have been."""

    results: tuple[SearchResult, ...]
    seen: int
    wanted: int


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Every score is scaled down alike, and those looked at gain: none falls behind the others.

    A definition asked for by its name is first already, and stays.
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
        likeness = self._likeness(question, wanted)
        seen = len(likeness)
        ranked = _ranked(likeness)
        gained = (
            _gained(result, like, ranked[like], self.share)
            for result, like in zip(results[:seen], likeness, strict=True)
        )
        best = sorted(gained, key=lambda result: -result.score)  # stable: ties keep their order
        rest = [_scaled(result, 1.0 - self.share) for result in results[seen:]]
        return Reranked((*best, *rest) if seen else tuple(results), seen, len(wanted))

    def _likeness(self, question: str, results: Sequence[SearchResult]) -> list[float]:
        """Of as many as there is time for, best first; on all processors."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few searches rerank

        started = self.clock()
        asked = self.tokens.token_vectors(question, is_query=True)
        likeness: list[float] = []
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            looks = [pool.submit(self._like, asked, _text(result)) for result in results]
            for look in looks:
                left = self.seconds - (self.clock() - started)
                if left <= 0.0:
                    break
                likeness.append(look.result(left))
        except TimeoutError:
            pass  # what was looked at so far counts
        finally:
            pool.shutdown(cancel_futures=True)
        return likeness

    def _like(self, asked: NDArray[np.float32], text: str) -> float:
        found = self.tokens.token_vectors(text)
        if not len(asked) or not len(found):
            return 0.0
        return float((asked @ found.T).max(axis=1).mean().clip(0.0, 1.0))


def _text(result: SearchResult) -> str:
    chunk = result.chunk
    return f"{chunk.qualified_name or chunk.name}\n{chunk.content}"


def _ranked(likeness: Sequence[float]) -> dict[float, int]:
    """Rank by score; what is alike has the same."""
    ranked: dict[float, int] = {}
    for rank, like in enumerate(sorted(likeness, reverse=True), start=1):
        ranked.setdefault(like, rank)
    return ranked


def _gained(result: SearchResult, like: float, rank: int, share: float) -> SearchResult:
    part = Contribution("rerank", rank, like, like, share * like)
    scaled = _scaled(result, 1.0 - share)
    parts = (*scaled.contributions, part)
    return replace(scaled, score=scaled.score + part.value, contributions=parts)


def _scaled(result: SearchResult, factor: float) -> SearchResult:
    parts = tuple(part._replace(value=part.value * factor) for part in result.contributions)
    return replace(result, score=result.score * factor, contributions=parts)


# Who looks at results again. Raises `EmbeddingError` or `LlmError` where nobody can.
Rerankers = Callable[[Rerank], Reranker]


def no_reranker(wanted: Rerank) -> Reranker:
    raise EmbeddingError(f"There is no reranker {wanted} here")


class RerankStage:
    """One search's. A search is never worse for it: what goes wrong leaves the order as it was."""

    def __init__(
        self, rerankers: Rerankers, wanted: Rerank, *, if_unsure: bool, listen: Listener
    ) -> None:
        """`if_unsure`: only where the first search is not sure of itself."""
        self._if_unsure, self._listen = if_unsure, listen
        self.notes: list[Note] = []
        self._reranker: Reranker | None = None
        if wanted is not Rerank.NONE:
            try:
                self._reranker = rerankers(wanted)
            except (EmbeddingError, LlmError) as exc:
                self._tell_of(exc)

    @property
    def first(self) -> int:
        """How many results it wants to see, however few are asked for."""
        return self._reranker.first if self._reranker else 0

    def over(self, question: str, results: tuple[SearchResult, ...]) -> tuple[SearchResult, ...]:
        if self._reranker is None or (self._if_unsure and is_sure(results)):
            return results
        try:
            done = self._reranker.rerank(question, results)
        except (EmbeddingError, LlmError) as exc:
            self._tell_of(exc)
            return results
        if done.seen < done.wanted:
            self._tell(Note(f"Reranked {done.seen} of {done.wanted} in the time there was"))
        return done.results

    def _tell_of(self, exc: AuroraError) -> None:
        self._tell(Note(f"Not reranked: {exc.in_one_line}", warning=True))

    def _tell(self, note: Note) -> None:
        self.notes.append(note)
        self._listen(note)


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
        order = self.rank(question, [_listed_text(result) for result in seen])
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


def _listed_text(result: SearchResult) -> str:
    """What a reader needs to judge: where it is, and its lines from the one that says most."""
    chunk = result.chunk
    lines = chunk.content.splitlines() or [""]
    terms = frozenset(result.terms)
    best = max(range(len(lines)), key=lambda at: len(terms.intersection(tokenize(lines[at]))))
    part = " ".join("\n".join(lines[best:]).split())
    return f"{chunk.qualified_name or chunk.name} {chunk.path}"[:_HEADING] + f"\n{part[:_PART]}"
