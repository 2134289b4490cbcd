"""The search pipeline: parse the query, score, fuse, expand, build the results, rerank.

Creating a retriever opens nothing: each signal opens its index with the first search, once for all
threads. `RetrieverCache` keeps retrievers, so that later searches use loaded indexes.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from datetime import datetime
from functools import lru_cache
from itertools import chain, filterfalse
from pathlib import Path

from aurora.errors import IndexFileError, QueryError
from aurora.fusion.base import Order, uses_context
from aurora.quick_classes import replace
from aurora.retrieval.candidates import (
    NO_KEYWORD,
    Candidates,
    Scores,
    SearchRequest,
    Signals,
    select_candidates,
)
from aurora.retrieval.collapse import Collapse
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.joined import Layer, Stores
from aurora.retrieval.lesson_places import LESSONS_UNTIL
from aurora.retrieval.lookup import Names, nearest_names
from aurora.retrieval.query import LONGEST_QUERY, parse_query, shortened
from aurora.retrieval.rerank import (
    EXPANDED,
    Expand,
    Expansion,
    Rerankers,
    RerankStage,
    leads_by_name,
    merge,
    no_expander,
    no_reranker,
)
from aurora.retrieval.session_filters import (
    fits_talk,
    note_sessions,
    note_span,
    without_other_times,
)
from aurora.retrieval.time_spans import TimeSpan, find_time_span
from aurora.signals.base import Question, counts_words
from aurora.signals.exact import ExactScores
from aurora.signals.semantic import Embedders
from aurora.stores.base import SearchedStore, Store
from aurora.text import document_terms, is_stop_word, query_words, tokenize, words_found
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Criteria,
    Fused,
    Kind,
    Listener,
    Note,
    Query,
    SearchResult,
    SearchResults,
    ignore_events,
)

__all__ = ["HybridConfig", "HybridRetriever", "Layer"]

LIFETIME = 1800.0  # seconds since the last use
_SPARE = 3  # times as many candidates as results, and once more if too many of them collapse
# The share of the minimum that is enough for prose, which answers in other words: with 1, LoCoMo
# falls from .557 to .536, with 0.5 to .551. Of questions without an answer 2 % fewer are refused.
_OF_PROSE = 0.5
# A lesson is short and in other words. Of those that are refused with 0.5, half are shown with 0.3,
# and 3 % fewer of the questions without an answer are refused.
_OF_LESSONS = 0.3
_ROUNDING = 1e-9
_CACHED_RETRIEVERS = 4  # one for each memory and each setting in use
_CACHED_FILTERS = 8  # an agent tends to use the same few
_TOO_LONG = Note(
    f"Of this query of more than {LONGEST_QUERY:,} characters only the beginning and the end "
    "were searched for",
    warning=True,
)


class HybridRetriever:
    """Finds chunks by words, by meaning and by use, and explains the place of each."""

    def __init__(
        self,
        store: Store,
        config: HybridConfig | None = None,
        *,
        index_folder: Path,
        now: Callable[[], datetime],
        embedders: Embedders | None = None,
        rerankers: Rerankers = no_reranker,
        expand: Expand = no_expander,
        listen: Listener = ignore_events,
        name: str = "",
        prefix: str = "",
        others: Sequence[Layer] = (),
        projects: frozenset[str] = frozenset(),
    ) -> None:
        """Without `embedders`, a search goes without the semantic signal and says so.

        `others` are searched, too, as if all were one memory. Each result has the name of its own,
        and the prefix before its path. `projects` are the folders of the project that is asked:
        its sessions come before those of others.
        """
        layers = (Layer(store, index_folder, embedders, name, prefix), *others)
        self._store, self._config, self._now = Stores(layers), config or HybridConfig(), now
        self._rerankers, self._expand, self._listen = rerankers, expand, listen
        self._filters, self._projects = FilterCache(self._store), projects
        self._signals = Signals(layers, self._config, now=now, listen=listen)
        self.bm25, self.vectors = self._signals.bm25, self._signals.vectors
        self._names = (-1, Names(()))  # with their generation

    def retrieve(self, query: Query) -> SearchResults:
        """Run all stages of a search. The first results do not depend on the limit."""
        try:
            return self._retrieve(query)
        except IndexFileError:  # a page of vectors that only a later stage reads
            self._signals.mend_vectors()
            return self._retrieve(query)

    def _retrieve(self, query: Query) -> SearchResults:
        now, text = self._now(), shortened(query.text)
        words, criteria = parse_query(text, now=now, here=query.here)
        span = _time_of(words, now, query.criteria, criteria)
        eligible, notes = self._filter(query.criteria, criteria)
        notes += self._unknown_languages((*query.criteria.languages, *criteria.languages))
        notes += tuple(
            note_sessions((query.criteria, criteria), self._filters.rows, self._store.search)
        )
        notes = self._tell(*notes, *([_TOO_LONG] if text != query.text else []))
        if not words.strip():
            return replace(self._list_newest(query, eligible), notes=notes)
        fusion = self._config.make_fusion(query.fusion)
        reranking, expansion = self._load_reranker(query), self._start_expansion(query, words)
        shown = max(query.limit, reranking.first, DEFAULT_LIMIT if span else 0)
        request = SearchRequest(
            Question(words, now),
            query.mode or self._config.mode,
            fusion,
            self._config.stage1_top_k,
            shown,
            max(_SPARE * shown, EXPANDED if expansion else 0),
            self._of_time(span, eligible),
            self._store.hidden_rows(),
            self._projects,
        )
        candidates = self._signals.score_candidates(request)
        request = _fit_fusion(request, candidates)
        found, signals, expand_notes = self._find(request, candidates, expansion)
        if span:
            fits = any(map(fits_talk, found[:DEFAULT_LIMIT]))  # the same for every limit
            if not fits and request.eligible is not eligible:
                request = replace(request, eligible=eligible)
                found, signals, expand_notes = self._find(request, candidates, expansion)
            notes += self._tell(*note_span(span, found, fits=fits))
        answers = {result.chunk_id for result in self._answers(found, words)}
        found, rerank_notes = reranking.rerank(words, found)
        self._tell(*rerank_notes)
        results = tuple(result for result in found if result.chunk_id in answers)
        if query.min_score is not None:
            results = tuple(result for result in found if result.score >= query.min_score)
        # Names help where words were wrong, not where a filter excluded what they found.
        is_unknown = not results and (eligible is None or not signals)
        is_unknown = is_unknown or candidates.no_keyword_match
        is_unknown = is_unknown and query.suggest and not _are_known(candidates)
        nearest = self._nearest(words) if is_unknown else ()
        if results and candidates.no_keyword_match:
            candidates.notes += self._suggest(nearest)
        return SearchResults(
            query,
            results[: query.limit],
            fusion.name,
            signals,
            candidates.mode,
            (*notes, *candidates.notes, *expand_notes, *reranking.notes, *rerank_notes),
            nearest,
            filtered=eligible is not None,
            words=words,
            awaits_vectors=candidates.awaits_vectors,
            weak=found[0] if found and not results else None,
        )

    def _find(
        self, request: SearchRequest, candidates: Candidates, expansion: Expansion | None
    ) -> tuple[tuple[SearchResult, ...], tuple[str, ...], tuple[Note, ...]]:
        """The results, the signals that found them, and what is to say of related words."""
        scores, words, shown = candidates.scores, request.question.text, request.shown
        store = self._store.reading_once()
        fused, signals = select_candidates(store, request, scores)
        fused, notes = self._merge_expansion(expansion, request, candidates, fused, store)
        found = build_results(store, fused, words, scores, most=shown)
        if expansion is None and len(found) < shown and len(fused) == request.needed:
            needed = max(_SPARE * request.needed, request.pool)
            fused = select_candidates(store, replace(request, needed=needed), scores).fused
            found = build_results(store, fused, words, scores, most=shown)
        return found, signals, notes

    def _answers(self, found: Sequence[SearchResult], words: str) -> Sequence[SearchResult]:
        """The results that answer the question. All do, if the first is relevant enough, is named
        by the query, or contains every word of it; otherwise the relevant lessons beside it."""
        if not found:
            return ()
        if self._is_relevant(found[0]) or leads_by_name(found) or _has_all(found[0], words):
            return found
        lessons = filter(lambda result: result.chunk.is_recorded, found[1:LESSONS_UNTIL])
        return list(filter(self._is_relevant, lessons))

    def _is_relevant(self, result: SearchResult) -> bool:
        kind = result.chunk.kind
        share = _OF_LESSONS if kind is Kind.REASONING else _OF_PROSE if kind.is_prose else 1.0
        return result.relevance >= self._config.min_score * share

    def _filter(
        self, given: Criteria, written: Criteria
    ) -> tuple[Sequence[int] | None, tuple[Note, ...]]:
        """The rows that pass the caller's filter and the one written in the query.

        A phrase that no chunk contains is searched for by its words: titles are quoted, too.
        """
        rows = self._filters.rows(given, written)
        if rows or not written.phrases or self._filters.rows(Criteria(phrases=written.phrases)):
            return rows, ()
        phrases = ", ".join(f'"{phrase}"' for phrase in written.phrases)
        note = Note(f"No chunk has {phrases} word for word, searching for the words")
        return self._filters.rows(given, replace(written, phrases=())), (note,)

    def _of_time(
        self, span: TimeSpan | None, eligible: Sequence[int] | None
    ) -> Sequence[int] | None:
        find, search = self._filters.cached, self._store.search
        return without_other_times(span, eligible, find, search) if span else eligible

    def _unknown_languages(self, wanted: Sequence[str]) -> tuple[Note, ...]:
        """Notes on languages that no chunk has, with the nearest one that a chunk has."""
        unknown = [each for each in wanted if not self._filters.rows(Criteria(languages=(each,)))]
        languages = self._store.chunks.list_languages() if unknown else []
        notes = []
        for each in unknown:
            near = nearest_names(each, languages, limit=1)
            then = f"did you mean {near[0]}?" if near else f"there are {', '.join(languages)}"
            notes.append(Note(f"No chunk has the language {each!r}: {then}", warning=True))
        return tuple(notes)

    def _list_newest(self, query: Query, eligible: Sequence[int] | None) -> SearchResults:
        """The results of a filter without words: the newest chunks first."""
        if eligible is None:
            raise QueryError(
                "The query is empty", hint='say what to look for: aur mem search "parse config"'
            )
        newest = [Fused(row, 0.0, ()) for row in reversed(eligible[-_SPARE * query.limit :])]
        results = build_results(self._store, newest, "", {}, most=query.limit)
        mode = query.mode or self._config.mode
        return SearchResults(query, results, "newest", (), mode, filtered=True)

    def _load_reranker(self, query: Query) -> RerankStage:
        wanted, only_if_unsure = query.rerank or self._config.rerank, self._config.rerank_if_unsure
        stage = RerankStage.load(self._rerankers, wanted, only_if_unsure=only_if_unsure)
        self._tell(*stage.notes)
        return stage

    def _start_expansion(self, query: Query, words: str) -> Expansion | None:
        wanted = self._config.expand if query.expand is None else query.expand
        return Expansion(self._expand, words) if wanted else None

    def _merge_expansion(
        self,
        expansion: Expansion | None,
        request: SearchRequest,
        candidates: Candidates,
        fused: Order | Sequence[Fused],
        store: Stores,
    ) -> tuple[Order | Sequence[Fused], tuple[Note, ...]]:
        """Merge the results of a second search with related words."""
        if expansion is None:
            return fused, ()
        terms, notes = expansion.terms()
        self._tell(*notes)
        if not terms:
            return fused, notes
        text = " ".join((request.question.text, *terms))
        request = replace(request, question=request.question._replace(text=text))
        scores = self._signals.score_candidates(request).scores
        # Only the query itself names definitions, not the related words.
        if "exact" in candidates.scores:
            scores["exact"] = candidates.scores["exact"]
        return merge([*fused], [*select_candidates(store, request, scores).fused]), notes

    def _nearest(self, words: str) -> tuple[str, ...]:
        """Names like the words, and words that names are made of."""
        generation = self._store.generation()
        if self._names[0] != generation:  # to read and cut them takes longer than a search
            # Code outside definitions is named after what it holds: "LIMIT, TIMEOUT".
            names = [part for name in self._store.search.iter_names() for part in name.split(", ")]
            parts = chain.from_iterable(map(tokenize, names))
            self._names = generation, Names(dict.fromkeys(chain(names, parts)))
        return self._names[1].nearest(words)

    def _suggest(self, nearest: Sequence[str]) -> tuple[Note, ...]:
        """The semantic signal alone found results: a word of the query may be misspelt."""
        self._listen(Note(NO_KEYWORD))
        return self._tell(*([Note(f"Did you mean {', '.join(nearest)}?")] if nearest else []))

    def _tell(self, *notes: Note) -> tuple[Note, ...]:
        for note in notes:
            self._listen(note)
        return notes


def _time_of(words: str, now: datetime, *filters: Criteria) -> TimeSpan | None:
    """The time that the words name, unless a filter does."""
    if any(each.since or each.until for each in filters):
        return None
    return find_time_span(words, now=now)


def _are_known(candidates: Candidates) -> bool:
    """Whether chunks have every word of the question: none is misspelt."""
    return counts_words(candidates.keyword) and candidates.keyword.known > 1.0 - _ROUNDING


def _has_all(result: SearchResult, words: str) -> bool:
    wanted = {token for token in tokenize(words) if not is_stop_word(token)}
    return bool(wanted) and wanted.issubset(result.terms)


def _fit_fusion(request: SearchRequest, candidates: Candidates) -> SearchRequest:
    fusion = request.fusion
    if candidates.weak_semantics and uses_context(fusion):
        return replace(request, fusion=fusion.with_weak_semantics())
    return request


def build_results(
    store: Stores, fused: Order | Sequence[Fused], words: str, scores: Scores, *, most: int
) -> tuple[SearchResult, ...]:
    """Read the chunks from the store, in the same order, one for each thing. Chunks deleted
    meanwhile are left out."""
    chosen = _collapsed(store, fused, most)
    ids = {scored.row: chunk.id for scored, chunk, _ in chosen}
    histories, accesses = store.histories(ids), store.accesses(ids)
    owners = store.owners({scored.row: chunk.path for scored, chunk, _ in chosen})
    keyword = next((each for each in scores.values() if counts_words(each)), None)
    exact = scores.get("exact")
    symbols = exact.symbols if isinstance(exact, ExactScores) else {}
    tokens, stems = dict.fromkeys(tokenize(words)), {} if keyword else query_words(words)
    unembedded = _without_vector(store, chosen) if "semantic" in scores else set()
    results = []
    for fused_chunk, chunk, more in chosen:
        row = fused_chunk.row
        terms = (
            keyword.terms(row)
            if keyword
            else words_found(stems, set(document_terms(f"{chunk.name}\n{chunk.content}")))
        )
        opened = accesses.get(row, ())
        results.append(
            SearchResult(
                store.placed(row, chunk),
                fused_chunk.score,
                fused_chunk.contributions,
                histories.get(row),
                tuple(filter(terms.__contains__, tokens)),
                len(opened),
                opened[-1] if opened else None,
                symbols.get(row),
                more,
                fused_chunk.relevance,
                has_vector=row not in unembedded,
                memory=owners.get(row) or store.name(row),
            )
        )
    return tuple(results)


def _collapsed(
    store: Stores, fused: Order | Sequence[Fused], most: int
) -> list[tuple[Fused, Chunk, int]]:
    """The first `most` chunks, and how many further rows each stands for.

    Reads only as many chunks as needed: rows after the last shown one are not counted.
    """
    collapse, more = Collapse(), Counter[int]()
    chosen: list[tuple[Fused, Chunk]] = []
    for start in range(0, len(fused), most):
        batch = [fused[place] for place in range(start, min(start + most, len(fused)))]
        chunks = store.chunks.get_rows([scored.row for scored in batch])
        for scored in batch:
            chunk = chunks.get(scored.row)
            if chunk is None:
                continue
            owner = collapse.owner(chunk, len(chosen), memory=store.name(scored.row))
            if owner < len(chosen):
                more[owner] += 1
            elif len(chosen) < most:
                chosen.append((scored, chunk))
        if len(chosen) >= most:
            break
    return [(scored, chunk, more[at]) for at, (scored, chunk) in enumerate(chosen)]


def _without_vector(store: Stores, chosen: Iterable[tuple[Fused, Chunk, int]]) -> Set[int]:
    """The rows of results that have no vector. A cosine of 0 is no contribution, either."""
    ids = {
        scored.row: chunk.id
        for scored, chunk, _ in chosen
        if not any(part.signal == "semantic" and part.raw for part in scored.contributions)
    }
    return ids.keys() - store.embedded(ids)


class FilterCache:
    """The rows that pass a filter. Asks the store once for each filter and generation."""

    def __init__(self, store: SearchedStore) -> None:
        self._store = store
        self._cached = lru_cache(_CACHED_FILTERS)(lambda _, criteria: self._read(criteria))

    def rows(self, *filters: Criteria) -> array[int] | None:
        """Ascending rows that pass all filters; None when there is no filter."""
        passing = [self.cached(criteria) for criteria in filters if criteria]
        if len(passing) < 2:
            return passing[0] if passing else None
        return array("q", sorted(set(passing[0]).intersection(*passing[1:])))

    def cached(self, criteria: Criteria) -> array[int]:
        """Ascending rows of one filter; all rows of an empty one."""
        if (
            criteria.since or criteria.until
        ):  # commits and times of files change within a generation
            return self._read(criteria)
        return self._cached(self._store.generation(), criteria)

    def _read(self, criteria: Criteria) -> array[int]:
        rows, hidden = self._store.search.find_rows(criteria), self._store.hidden_rows()
        return array("q", filterfalse(hidden.__contains__, rows)) if hidden else rows


class RetrieverCache:
    """One retriever for each key, shared by all threads. `clock` returns seconds.

    A retriever notices changes of its store by itself. It is dropped when it was not used for its
    lifetime; other settings and other stores are other keys.
    """

    def __init__(self, *, clock: Callable[[], float], lifetime: float = LIFETIME) -> None:
        self._clock, self._lifetime = clock, lifetime
        self._retrievers: OrderedDict[Hashable, tuple[float, HybridRetriever]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], HybridRetriever]) -> HybridRetriever:
        """The retriever of that key; `make` opens nothing, so it may run under the lock."""
        with self._lock:
            now, kept = self._clock(), self._retrievers
            for old in [old for old, (used, _) in kept.items() if now - used > self._lifetime]:
                del kept[old]
            retriever = kept.pop(key)[1] if key in kept else make()
            kept[key] = (now, retriever)
            while len(kept) > _CACHED_RETRIEVERS:
                kept.popitem(last=False)
            return retriever
