"""The keyword and the semantic signal of a store that ranks by itself, without index files.

Both signals share one query to the database. The database returns frequencies and cosines of each
chunk; the scores are computed here, with the same formula as for every store.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from aurora.signals.base import Question
from aurora.signals.bm25_formula import BM25Parameters, discount, saturate, weigh_terms
from aurora.signals.semantic import FAINTEST, Embedders, MeaningSignal
from aurora.stores.base import (
    Embedder,
    Ranked,
    Ranking,
    Scored,
    TermCounts,
    Vectors,
    WeighedTerm,
    WordsAsked,
)
from aurora.text import query_terms, query_words, words_found
from aurora.types import Hit

_DIGITS = 7  # of a cosine, as the database returns it
_WORD_RANK: Callable[[Scored], int] = attrgetter("word_rank")
_COSINE_RANK: Callable[[Scored], int] = attrgetter("cosine_rank")


class ServerSearch:
    """The database queries of one search, cached for both signals."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self.words: WordsAsked | None = None
        self.vector: Sequence[float] | None = None
        self.total = 0  # chunks that a search may find
        self._best: dict[int, Ranked] = {}  # by pool
        self._passing: dict[int, Ranked] = {}  # by pool: the best that pass the filter
        self._scored: dict[int, Scored] = {}
        self._places: dict[Callable[[Scored], int], dict[int, int]] = {}

    def add_vector(self, vector: Sequence[float]) -> None:
        """Rank by meaning, too. Earlier results, by words alone, are dropped."""
        self.vector = vector
        for cache in (self._best, self._passing, self._scored, self._places):
            cache.clear()

    def best(self, pool: int, among: Sequence[int] | None) -> Ranked:
        """The best of all chunks, or of those that pass the filter. A search has one filter."""
        cache = self._best if among is None else self._passing
        if pool not in cache:
            cache[pool] = self._ranking.rank(self.words, self.vector, pool=pool, among=among)
            self._places.clear()
            for row, scored in cache[pool].scored.items():
                self._scored.setdefault(row, scored)
        return cache[pool]

    def ranked(self, rank: Callable[[Scored], int]) -> list[Scored]:
        """The chunks whose rank in the whole memory is known."""
        best = {s.row: s for ranked in self._best.values() for s in ranked.scored.values()}
        return [scored for scored in best.values() if rank(scored)]

    def scored(self, rows: Collection[int]) -> list[Scored]:
        missing = [row for row in rows if row not in self._scored]
        if missing:
            self._scored.update(self._ranking.score(self.words, self.vector, missing))
        return [self._scored[row] for row in rows if row in self._scored]

    def place(self, row: int, rank: Callable[[Scored], int]) -> int:
        """The rank in the whole memory, as far as it is known; unranked chunks come last."""
        if rank not in self._places:
            self._places[rank] = self._find_places(rank)
        return self._places[rank].get(row) or max(self.total, max(self._best, default=0) + 1)

    def _find_places(self, rank: Callable[[Scored], int]) -> dict[int, int]:
        """Chunks that only the filter returned come after all others, in their own order: as far
        behind as the last chunk before them whose rank is known."""
        ranked = (scored for best in self._best.values() for scored in best.scored.values())
        places = {scored.row: rank(scored) for scored in ranked if rank(scored)}
        for passing in self._passing.values():
            behind = max(self._best, default=0)
            for scored in sorted(filter(rank, passing.scored.values()), key=rank):
                place = places.setdefault(scored.row, rank(scored) + behind)
                behind = max(behind, place - rank(scored))
        return places


class Searches:
    """The current search of each thread: both signals of a question share it."""

    def __init__(self, ranking: Ranking, vectors: Vectors) -> None:
        self.ranking, self.vectors = ranking, vectors
        self._local = threading.local()

    def of(self, question: Question) -> ServerSearch:
        current: tuple[Question, ServerSearch] | None = getattr(self._local, "search", None)
        if current is None or current[0] is not question:
            self._local.search = current = (question, ServerSearch(self.ranking))
        return current[1]


class ServerKeywords:
    """Ranks by keyword, as `BM25Signal` does."""

    name = "bm25"

    def __init__(self, searches: Searches, parameters: BM25Parameters) -> None:
        self._searches, self._parameters = searches, parameters

    def count(self, question: Question) -> TermCounts:
        return self._searches.ranking.count_terms(list(query_terms(question.text)))

    def score(self, question: Question, counts: TermCounts | None = None) -> ServerKeywordScores:
        """`counts` are the statistics of all memories that a search asks, by default its own."""
        search, (k1, b, _) = self._searches.of(question), self._parameters
        counts = self.count(question) if counts is None else counts
        search.total = counts.chunks
        weights, ceiling, _ = weigh_terms(query_terms(question.text), counts, self._parameters)
        rare_first = sorted(counts.containing.items(), key=lambda item: (item[1], item[0]))
        search.words = WordsAsked(
            tuple(WeighedTerm(term, weights[term], chunks) for term, chunks in rare_first),
            k1,
            b,
            counts.tokens / counts.chunks if counts.chunks else 0.0,
        )
        return ServerKeywordScores(
            search, self._parameters, ceiling=ceiling, words=query_words(question.text)
        )


