"""The way of a query: signals answer, a fusion combines, the store gives the chunks.

Creating a retriever opens nothing: each signal opens its index with the first question, once for
all threads (seed 003).

What is shown of the chosen chunks: fetched from the store, with what matched in each.

Retrievers that are kept for a while: what one has loaded, the next search finds loaded.

A retriever by itself notices a new generation of its store. It is made anew when it is asked for
with other settings or another store, and let go with the memory it holds when it was not used for
as long as it lives (seed 003).

Which chunks may be results: rows that fit all criteria, remembered while the memory stays.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from aurora.errors import QueryError
from aurora.fusion.base import ContextFusion, Fusion
from aurora.retrieval.candidates import NO_KEYWORD, Asked, CandidateSelection, Signals, load_context
from aurora.retrieval.config import SearchConfig
from aurora.retrieval.expand import Expand, Expansion, no_expander
from aurora.retrieval.lookup import nearest_names
from aurora.retrieval.query import LONGEST_QUERY, parse_query, shortened
from aurora.retrieval.rerank import Rerankers, RerankStage, no_reranker
from aurora.signals.base import Answer, Question, WordedAnswer
from aurora.signals.bm25 import BM25Signal
from aurora.signals.semantic import Embedders
from aurora.signals.vector_index import VectorIndex
from aurora.stores.base import Store
from aurora.text import document_terms, query_words, tokenize, words_found
from aurora.types import (
    Chunk,
    Criteria,
    Fused,
    Listener,
    Note,
    Query,
    SearchResult,
    SearchResults,
    ignore_events,
)

__all__ = ["Retriever", "SearchConfig"]


Terms = Callable[[int, Chunk], frozenset[str]]


def fetch_results(
    store: Store, outcomes: Sequence[Fused], text: str, answers: Mapping[str, Answer]
) -> tuple[SearchResult, ...]:
    """Results in the same order; chunks that were forgotten a moment ago are left out."""
    chunks = store.chunks.get_rows([outcome.row for outcome in outcomes])
    ids = [chunk.id for chunk in chunks.values()]
    histories, accesses = store.chunks.get_histories(ids), store.chunks.get_accesses(ids)
    words, matched = dict.fromkeys(tokenize(text)), _matched(text, answers)
    return tuple(
        SearchResult(
            chunk,
            outcome.score,
            outcome.contributions,
            histories.get(chunk.id),
            tuple(filter(matched(outcome.row, chunk).__contains__, words)),
            len(opened := accesses.get(chunk.id, ())),
            opened[-1] if opened else None,
        )
        for outcome in outcomes
        if (chunk := chunks.get(outcome.row)) is not None
    )


def _matched(text: str, answers: Mapping[str, Answer]) -> Terms:
    """Which words of the text a chunk has: the keyword index knows, if it was asked."""
    keyword = next((a for a in answers.values() if isinstance(a, WordedAnswer)), None)
    if keyword is not None:
        return lambda row, _: keyword.terms(row)
    words = query_words(text)
    return lambda _, chunk: words_found(
        words, set(document_terms(f"{chunk.name}\n{chunk.content}"))
    )


def newest(store: Store, rows: Sequence[int], *, limit: int) -> tuple[SearchResult, ...]:
    """What a filter alone asks for: the chunks that came last, in that order."""
    last = [Fused(row, 0.0, ()) for row in reversed(rows[-limit:])]
    return fetch_results(store, last, "", {})


LIFETIME = 1800.0  # seconds since it was last asked for
_KEPT = 4  # retrievers; one for each memory and setting in use


class CacheCounts(NamedTuple):
    hits: int
    misses: int


class RetrieverCache:
    """Hands out one retriever a key to all threads. `clock` tells seconds."""

    def __init__(self, *, clock: Callable[[], float], lifetime: float = LIFETIME) -> None:
        self._clock, self._lifetime = clock, lifetime
        self._kept: OrderedDict[Hashable, tuple[float, Retriever]] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get(self, key: Hashable, make: Callable[[], Retriever]) -> Retriever:
        """The retriever of that key; `make` opens nothing, so it may run under the lock."""
        with self._lock:
            now = self._clock()
            self._let_go(now)
            known = self._kept.pop(key, None)
            self._hits, self._misses = self._hits + (known is not None), self._misses + (not known)
            retriever = known[1] if known is not None else make()
            self._kept[key] = (now, retriever)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return retriever

    def _let_go(self, now: float) -> None:
        old = [key for key, (used, _) in self._kept.items() if now - used > self._lifetime]
        for key in old:
            del self._kept[key]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    @property
    def counts(self) -> CacheCounts:
        return CacheCounts(self._hits, self._misses)


_REMEMBERED = 8  # filters; an agent tends to ask with the same few


class Eligible:
    """Asks the store once for each filter and generation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[int, Criteria], array[int]] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, *wanted: Criteria) -> array[int] | None:
        """Ascending rows that fit everything wanted; none at all means: every chunk may."""
        found = [self._find(criteria) for criteria in wanted if criteria]
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        return array("q", sorted(set(found[0]).intersection(*found[1:])))

    def _find(self, criteria: Criteria) -> array[int]:
        if criteria.since is not None:  # commits and files' times change within a generation
            return self._store.search.find_rows(criteria)
        key = (self._store.generation(), criteria)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        rows = self._store.search.find_rows(criteria)
        with self._lock:
            self._known[key] = rows
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return rows


_TOO_LONG = (
    f"Of this query of more than {LONGEST_QUERY:,} characters only the beginning and the end "
    "were searched for"
)


