"""Words and meaning as signals of a store that ranks by itself: nothing is read into files.

The two share one question to the database. Scores are put together here, as they are for every
store, from what the database tells of each chunk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter

from aurora.errors import EmbeddingError
from aurora.signals.base import Question
from aurora.signals.bm25_formula import BM25Parameters, discount, rarity, saturate
from aurora.signals.semantic import FAINTEST, Embedders, QuestionEmbedder
from aurora.stores.base import Embedder, Ranked, Ranking, Scored, Vectors, WeighedTerm, WordsAsked
from aurora.text import query_words, question_terms, words_found
from aurora.types import Hit

_DIGITS = 7  # of a cosine, as the database tells it
_BY_WORDS: Callable[[Scored], int] = attrgetter("word_rank")
_BY_MEANING: Callable[[Scored], int] = attrgetter("cosine_rank")


class ServerSearch:
    """One question to the store. Asked by the first who wants to know, for both signals."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self.words: WordsAsked | None = None
        self.vector: Sequence[float] | None = None
        self.total = 0  # chunks that may be found
        self._best: dict[int, Ranked] = {}
        self._passing: dict[int, Ranked] = {}  # the best of what a filter lets through
        self._known: dict[int, Scored] = {}
        self._places: dict[Callable[[Scored], int], dict[int, int]] = {}

    def look_for(self, vector: Sequence[float]) -> None:
        """By meaning, too. What was asked by words alone, to see whether they suffice, is not
        all there is to know any more."""
        self.vector = vector
        for known in (self._best, self._passing, self._known, self._places):
            known.clear()

    def best(self, pool: int, among: Sequence[int] | None) -> Ranked:
        """The best of all, or of those a filter lets through; a search has one filter."""
        asked = self._best if among is None else self._passing
        if pool not in asked:
            asked[pool] = self._ranking.rank(self.words, self.vector, pool=pool, among=among)
            self._places.clear()
            for row, one in asked[pool].scored.items():
                self._known.setdefault(row, one)
        return asked[pool]

    def scored(self, rows: Collection[int]) -> list[Scored]:
        unknown = [row for row in rows if row not in self._known]
        if unknown:
            self._known.update(self._ranking.score(self.words, self.vector, unknown))
        return [self._known[row] for row in rows if row in self._known]

    def place(self, row: int, rank: Callable[[Scored], int]) -> int:
        """The rank in the whole memory, as far as it is known; what nobody ranked comes last."""
        if rank not in self._places:
            self._places[rank] = self._find_places(rank)
        return self._places[rank].get(row) or max(self.total, max(self._best, default=0) + 1)

    def _find_places(self, rank: Callable[[Scored], int]) -> dict[int, int]:
        """What only a filter has brought comes after all that was asked for without it, and in its
        own order: as far behind as the last before it whose rank is known."""
        scored = (one for ranked in self._best.values() for one in ranked.scored.values())
        places = {one.row: rank(one) for one in scored if rank(one)}
        for ranked in self._passing.values():
            behind = max(self._best, default=0)
            for one in sorted(filter(rank, ranked.scored.values()), key=rank):
                place = places.setdefault(one.row, rank(one) + behind)
                behind = max(behind, place - rank(one))
        return places


class ServerKeywords:
    """Ranks by keyword, as `BM25Signal` does."""

    name = "bm25"

    def __init__(self, searches: Searches, parameters: BM25Parameters) -> None:
        self._searches, self._parameters = searches, parameters

    def ask(self, question: Question) -> ServerKeywordAnswer:
        search = self._searches.of(question)
        asked = question_terms(question.text)
        counted = self._searches.ranking.count_terms(list(asked))
        search.total = counted.chunks
        weights = {term: share * self._rarity(counted.chunks, counted.containing.get(term, 0))
                   for term, share in asked.items()}  # fmt: skip
        found = sorted(counted.containing.items(), key=lambda item: (item[1], item[0]))
        k1, b, _ = self._parameters
        search.words = WordsAsked(
            tuple(WeighedTerm(term, weights[term], chunks) for term, chunks in found),
            k1,
            b,
            counted.tokens / counted.chunks if counted.chunks else 0.0,
        )
        ceiling = sum(max(weight, 0.0) * (k1 + 1.0) for weight in weights.values())
        words = query_words(question.text)
        return ServerKeywordAnswer(search, self._parameters, ceiling=ceiling, asked=words)

    def _rarity(self, chunks: int, containing: int) -> float:
        return float(rarity(chunks, containing, variant=self._parameters.idf))


