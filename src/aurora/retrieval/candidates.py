"""The candidates of a search: scored by all signals, fused, adjusted and filtered.

The order never depends on the limit. Where the first pool of candidates is too small, further
rounds use larger pools, and their chunks come after those of the rounds before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from itertools import chain, filterfalse, islice
from pathlib import PurePath
from typing import TypeAlias

from aurora.errors import AuroraError, EmbedderMismatchError, EmbeddingError, NoVectorsError
from aurora.fusion.base import (
    KEYWORD,
    WORDS_AND_MEANING,
    CandidateContext,
    Fusion,
    Order,
    fade,
    keyword_ranking,
    lead,
    uses_context,
)
from aurora.quick_classes import NamedTuple, dataclass, field
from aurora.retrieval.collapse import is_translation
from aurora.retrieval.confidence import judge, never_rising
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.dialogue import (
    NEWEST,
    Said,
    find_unanswered,
    lower,
    newest_first,
    read_exchanges,
    turns_beside,
    without,
)
from aurora.retrieval.joined import (
    CountingSignal,
    JoinedKeywords,
    JoinedScores,
    JoinedSemantic,
    Layer,
    Stores,
    layer_signals,
)
from aurora.retrieval.lesson_places import place_lessons
from aurora.signals.activation import ActivationSignal, RecencySignal
from aurora.signals.base import (
    KeywordScores,
    Question,
    SignalScores,
    SparseScores,
    counts_words,
    rank_rows,
)
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.derived_index import IndexBehindError
from aurora.signals.exact import (
    ExactSignal,
    FulltextSignal,
    mention_level,
    mentions,
    stands_aside,
)
from aurora.signals.nearness import comparable, near_rows, with_nearness
from aurora.signals.semantic import MeaningSignal
from aurora.stores.base import SearchedStore
from aurora.text import has_cjk, tokenize
from aurora.types import LESSON, Fused, Hit, Listener, Mode, Note, Place, Ranking, ignore_events

logger = logging.getLogger(__name__)

# The text is that of seed 003.
FALLBACK = (
    "Embedding model unavailable - using BM25+Activation fallback "
    "(estimated 85% quality vs 95% tri-hybrid). "
    "To restore full quality, check: aur doctor"
)
NO_PROVIDER = f"{FALLBACK} (`embedding.provider` is none: set it to aurora, or unset it)"
NO_KEYWORD = "Note: No keyword matches found, falling back to semantic search"

_DEEPER = 10  # times as many candidates in the next round
_ADJUSTING = ("exact", "recency")  # signals that change the fused order

Scores: TypeAlias = Mapping[str, SignalScores]  # by signal, the keyword signal first


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What all stages of one search share."""

    question: Question
    mode: Mode
    fusion: Fusion
    pool: int  # candidates of each signal in the first round
    shown: int  # results
    needed: int  # candidates to select: some collapse
    eligible: Sequence[int] | None = None  # rows that may be results, ascending; None: all
    hidden: Set[int] = frozenset()  # other versions of files
    projects: frozenset[str] = frozenset()  # the folders that are asked; empty: no project is


@dataclass(slots=True)
class Candidates:
    """The scores of all signals for one search."""

    mode: Mode
    scores: dict[str, SignalScores] = field(default_factory=dict)
    keyword: KeywordScores | SparseScores | None = None
    notes: list[Note] = field(default_factory=list)
    no_keyword_match: bool = False  # only the semantic signal found chunks
    awaits_vectors: bool = False  # an index run is about to make them
    weak_semantics: bool = False  # the model hardly knows the question's script


