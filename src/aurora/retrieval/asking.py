"""All signals of one memory: which of them a search asks, and what happens when one cannot answer.

Without meaning a search goes on by words and use, and says so; without a word found it goes on by
meaning, and says so (seeds 000 and 003).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aurora.errors import EmbedderMismatchError, EmbeddingError
from aurora.fusion.base import Fusion, PlacedFusion
from aurora.retrieval.config import HybridConfig
from aurora.signals.activation import ActivationSignal
from aurora.signals.base import Answer, Question, Signal, WordedAnswer
from aurora.signals.bm25_signal import BM25Signal
from aurora.signals.exact import ExactSignal
from aurora.signals.formula import BM25Parameters
from aurora.signals.fulltext import FulltextSignal
from aurora.signals.questions import Embedders
from aurora.signals.recency import RecencySignal
from aurora.signals.semantic import SemanticSignal
from aurora.signals.sparse import SparseAnswer
from aurora.signals.stored import StoredMeaning, StoredWords, stored_signals
from aurora.signals.vectors import VectorIndex
from aurora.stores.base import Store
from aurora.stores.ranking import RankingStore
from aurora.text import has_cjk
from aurora.types import Listener, Mode, Note, ignore_events

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
        config: HybridConfig,
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
        self._words: BM25Signal | StoredWords = self.bm25
        self._semantic: SemanticSignal | StoredMeaning | None
        if isinstance(store, RankingStore):
            self._words, self._semantic = stored_signals(store, parameters, embedders)
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
                if not isinstance(fusion, PlacedFusion):
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
