"""Whether the first results are looked at again, and what is said when they cannot be."""

from __future__ import annotations

from collections.abc import Callable

from aurora.errors import AuroraError, EmbeddingError, LlmError
from aurora.retrieval.confidence import is_sure
from aurora.retrieval.reranking import Reranker
from aurora.types import Listener, Note, Rerank, SearchResult

# Who looks at results again. Raises `EmbeddingError` or `LlmError` where nobody can.
Rerankers = Callable[[Rerank], Reranker]


def nobody(wanted: Rerank) -> Reranker:
    raise EmbeddingError(f"There is no reranker {wanted} here")


class SecondLook:
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
