"""A second look at the best: late interaction between the question's words and a chunk's (MaxSim).

A vector of a whole chunk blurs what its parts say. Here each token of the question looks for the
token of the chunk that is most like it, and the mean of those cosines is what the chunk is worth.
It takes a run of the model for each chunk, so only the first are looked at, and only for so long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from aurora.embeddings.base import TokenEmbedder
from aurora.retrieval.confidence import leads_by_name
from aurora.types import Contribution, SearchResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
