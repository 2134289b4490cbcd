"""What is shown of the chosen chunks: fetched from the store, with what matched in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aurora.signals.base import Answer, WordedAnswer
from aurora.stores.base import Store
from aurora.terms import document_terms, query_words, words_found
from aurora.text import tokenize
from aurora.types import Chunk, Fused, SearchResult

Terms = Callable[[int, Chunk], frozenset[str]]


def fetch_results(
    store: Store, outcomes: Sequence[Fused], text: str, answers: Mapping[str, Answer]
) -> tuple[SearchResult, ...]:
    """Results in the same order; chunks that were forgotten a moment ago are left out."""
    chunks = store.get_rows([outcome.row for outcome in outcomes])
    ids = [chunk.id for chunk in chunks.values()]
    histories, accesses = store.get_histories(ids), store.get_accesses(ids)
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
