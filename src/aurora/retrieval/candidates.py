"""All signals of one memory: which of them a search asks, and what happens when one cannot answer.

Without meaning a search goes on by words and use, and says so; without a word found it goes on by
meaning, and says so (seeds 000 and 003).

From the signals' answers to one order: collect candidates, fuse, adjust, filter.

The candidates never depend on how many results are wanted. Where those of the first round are not
enough, further rounds look deeper, and what they find comes after what was found before.

Where the candidates of a question stand, as a fusion wants to know it.
"""

from __future__ import annotations

import logging
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path

from aurora.errors import EmbedderMismatchError, EmbeddingError
from aurora.fusion.base import (
    WORDS_AND_MEANING,
    CandidateContext,
    ContextFusion,
    Fusion,
    keyword_ranking,
)
from aurora.fusion.rules import fade, lead
from aurora.retrieval.config import SearchConfig
from aurora.signals.activation import ActivationSignal
from aurora.signals.base import Answer, Question, Signal, WordedAnswer, ranking_of
from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.exact import ExactSignal, FulltextSignal
from aurora.signals.matches import SparseAnswer
from aurora.signals.recency import RecencySignal
from aurora.signals.semantic import Embedders, SemanticSignal
from aurora.signals.stored import ServerKeywords, ServerSemantic, server_signals
from aurora.signals.vector_index import VectorIndex
from aurora.stores.base import Store
from aurora.text import has_cjk, is_joining, tokenize
from aurora.types import Fused, Listener, Mode, Note, Place, Ranking, ignore_events

logger = logging.getLogger(__name__)


# Seed 003, REQ-F2.3; what must be installed is `aur doctor`'s to say.
FALLBACK = (
    "Embedding model unavailable - using BM25+Activation fallback "
    "(estimated 85% quality vs 95% tri-hybrid). "
    "To restore full quality, check: aur doctor"
)
NO_KEYWORD = "Note: No keyword matches found, falling back to semantic search"  # FR-10.5


@dataclass(slots=True)
class Asked:
    """The answers by signal, the keyword one first, and what there is to say about them."""

    mode: Mode
    words: WordedAnswer | SparseAnswer | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    found_no_word: bool = False  # so that meaning alone decides
    meaning_is_vague: bool = False  # the model knows little of the question's script


class Signals:
    """Made at once; each opens what it needs when it is first asked."""

    def __init__(
        self,
        store: Store,
        config: SearchConfig,
        *,
        index_folder: Path,
        now: Callable[[], datetime],
        embedders: Embedders | None = None,
        listen: Listener = ignore_events,
    ) -> None:
        parameters = BM25Parameters(config.k1, config.b, config.idf)
        self.bm25 = BM25Signal(
            store, index_folder / "bm25.idx", now=now, parameters=parameters, listen=listen
        )
        self.vectors = VectorIndex(store, index_folder / "vectors.idx", now=now, listen=listen)
        self._words: BM25Signal | ServerKeywords = self.bm25
        self._semantic: SemanticSignal | ServerSemantic | None
        if store.ranking is not None:
            self._words, self._semantic = server_signals(
                store.ranking, store.vectors, parameters, embedders
            )
        else:
            self._semantic = None if embedders is None else SemanticSignal(self.vectors, embedders)
        self._fulltext = FulltextSignal(store)
        self._keyword = self._words if config.keyword == "bm25" else self._fulltext
        self._judges: Sequence[Signal] = (
            ActivationSignal(store),
            RecencySignal(store, half_life=config.half_life),
        )
        self._exact = ExactSignal(store)
        self._listen, self._warned = listen, False

    def ask(
        self,
        question: Question,
        mode: Mode,
        fusion: Fusion,
        *,
        enough: Callable[[Answer], bool],
    ) -> Asked:
        """Everything that the mode and the fusion want to know. `enough`: no fill-up is needed."""
        asked = Asked(mode)
        if mode is Mode.SEMANTIC:
            self._ask_meaning(question, asked, fusion)
            asked.mode = mode if asked.answers else Mode.KEYWORD
        if asked.mode is not Mode.SEMANTIC:
            self._ask_words(question, asked)
        if mode is Mode.HYBRID and not (
            "semantic" in fusion.fill_ups and enough(asked.answers[self._keyword.name])
        ):
            self._ask_meaning(question, asked, fusion, beside_words=True)
        self._look_for_parts(question, asked)
        self._ask_judges(question, asked, fusion)
        return asked

    def _ask_words(self, question: Question, asked: Asked) -> None:
        asked.words = asked.answers[self._keyword.name] = self._keyword.ask(question)
        asked.answers[self._exact.name] = self._exact.ask(question)

    def _ask_meaning(
        self, question: Question, asked: Asked, fusion: Fusion, *, beside_words: bool = False
    ) -> None:
        if self._semantic is None:
            self._warn(asked, FALLBACK)
            return
        words_suffice = beside_words and asked.words is not None and not asked.words.is_empty
        try:
            if words_suffice and has_cjk(question.text) and not self._semantic.reads_cjk:
                asked.meaning_is_vague = True
                if not isinstance(fusion, ContextFusion):
                    return
            if beside_words and not words_suffice and not self._semantic.knows(question):
                return  # the nearest to what nobody has a word for is nearest by chance
            asked.answers["semantic"] = self._semantic.ask(question)
        except EmbeddingError as exc:
            self._warn(asked, f"{FALLBACK} ({exc.in_one_line})")
        except EmbedderMismatchError as exc:
            self._warn(asked, exc.in_one_line)

    def _look_for_parts(self, question: Question, asked: Asked) -> None:
        """Where no word is found, by characters of CJK; where that finds nothing, by meaning.

        The index has pairs of CJK characters; one alone is a part to it, but a word to its reader.
        """
        words = asked.words
        if words is None or not words.is_empty:
            return
        if self._keyword is self._words and has_cjk(question.text):
            words = self._fulltext.ask(question)
            del asked.answers[self._keyword.name]
            asked.answers = {self._fulltext.name: words, **asked.answers}
        if "semantic" in asked.answers and words.is_empty:
            asked.found_no_word = True
            asked.notes.append(Note(NO_KEYWORD))

    def _ask_judges(self, question: Question, asked: Asked, fusion: Fusion) -> None:
        for judge in self._judges:
            wanted = judge.name == "recency" or asked.mode is Mode.HYBRID
            if wanted and judge.name in fusion.signals:
                asked.answers[judge.name] = judge.ask(question)

    def _warn(self, asked: Asked, text: str) -> None:
        """Every answer says that it is less than it could be; people are told once."""
        note = Note(text, warning=True)
        asked.notes.append(note)
        if not self._warned:
            self._warned = True
            logger.warning("%s", text)
            self._listen(note)