class ServerKeywordAnswer:
    def __init__(
        self,
        search: ServerSearch,
        parameters: BM25Parameters,
        *,
        ceiling: float,
        asked: Mapping[str, str],
    ) -> None:
        self._search, self._parameters, self._asked = search, parameters, asked
        self.ceiling = ceiling

    @property
    def is_empty(self) -> bool:
        return not (self._search.words and self._search.words.terms)

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        return [] if self.is_empty else self._search.best(pool, among).by_words

    def hits(self, rows: Collection[int]) -> list[Hit]:
        if self.is_empty:
            return []
        hits = ((one.row, self._score(one)) for one in self._search.scored(rows))
        return [
            Hit(row, score, self._search.place(row, _BY_WORDS))
            for row, score in hits
            if score != 0.0
        ]

    def _score(self, one: Scored) -> float:
        words = self._search.words
        if words is None:
            return 0.0
        discounted = discount(one.length, words.average_length, self._parameters)
        return float(
            sum(
                term.weight * saturate(frequency, discounted, self._parameters)
                for term, frequency in zip(words.terms, one.frequencies, strict=False)
                if frequency
            )
        )

    def terms(self, row: int) -> frozenset[str]:
        """Words of the question in one chunk, as they are written or by their stems."""
        words = self._search.words
        if words is None:
            return frozenset()
        scored = self._search.scored([row])
        matched = zip(words.terms, scored[0].frequencies if scored else (), strict=False)
        found = {term.text for term, frequency in matched if frequency}
        return words_found(self._asked, found)

    def coverage(self, row: int) -> float:
        """The share of the question's words that a chunk has."""
        return len(self.terms(row)) / (len(self._asked) or 1)


class ServerSemantic:
    """Ranks by meaning, as `SemanticSignal` does."""

    name = "semantic"

    def __init__(self, searches: Searches, embedders: Embedders) -> None:
        self._searches = searches
        self._embedder = QuestionEmbedder(embedders)

    @property
    def reads_cjk(self) -> bool:
        owner = self._searches.vectors.embedder()
        return owner is None or self._embedder.reads_cjk(owner)

    def knows(self, question: Question) -> bool:
        owner = self._searches.vectors.embedder()
        return owner is None or self._embedder.knows(question.text, owner)

    def ask(self, question: Question) -> ServerSemanticAnswer:
        """Raises `EmbeddingError` when there is nothing to compare, or nothing to compare with."""
        owner: Embedder | None = self._searches.vectors.embedder()
        if owner is None:
            raise EmbeddingError("No chunk has a vector yet", hint="make them with `aur mem index`")
        search = self._searches.of(question)
        search.look_for(self._embedder.embed(question.text, owner))
        return ServerSemanticAnswer(search)


class ServerSemanticAnswer:
    ceiling = 1.0

    def __init__(self, search: ServerSearch) -> None:
        self._search = search

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        ranked = self._search.best(pool, among)
        return [row for row in ranked.by_meaning if _cosine(ranked.scored[row]) is not None]

    def hits(self, rows: Collection[int]) -> list[Hit]:
        return [
            Hit(one.row, cosine, self._search.place(one.row, _BY_MEANING))
            for one in self._search.scored(rows)
            if (cosine := _cosine(one)) is not None
        ]


def _cosine(one: Scored) -> float | None:
    cosine = None if one.cosine is None else round(one.cosine, _DIGITS)
    return cosine if cosine is not None and cosine >= FAINTEST else None


class Searches:
    """The search of the question that a thread is at: both signals find the same one."""

    def __init__(self, ranking: Ranking, vectors: Vectors) -> None:
        self.ranking, self.vectors = ranking, vectors
        self._local = threading.local()

    def of(self, question: Question) -> ServerSearch:
        known: tuple[Question, ServerSearch] | None = getattr(self._local, "search", None)
        if known is None or known[0] is not question:
            self._local.search = known = (question, ServerSearch(self.ranking))
        return known[1]


def server_signals(
    ranking: Ranking, vectors: Vectors, parameters: BM25Parameters, embedders: Embedders | None
) -> tuple[ServerKeywords, ServerSemantic | None]:
    searches = Searches(ranking, vectors)
    meaning = None if embedders is None else ServerSemantic(searches, embedders)
    return ServerKeywords(searches, parameters), meaning