class Signals:
    """All signals of the memories that a search asks. Each one opens its index on its first use."""

    def __init__(
        self,
        layers: Sequence[Layer],
        config: HybridConfig,
        *,
        now: Callable[[], datetime],
        listen: Listener = ignore_events,
    ) -> None:
        parameters, store = BM25Parameters(config.k1, config.b, config.idf), Stores(layers)
        parts = [layer_signals(layer, parameters, now=now, listen=listen) for layer in layers]
        self.bm25, self.vectors = parts[0].bm25, parts[0].vectors
        meanings = {n: part.semantic for n, part in enumerate(parts) if part.semantic is not None}
        bm25: CountingSignal | JoinedKeywords = parts[0].keyword
        self._semantic: MeaningSignal | JoinedSemantic | None = meanings.get(0)
        if len(parts) > 1:
            bm25 = JoinedKeywords([part.keyword for part in parts], parameters)
            self._semantic = JoinedSemantic(meanings) if meanings else None
        self._fulltext = FulltextSignal(store)
        self._keyword = bm25 if config.keyword == "bm25" else self._fulltext
        self._stores = [layer.store for layer in layers]
        self._exact = ExactSignal(store)
        self._activation = ActivationSignal(store)
        self._recency = RecencySignal(store, half_life=config.half_life)
        self._listen, self._warned = listen, False

    def score_candidates(self, request: SearchRequest) -> Candidates:
        """The scores of all signals that the mode and the fusion use."""
        candidates, fusion = Candidates(request.mode), request.fusion
        if request.mode is Mode.SEMANTIC:
            self._score_semantic(request, candidates)
            candidates.mode = Mode.SEMANTIC if candidates.scores else Mode.KEYWORD
        if candidates.mode is not Mode.SEMANTIC:
            name, keyword = self._score_keyword(request.question)
            candidates.keyword = candidates.scores[name] = keyword
            candidates.scores["exact"] = self._exact.score(request.question)
            if request.mode is Mode.HYBRID and not (
                "semantic" in fusion.fill_ups and _finds_enough(keyword, request)
            ):
                self._score_semantic(request, candidates)
        self._score_cjk_parts(request, candidates)
        if candidates.mode is Mode.HYBRID and "activation" in fusion.signals:
            candidates.scores["activation"] = self._activation.score(request.question)
        if "recency" in fusion.signals:
            candidates.scores["recency"] = self._recency.score(request.question)
        return candidates

    def mend_vectors(self) -> None:
        if self._semantic is not None:
            self._semantic.mend()

    def _score_keyword(self, question: Question) -> tuple[str, KeywordScores | SparseScores]:
        """Finds what was stored before the call; during an index run perhaps without the index."""
        with suppress(IndexBehindError):
            return self._keyword.name, self._keyword.score(question)
        return self._fulltext.name, self._fulltext.score(question)

    def _score_semantic(self, request: SearchRequest, candidates: Candidates) -> None:
        """Without a usable model, the search continues by keywords and says so."""
        if self._semantic is None:
            self._warn(candidates, NO_PROVIDER)
            return
        keyword, question = candidates.keyword, request.question
        try:
            if keyword is not None and keyword.is_empty and not self._semantic.knows(question):
                return  # the nearest chunks to unknown words are nearest by chance
            if keyword is not None and not keyword.is_empty:
                candidates.weak_semantics = has_cjk(question.text) and not self._semantic.reads_cjk
            if candidates.weak_semantics and not uses_context(request.fusion):
                return
            candidates.scores["semantic"] = scores = self._semantic.score(question)
            for error in scores.errors if isinstance(scores, JoinedScores) else ():
                self._note_failure(candidates, error, error.in_one_line)
        except EmbeddingError as exc:
            self._note_failure(candidates, exc, f"{FALLBACK} ({exc.in_one_line})")
        except EmbedderMismatchError as exc:
            self._warn(candidates, exc.in_one_line)

    def _note_failure(self, candidates: Candidates, exc: AuroraError, text: str) -> None:
        """Vectors that an index run is about to make are no failure."""
        is_being_made = isinstance(exc, NoVectorsError) and any(
            store.run_progress() for store in self._stores
        )
        if is_being_made:
            candidates.awaits_vectors = True
        else:
            self._warn(candidates, text)

    def _score_cjk_parts(self, request: SearchRequest, candidates: Candidates) -> None:
        """Without a keyword match, search for parts of CJK words.

        The BM25 index has pairs of CJK characters. A single character may be a word of its own.
        """
        keyword = candidates.keyword
        if keyword is None or not keyword.is_empty:
            return
        if "bm25" in candidates.scores and has_cjk(request.question.text):
            keyword = self._fulltext.score(request.question)
            del candidates.scores["bm25"]
            candidates.scores = {self._fulltext.name: keyword, **candidates.scores}
        if "semantic" in candidates.scores and keyword.is_empty:
            candidates.no_keyword_match = True
            candidates.notes.append(Note(NO_KEYWORD))

    def _warn(self, candidates: Candidates, text: str) -> None:
        """Every search notes the warning; the log and the listener get it once."""
        note = Note(text, warning=True)
        candidates.notes.append(note)
        if not self._warned:
            self._warned = True
            logger.warning("%s", text)
            self._listen(note)


def _finds_enough(scores: SignalScores, request: SearchRequest) -> bool:
    return len(scores.best(request.shown, among=request.eligible)) >= request.shown