_DEEPER = 10  # times as many candidates in the next round
_COVERED = 0.5  # of the words asked for: a chunk that has so many is an answer, however common
_SEVERAL = 3  # words that say something: of a long question, enough to be an answer
_JUDGED_APART = ("exact", "recency")  # they change what a fusion made of the others

# Where candidates stand, and by which of them all are measured.
LookAround = Callable[[Collection[int], frozenset[int]], CandidateContext]


class CandidateSelection:
    """One question's answers, and how to make one order of them."""

    def __init__(
        self,
        answers: Mapping[str, Answer],
        fusion: Fusion,
        *,
        pool: int,
        load_context: LookAround,
        min_score: float | None = None,
        eligible: Sequence[int] | None = None,
    ) -> None:
        self._answers, self._fusion, self._pool = answers, fusion, pool
        self._look_around = load_context
        self._min_score, self._eligible = min_score, eligible
        self.took_part: tuple[str, ...] = ()

    def first(self, limit: int) -> list[Fused]:
        """The best, so many if there are."""
        found: dict[int, Fused] = {}
        for outcomes in self._rounds():
            for outcome in outcomes:
                found.setdefault(outcome.row, outcome)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    def _rounds(self) -> Iterator[list[Fused]]:
        pool, allowed = self._pool, self._allowed()
        while True:
            best, passing = self._candidates(pool, without=self._fusion.fill_ups)
            if self._fusion.fill_ups and all(len(rows) < pool for rows in passing.values()):
                best, passing = self._candidates(pool)
            outcomes = self._fuse(dict.fromkeys(chain(*best.values(), *passing.values())))
            yield outcomes if allowed is None else [o for o in outcomes if o.row in allowed]
            shown = {outcome.row for outcome in outcomes}
            # Nobody has more to offer, or the last that was offered is not worth showing.
            if not any(len(rows) >= pool and rows[-1] in shown for rows in passing.values()):
                return
            pool *= _DEEPER

    @cached_property
    def _measure(self) -> frozenset[int]:
        """The first of words and of meaning: the same in every round, and under every filter."""
        return frozenset(chain(*self._best(WORDS_AND_MEANING, self._pool).values()))

    def _allowed(self) -> Collection[int] | None:
        return None if self._eligible is None else frozenset(self._eligible)

    def _candidates(
        self, pool: int, *, without: Collection[str] = ()
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """The best of everything, by signal, and the best of what a filter lets through.

        The first are needed even where no filter lets them through: scores are measured by them.
        Fill-ups have no place before the others are at their end, however many are wanted.
        """
        best = self._proposals(pool, without)
        return best, best if self._eligible is None else self._passing(best, pool)

    def _proposals(self, pool: int, without: Collection[str]) -> dict[str, list[int]]:
        proposals = self._best(self._fusion.proposers.difference(without), pool)
        if not any(proposals.values()):
            proposals = self._best(("semantic",), pool)
        return {**proposals, **self._best(("exact",), pool)}

    def _best(self, names: Collection[str], pool: int) -> dict[str, list[int]]:
        return {name: one.best(pool) for name, one in self._answers.items() if name in names}

    def _passing(self, names: Iterable[str], pool: int) -> dict[str, list[int]]:
        """The best of what a filter lets through."""
        return {name: self._answers[name].best(pool, among=self._eligible) for name in names}

    def _fuse(self, rows: Collection[int]) -> list[Fused]:
        """Those worth showing, best first."""
        rankings = {name: ranking_of(name, answer, rows) for name, answer in self._answers.items()}
        self._remember(rankings)
        judging = [r for n, r in rankings.items() if n not in _JUDGED_APART]
        fusion = self._fusion
        if not isinstance(fusion, ContextFusion):
            return _adjusted(self._worth_showing(fusion(judging), rankings), rankings)
        around = self._look_around(rows, self._measure)
        shown = {one.row for one in self._worth_showing(fusion.evidence(judging), rankings)}
        shown |= _rows(rankings.get("exact"))
        outcomes = fusion.vary(_adjusted(fusion(judging, around), rankings), around)
        return [one for one in outcomes if one.row in shown]

    def _worth_showing(self, outcomes: list[Fused], rankings: Mapping[str, Ranking]) -> list[Fused]:
        """Judged before notes fade: an old one comes late, but it is not lost.

        A definition stays with all that the signals say of it: no cut changes its score. And where
        words have more of a say than meaning, so does what they found: a small model beside them
        must not cost an answer.
        """
        safe = _rows(rankings.get("exact"))
        if self._min_score is None and self._fusion.words_lead:
            found = _rows(keyword_ranking(list(rankings.values())))
            first = next((one for one in outcomes if one.row in found), None)
            safe |= found if first is not None and self._is_an_answer(first) else set()
        least = self._least(outcomes)
        return [one for one in outcomes if one.score >= least or one.row in safe]

    def _least(self, outcomes: list[Fused]) -> float:
        if self._min_score is not None:
            return self._min_score
        if "semantic" in self._answers:
            return self._fusion.min_score
        return 0.0 if outcomes and self._is_an_answer(outcomes[0]) else math.inf

    def _is_an_answer(self, best: Fused) -> bool:
        """Not when it has only words that every other chunk has, and few of those asked for."""
        if best.score >= self._fusion.min_best:
            return True
        words = self._answers.get("bm25")
        if not isinstance(words, WordedAnswer) or words.coverage(best.row) >= _COVERED:
            return True
        return len([word for word in words.terms(best.row) if not is_joining(word)]) >= _SEVERAL

    def _remember(self, rankings: Mapping[str, Ranking]) -> None:
        took = {*self.took_part, *(name for name, one in rankings.items() if one.hits)}
        self.took_part = tuple(name for name in rankings if name in took)


def _adjusted(outcomes: list[Fused], rankings: Mapping[str, Ranking]) -> list[Fused]:
    if "recency" in rankings:
        outcomes = fade(outcomes, rankings["recency"])
    return lead(outcomes, rankings["exact"]) if "exact" in rankings else outcomes


def _rows(ranking: Ranking | None) -> set[int]:
    return {hit.row for hit in ranking.hits} if ranking is not None else set()


# What stands aside in a repository, by its path, and the words of who asks for it nevertheless.
_ASIDE = {
    re.compile(
        r"(?:^|/)(?:tests?|testing|specs?|__tests__|testdata|test_data|fixtures?)/"
        r"|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|[.-]test|[.-]spec|[a-z]Tests?)|conftest)\.\w+$"
    ): frozenset(("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock")),
    re.compile(r"(?:^|/)_?(?:examples?|samples?|demos?|tutorials?|playground|docs?|docs_src)/"):
        frozenset(("example", "examples", "sample", "demo", "tutorial", "docs", "documentation")),
    re.compile(
        r"(?:^|/)(?:vendor|vendored|_vendor|third_party|thirdparty|node_modules|dist|build|compat"
        r"|_compat|legacy|deprecated|generated|migrations)/"
        r"|\.min\.\w+$|\.d\.ts$|\.pb\.\w+$|_pb2(?:_grpc)?\.py$|[._]generated\.|\.g\.\w+$"
    ): frozenset(
        ("vendor", "vendored", "generated", "build", "compat", "compatibility", "legacy",
         "deprecated", "migration", "migrations", "types", "typings", "protobuf")
    ),
}  # fmt: skip


def load_context(
    store: Store, rows: Collection[int], words: str, *, best: frozenset[int]
) -> CandidateContext:
    """`words`: those of the question, which may ask for tests or examples."""
    places, asked = store.search.get_places(list(rows)), frozenset(tokenize(words))
    code = frozenset(row for row, place in places.items() if not place.kind.is_prose)
    unasked = [pattern for pattern, words_ in _ASIDE.items() if asked.isdisjoint(words_)]
    return CandidateContext(
        best,
        {row: place.home for row, place in places.items()},
        code,
        frozenset(row for row in code if any(one.search(places[row].path) for one in unasked)),
        _beside(places),
    )


def _beside(places: Mapping[int, Place]) -> dict[int, list[int]]:
    """The turns right before and after each, of those that are candidates themselves."""
    turns: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, place in places.items():
        if place.conversation:
            turns[place.conversation, place.turn].append(row)
    return {
        row: [
            other
            for turn in (place.turn - 1, place.turn + 1)
            for other in turns.get((place.conversation, turn), ())
        ]
        for row, place in places.items()
        if place.conversation
    }
