"""Why a result has its score, in the words of seed 000, FR-6.2 to 6.4."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from aurora.display.past import relative_time
from aurora.text import has_cjk, many, printable, tokenize
from aurora.types import Contribution, SearchResult, SearchResults

NO_PART = "took no part"
_SEMANTIC = ((0.9, "very high"), (0.8, "high"), (0.7, "moderate"))  # FR-6.3; below, low
_WORD = re.compile(r"\w(?:.*\w)?")  # a word as typed, without what surrounds it
_OTHERS = {
    "fulltext": "Text",
    "exact": "Name",
    "recency": "Recency",
    "rerank": "Rerank",
    "expansion": "Expansion",
}


class Reason(NamedTuple):
    """One line below a score. A star marks a word of the query that is there to the letter."""

    label: str
    score: float
    text: str
    star: bool = False


def reasons(answer: SearchResults, result: SearchResult, *, now: datetime) -> list[Reason]:
    """The three of FR-6.1, whether they took part or not, then any other signal that did."""
    others = (part for part in result.contributions if part.signal in _OTHERS)
    return [
        _bm25(answer, result),
        _semantic(answer, result),
        Reason("Activation", result.activation_score, _activation(answer, result, now)),
        *(Reason(_OTHERS[part.signal], part.normalised, _other(part)) for part in others),
    ]


def _other(part: Contribution) -> str:
    match part.signal:
        case "exact":
            return "the query is its name" if part.raw >= 0.5 else "the query holds its name"
        case "rerank":
            return f"place {part.rank} in the second look"
        case "expansion":
            return f"place {part.rank} by the words that were added"
        case "recency":
            return "an older note counts less"
        case _:
            return "found by the database's text search"


def sum_of(result: SearchResult) -> str:
    """What the signals gave, as the sum that the score is."""
    parts = [
        f"{'-' if part.value < 0 else '+'} {abs(part.value):.3f} {part.signal}"
        for part in result.contributions
        if round(part.value, 3)
    ]
    return " ".join(parts).removeprefix("+ ")


def _bm25(answer: SearchResults, result: SearchResult) -> Reason:
    """FR-6.2: to the letter, at least half of the terms, or fewer."""
    score = result.bm25_score
    if "bm25" not in answer.signals:
        return Reason("BM25", score, NO_PART)
    if (word := verbatim(answer, result)) is not None:
        return Reason("BM25", score, f'exact keyword match on "{printable(word)}"', star=True)
    asked = set(tokenize(answer.words))
    if not result.terms:
        return Reason("BM25", score, "no term of the query")
    strong = 2 * len(asked.intersection(result.terms)) >= len(asked)
    return Reason("BM25", score, "strong term overlap" if strong else "partial match")


def verbatim(answer: SearchResults, result: SearchResult) -> str | None:
    """The longest word of the query that stands in the chunk as it was typed, in any case."""
    chunk = result.chunk
    text = "\n".join((chunk.qualified_name, chunk.name, chunk.path, chunk.content))
    typed = (match[0] for match in map(_WORD.search, answer.words.split()) if match)
    terms, words, folded = set(result.terms), set(tokenize(text)), text.casefold()
    there = [word for word in typed if _matched(word, terms) and _stands_in(folded, word, words)]
    return max(there, key=len, default=None)


def _matched(word: str, terms: set[str]) -> bool:
    return not terms.isdisjoint(tokenize(word))


def _stands_in(text: str, word: str, words: set[str]) -> bool:
    """As a word, or between the edges of words: `get_cookie` is none of `get_cookie_name`.

    CJK has no such edges.
    """
    folded = word.casefold()
    if has_cjk(folded):
        return folded in text
    if folded in words:
        return True
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None


def _semantic(answer: SearchResults, result: SearchResult) -> Reason:
    """FR-6.3, by the score as it is shown."""
    score = result.semantic_score
    if "semantic" not in answer.signals:
        return Reason("Semantic", score, NO_PART)
    return Reason("Semantic", score, f"{_level(score)} conceptual relevance")


def _level(score: float) -> str:
    return next((word for least, word in _SEMANTIC if round(score, 3) >= least), "low")


def _activation(answer: SearchResults, result: SearchResult, now: datetime) -> str:
    """FR-6.4: how often it was opened and committed, and how long ago that was."""
    used = result.last_used
    words = [
        f"accessed {result.accesses}x",
        commits_of(result),
        f"last used {relative_time(now - used)}" if used else "never used",
        "" if "activation" in answer.signals else NO_PART,
    ]
    return ", ".join(filter(None, words))


def commits_of(result: SearchResult) -> str:
    """`23 commits`; nothing where git knows none."""
    count = len(result.history.commits) if result.history else 0
    return many(count, "commit") if count else ""