class Selection(NamedTuple):
    """The selected chunks, best first, and the signals that scored a candidate. An order makes the
    contributions of a chunk when it is read."""

    fused: Order | Sequence[Fused]
    signals: tuple[str, ...]


def select_candidates(
    store: SearchedStore,
    request: SearchRequest,
    scores: Scores,
    *,
    best: frozenset[int] | None = None,
) -> Selection:
    """The best `request.needed` chunks in the fused order.

    `best`: the rows that scores are relative to, by default the first pool of the keyword and the
    semantic signal. They are the same in every round and under every filter.
    """
    allowed, hidden = frozenset(request.eligible or ()), request.hidden
    if best is None and uses_context(request.fusion):
        best = frozenset(chain(*_best(scores, WORDS_AND_MEANING, request.pool).values()))
    selected: dict[int, Order] = {}
    signals: set[str] = set()
    pool, has_more = request.pool, True
    while has_more:
        unfiltered, passing = _propose(scores, request, pool)
        rows = dict.fromkeys(filterfalse(hidden.__contains__, chain(unfiltered, *passing)))
        rankings = {name: rank_rows(name, scores[name], rows) for name in scores}
        rankings |= _near(store, request.question.text, rankings)
        signals.update(name for name, ranking in rankings.items() if ranking.hits)
        order = _fuse(
            store, request, scores, rankings, unfiltered=unfiltered, best=best or frozenset()
        )
        passed = (row for row in order.rows if request.eligible is None or row in allowed)
        new = (row for row in passed if row not in selected)
        selected |= dict.fromkeys(islice(new, request.needed - len(selected)), order)
        has_more = len(selected) < request.needed and any(len(rows) >= pool for rows in passing)
        pool *= _DEEPER
    names = tuple(name for name in scores if name in signals)
    if all(each is order for each in selected.values()):
        return Selection(order.with_rows([*selected]), names)
    return Selection(never_rising([each.fused(row) for row, each in selected.items()]), names)


def _near(store: SearchedStore, text: str, rankings: Mapping[str, Ranking]) -> dict[str, Ranking]:
    """The keyword ranking, where words of the question that stand near each other count more."""
    words, keyword = comparable(text), keyword_ranking(rankings.values())
    if not words or keyword is None:
        return {}
    chunks = store.chunks.get_rows(near_rows(keyword))
    return {keyword.signal: with_nearness(keyword, words, chunks)}


def _propose(
    scores: Scores, request: SearchRequest, pool: int
) -> tuple[Set[int], Collection[list[int]]]:
    """The rows that a search without a filter fuses, and for each signal those that pass it.

    The best of the whole memory are fused even where the filter excludes them, because scores are
    relative to them. Fill-ups propose rows only when the other signals have no more.
    """
    fusion = request.fusion
    best, passing = _proposals(scores, request, fusion.proposers - fusion.fill_ups, pool)
    if fusion.fill_ups and all(len(rows) < pool for rows in passing.values()):
        best, passing = _proposals(scores, request, fusion.proposers, pool)
    return dict.fromkeys(chain(*best.values())).keys(), passing.values()