class Retriever:
    """Finds chunks by words, by meaning and by use, and tells why each is where it is."""

    def __init__(
        self,
        store: Store,
        config: SearchConfig | None = None,
        *,
        index_folder: Path,
        now: Callable[[], datetime],
        embedders: Embedders | None = None,
        rerankers: Rerankers = no_reranker,
        expand: Expand = no_expander,
        listen: Listener = ignore_events,
    ) -> None:
        """`embedders`: who embeds questions. Without, a search does without meaning, and tells."""
        self._store, self._config, self._now = store, config or SearchConfig(), now
        self._eligible, self._listen = Eligible(store), listen
        self._rerankers, self._expand = rerankers, expand
        self._signals = Signals(
            store,
            self._config,
            index_folder=index_folder,
            now=now,
            embedders=embedders,
            listen=listen,
        )

    @property
    def bm25(self) -> BM25Signal:
        return self._signals.bm25

    @property
    def vectors(self) -> VectorIndex:
        return self._signals.vectors

    def retrieve(self, query: Query) -> SearchResults:
        """Ask, choose, fetch. What is first does not depend on how many are asked for."""
        now = self._now()
        text = shortened(query.text)
        parsed = parse_query(text, now=now)
        eligible, notes = self._narrow(query.criteria, parsed.criteria)
        if text != query.text:
            notes = (*notes, Note(_TOO_LONG, warning=True))
            self._listen(notes[-1])
        if not parsed.words.strip():
            return self._list(query, eligible)
        fusion = self._config.make_fusion(query.fusion)
        expansion, look = self._expansion(query, parsed.words), self._second_look(query)
        needed = max(query.limit, look.first, expansion.depth)
        ask = partial(
            self._signals.ask,
            mode=query.mode or self._config.mode,
            fusion=fusion,
            enough=lambda found: len(found.best(needed, among=eligible)) >= needed,
        )
        asked = ask(Question(parsed.words, now))
        choose = partial(
            CandidateSelection,
            fusion=_fitting(fusion, asked),
            pool=self._config.stage1_top_k,
            load_context=lambda rows, best: load_context(
                self._store, rows, parsed.words, best=best
            ),
            min_score=query.min_score,
            eligible=eligible,
        )
        choice = choose(asked.answers)

        def search(words: str) -> CandidateSelection:
            # Which definition is meant is for the query to say, not for the words added to it.
            names = {name: one for name, one in asked.answers.items() if name == "exact"}
            return choose({**ask(Question(words, now)).answers, **names})

        outcomes = expansion.over(choice.first(needed), search)[: max(query.limit, look.first)]
        fetched = fetch_results(self._store, outcomes, parsed.words, asked.answers)
        results = look.over(parsed.words, fetched)[: query.limit]
        # Names help where words were wrong, not where a filter has taken what they found.
        unknown = not results and (eligible is None or not choice.took_part)
        nearest = self._nearest(parsed.words) if unknown or asked.found_no_word else ()
        if results and asked.found_no_word:
            self._tell_of_meaning(nearest, asked.notes)
        return SearchResults(
            query,
            results,
            fusion.name,
            choice.took_part,
            asked.mode,
            (*notes, *asked.notes, *expansion.notes, *look.notes),
            nearest,
            filtered=eligible is not None,
            words=parsed.words,
        )

    def _expansion(self, query: Query, words: str) -> Expansion:
        wanted = self._config.expand if query.expand is None else query.expand
        return Expansion(self._expand, words, wanted=wanted, listen=self._listen)

    def _second_look(self, query: Query) -> RerankStage:
        return RerankStage(
            self._rerankers,
            query.rerank or self._config.rerank,
            if_unsure=self._config.rerank_if_unsure,
            listen=self._listen,
        )

    def _tell_of_meaning(self, nearest: Sequence[str], notes: list[Note]) -> None:
        """No word was found and meaning alone has answers: perhaps one was mistyped."""
        self._listen(Note(NO_KEYWORD))
        if nearest:
            notes.append(Note(f"Did you mean {', '.join(nearest)}?"))
            self._listen(notes[-1])

    def _nearest(self, words: str) -> tuple[str, ...]:
        """Names like the words, and the words that names are made of."""
        names = list(self._store.search.iter_names())
        parts = chain.from_iterable(map(tokenize, names))
        return nearest_names(words, dict.fromkeys(chain(names, parts)))

    def _narrow(
        self, given: Criteria, written: Criteria
    ) -> tuple[Sequence[int] | None, tuple[Note, ...]]:
        """The rows that may be results. A phrase that no chunk has is not held against its words:
        people put titles in quotes, too."""
        rows = self._eligible.rows(given, written)
        if rows or not written.phrases or self._eligible.rows(Criteria(phrases=written.phrases)):
            return rows, ()
        phrases = ", ".join(f'"{phrase}"' for phrase in written.phrases)
        note = Note(f"No chunk has {phrases} word for word, searching for the words")
        self._listen(note)
        return self._eligible.rows(given, replace(written, phrases=())), (note,)

    def _list(self, query: Query, eligible: Sequence[int] | None) -> SearchResults:
        """What a filter alone asks for: the newest of it."""
        if eligible is None:
            raise QueryError(
                "The query is empty", hint='say what to look for: aur mem search "parse config"'
            )
        results = newest(self._store, eligible, limit=query.limit)
        mode = query.mode or self._config.mode
        return SearchResults(query, results, "newest", (), mode, filtered=True)


def _fitting(fusion: Fusion, asked: Asked) -> Fusion:
    if asked.meaning_is_vague and isinstance(fusion, ContextFusion):
        return fusion.doubting_meaning()
    return fusion