class ServerKeywordScores:
    """`KeywordScores` from the frequencies that the database returns."""

    def __init__(
        self,
        search: ServerSearch,
        parameters: BM25Parameters,
        *,
        ceiling: float,
        words: Mapping[str, str],
    ) -> None:
        self._search, self._parameters, self._words = search, parameters, words
        self.ceiling = ceiling

    @property
    def is_empty(self) -> bool:
        return not (self._search.words and self._search.words.terms)

    @property
    def known(self) -> float:
        return self._share(self._search.words.terms if self._search.words else ())

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return [] if self.is_empty else self._search.best(pool, among).by_words

    def hits(self, rows: Collection[int]) -> list[Hit]:
        if self.is_empty:
            return []
        scores = ((scored.row, self._score(scored)) for scored in self._search.scored(rows))
        return [
            Hit(row, score, self._search.place(row, _WORD_RANK)) for row, score in scores if score
        ]

    def above(self, scores: Sequence[float]) -> list[int]:
        return _above(scores, (self._score(scored) for scored in self._search.ranked(_WORD_RANK)))

    def _score(self, scored: Scored) -> float:
        words = self._search.words
        if words is None:
            return 0.0
        discounted = discount(scored.length, words.average_length, self._parameters)
        return float(
            sum(
                term.weight * saturate(frequency, discounted, self._parameters)
                for term, frequency in zip(words.terms, scored.frequencies, strict=False)
                if frequency
            )
        )

    def terms(self, row: int) -> frozenset[str]:
        return words_found(self._words, {term.text for term in self._found(row)})

    def has(self, row: int, term: str) -> bool:
        return any(found.text == term for found in self._found(row))

    def coverage(self, row: int) -> float:
        return self._share(self._found(row))

    def _share(self, terms: Sequence[WeighedTerm]) -> float:
        present = sum(max(term.weight, 0.0) for term in terms)
        return present * (self._parameters.k1 + 1.0) / self.ceiling if present else 0.0

    def _found(self, row: int) -> list[WeighedTerm]:
        """The terms that a chunk contains."""
        words, scored = self._search.words, self._search.scored([row])
        if words is None or not scored:
            return []
        pairs = zip(words.terms, scored[0].frequencies, strict=False)
        return [term for term, frequency in pairs if frequency]


class ServerSemantic(MeaningSignal):
    """Ranks by meaning, as `SemanticSignal` does."""

    def __init__(self, searches: Searches, embedders: Embedders) -> None:
        super().__init__(embedders)
        self._searches = searches

    def _owner(self) -> Embedder | None:
        return self._searches.vectors.embedder()

    def score(
        self, question: Question, vectors: dict[Embedder, Sequence[float]] | None = None
    ) -> ServerSemanticScores:
        vector = self._embed(question, self._owner(), vectors)
        search = self._searches.of(question)
        search.add_vector(vector)
        return ServerSemanticScores(search)


class ServerSemanticScores:
    """`SignalScores` from the cosines that the database returns."""

    ceiling = 1.0

    def __init__(self, search: ServerSearch) -> None:
        self._search = search

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        ranked = self._search.best(pool, among)
        return [row for row in ranked.by_meaning if _cosine(ranked.scored[row])]

    def hits(self, rows: Collection[int]) -> list[Hit]:
        return [
            Hit(scored.row, cosine, self._search.place(scored.row, _COSINE_RANK))
            for scored in self._search.scored(rows)
            if (cosine := _cosine(scored))
        ]

    def above(self, scores: Sequence[float]) -> list[int]:
        return _above(scores, map(_cosine, self._search.ranked(_COSINE_RANK)))


def _above(scores: Sequence[float], known: Iterable[float]) -> list[int]:
    """For each number, how many of the known scores are higher."""
    ascending = sorted(known)
    return [len(ascending) - bisect_right(ascending, score) for score in scores]


def _cosine(scored: Scored) -> float:
    """The rounded cosine; 0 when it is missing or too faint."""
    cosine = round(scored.cosine or 0.0, _DIGITS)
    return cosine if cosine >= FAINTEST else 0.0


def server_signals(
    ranking: Ranking, vectors: Vectors, parameters: BM25Parameters, embedders: Embedders | None
) -> tuple[ServerKeywords, ServerSemantic | None]:
    searches = Searches(ranking, vectors)
    semantic = None if embedders is None else ServerSemantic(searches, embedders)
    return ServerKeywords(searches, parameters), semantic