def _proposals(
    scores: Scores, request: SearchRequest, proposers: Collection[str], pool: int
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The best rows by signal, and the best that pass the filter."""
    best = _best(scores, proposers, pool)
    if not any(best.values()):
        best = _best(scores, ("semantic",), pool)
    best |= _best(scores, ("exact",), pool)
    if request.eligible is None:
        return best, best
    return best, {name: scores[name].best(pool, among=request.eligible) for name in best}


def _best(scores: Scores, names: Collection[str], pool: int) -> dict[str, list[int]]:
    return {name: each.best(pool) for name, each in scores.items() if name in names}


def _fuse(
    store: SearchedStore,
    request: SearchRequest,
    scores: Scores,
    rankings: Mapping[str, Ranking],
    *,
    unfiltered: Set[int],
    best: frozenset[int],
) -> Order:
    """All candidates with their confidence, best first."""
    fusion, text = request.fusion, request.question.text
    rows = {row for ranking in rankings.values() for row, _, _ in ranking.hits}
    combined = [ranking for name, ranking in rankings.items() if name not in _ADJUSTING]
    exact = _with_mentions(rankings["exact"], text, scores, rows) if "exact" in rankings else None
    lessons: Set[int] = frozenset()
    talk: Mapping[int, Said] = {}
    if uses_context(fusion):
        context = load_context(store, rows, text, best=best, projects=request.projects)
        context = context._replace(named=frozenset(_rows(exact)))
        order = fusion.vary(_fade(fusion(combined, context), rankings), context)
        lessons, talk = context.lessons, read_exchanges(store, order.rows, context)
    else:
        order = _fade(fusion(combined), rankings)
    if unanswered := find_unanswered(talk, text):
        order, exact = lower(order, unanswered), exact and without(exact, unanswered)
    if exact is not None:
        order, rankings = lead(order, exact), {**rankings, "exact": exact}
    placed, moved = _place(order.rows, talk, lessons, scores=scores, rankings=rankings, best=best)
    # With a filter, chunks from further down are shown.
    most = request.needed if request.eligible is None else len(placed)
    used = {name: scores[name] for name in scores if not _only_fills_up(name, scores, fusion)}
    rankings = {name: rankings[name] for name in used}
    # The newest of a matter has the place of another one.
    unfiltered = {row for row in unfiltered if moved.get(row) != NEWEST}
    order = order.with_rows(placed)
    return judge(order, text, used, rankings, unfiltered=unfiltered, most=most, moved=moved)


def _place(
    rows: Sequence[int],
    talk: Mapping[int, Said],
    lessons: Set[int],
    *,
    scores: Scores,
    rankings: Mapping[str, Ranking],
    best: Set[int],
) -> tuple[Sequence[int], Mapping[int, str]]:
    """Give exchanges and lessons their places; also returns why, by the moved rows."""
    moved: dict[int, str] = {}
    if talk:
        rows, newest = newest_first(rows, talk, best)
        moved = dict.fromkeys(newest, NEWEST)
    if lessons:
        rows, placed = place_lessons(rows, lessons, scores, rankings)
        moved |= dict.fromkeys(placed, LESSON)
    return rows, moved


def _only_fills_up(name: str, scores: Scores, fusion: Fusion) -> bool:
    """The limit decides whether a fill-up has scores, so these are not evidence beside words."""
    words = (scores[keyword] for keyword in KEYWORD if keyword in scores)
    return name in fusion.fill_ups and any(each.best(1) for each in words)


def _fade(order: Order, rankings: Mapping[str, Ranking]) -> Order:
    return fade(order, rankings["recency"]) if "recency" in rankings else order


def _with_mentions(exact: Ranking, text: str, scores: Scores, rows: Collection[int]) -> Ranking:
    """Chunks that contain the identifiers of the query come before those that do not."""
    keyword, wanted = scores.get("bm25"), mentions(text)
    if not wanted or not counts_words(keyword):
        return exact
    named, last = _rows(exact), len(exact.hits) + 1
    mentioned = [
        Hit(row, mention_level(found, len(wanted)), last)
        for row in rows
        if row not in named and (found := sum(keyword.has(row, term) for term in wanted))
    ]
    hits = sorted((*exact.hits, *mentioned), key=lambda hit: (-hit.score, hit.row))
    return exact._replace(hits=tuple(hits))


def _rows(ranking: Ranking | None) -> set[int]:
    return {hit.row for hit in ranking.hits} if ranking is not None else set()


def load_context(
    store: SearchedStore,
    rows: Collection[int],
    words: str,
    *,
    best: frozenset[int],
    projects: frozenset[str] = frozenset(),
) -> CandidateContext:
    """Read from the store where candidates are. `words` of the query may ask for tests."""
    places, query = store.search.get_places(list(rows)), frozenset(tokenize(words))
    files, code, aside, lessons, exchanges, elsewhere = {}, set(), set(), set(), set(), set()
    for row, place in places.items():
        files[row] = place.home
        if not place.kind.is_prose:
            code.add(row)
        if _is_aside(place, words, query):
            aside.add(row)
        if place.is_recorded and row in best:
            lessons.add(row)
        if place.is_exchange:
            exchanges.add(row)
        if _is_elsewhere(place, projects):
            elsewhere.add(row)
    beside = turns_beside(places)
    return CandidateContext(best, files, code, aside, beside, set(), lessons, exchanges, elsewhere)


def _is_elsewhere(place: Place, projects: frozenset[str]) -> bool:
    """Whether it was said in a session of another project than those that are asked."""
    if not projects or not place.project:
        return False
    folder = PurePath(place.project)
    return projects.isdisjoint(each.as_posix() for each in (folder, *folder.parents))


def _is_aside(place: Place, text: str, words: frozenset[str]) -> bool:
    """Whether a chunk stands behind the code that it is about, or is a translation of a page."""
    if place.kind.is_prose:
        return is_translation(place.path, text)
    return stands_aside(place.path, words, place.qualified_name)
