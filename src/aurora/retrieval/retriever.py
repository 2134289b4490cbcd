"""The way of a query: signals answer, a fusion combines, the store gives the chunks.

Creating a retriever opens nothing: each signal opens its index with the first question, once for
all threads (seed 003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

from aurora.errors import QueryError
from aurora.fusion.base import Fusion, PlacedFusion
from aurora.retrieval.asking import NO_KEYWORD, Asked, Signals
from aurora.retrieval.choosing import Choice
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.eligible import Eligible
from aurora.retrieval.expansion import Expand, Expansion, nobody_expands
from aurora.retrieval.nearest import nearest_names
from aurora.retrieval.query_text import LONGEST_QUERY, parse_query, shortened
from aurora.retrieval.results import fetch_results, newest
from aurora.retrieval.second_look import Rerankers, SecondLook, nobody
from aurora.retrieval.surroundings import look_around
from aurora.signals.base import Question
from aurora.signals.bm25_signal import BM25Signal
from aurora.signals.questions import Embedders
from aurora.signals.vectors import VectorIndex
from aurora.stores.base import Store
from aurora.text import tokenize
from aurora.types import (
    Criteria,
    Listener,
    Note,
    Query,
    SearchResults,
    ignore_events,
)

__all__ = ["HybridConfig", "HybridRetriever"]


_TOO_LONG = (
    f"Of this query of more than {LONGEST_QUERY:,} characters only the beginning and the end "
    "were searched for"
)


class HybridRetriever:
    """Finds chunks by words, by meaning and by use, and tells why each is where it is."""

    def __init__(
        self,
        store: Store,
        config: HybridConfig | None = None,
        *,
        index_folder: Path,
        now: Callable[[], datetime],
        embedders: Embedders | None = None,
        rerankers: Rerankers = nobody,
        expand: Expand = nobody_expands,
        listen: Listener = ignore_events,
    ) -> None:
        """`embedders`: who embeds questions. Without, a search does without meaning, and tells."""
        self._store, self._config, self._now = store, config or HybridConfig(), now
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
            Choice,
            fusion=_fitting(fusion, asked),
            pool=self._config.stage1_top_k,
            look_around=lambda rows, best: look_around(self._store, rows, parsed.words, best=best),
            min_score=query.min_score,
            eligible=eligible,
        )
        choice = choose(asked.answers)

        def search(words: str) -> Choice:
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

    def _second_look(self, query: Query) -> SecondLook:
        return SecondLook(
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
        names = list(self._store.iter_names())
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
    if asked.meaning_is_vague and isinstance(fusion, PlacedFusion):
        return fusion.doubting_meaning()
    return fusion
