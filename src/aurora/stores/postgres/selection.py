"""Selects the chunks that can be among the best for a query, by the words that they have.

A term adds less than its weight times k1 + 1 to a score, however often it occurs. A chunk can reach
a score only if the terms that it has add up to it. `select` writes this as a tsquery: the server's
index then reads common words only beside rarer ones. The idea is MaxScore: Turtle and Flood, *Query
evaluation: strategies and optimizations* (1995).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from aurora.stores.base import WeighedTerm, WordsAsked
from aurora.stores.postgres.rows import any_of, quote

MOST_TERMS = 64  # the rarest of a query
_LONGEST = 32  # words of a condition: the index tests it for every chunk that it reads
_DEEPEST = 6  # words that a condition combines by AND
_ROUNDING = 1 - 1e-9  # scores are sums, whose last digits depend on the order
_MOST_OF_OTHERS = 0.75
_WORK = (5_000, 50_000, 400_000)  # chunks that are scored to learn a score; more only if needed


def terms_of(words: WordsAsked | None) -> Sequence[WeighedTerm]:
    return words.terms[:MOST_TERMS] if words is not None else ()


def most_of(term: WeighedTerm, words: WordsAsked) -> float:
    """What a term adds to a score at most."""
    return max(term.weight, 0.0) * (words.k1 + 1.0)


def select_all(words: WordsAsked | None) -> str:
    return any_of(term.text for term in terms_of(words))


def select(words: WordsAsked, score: float) -> str:
    """All chunks that may reach the score, and as few others as a short condition allows."""
    terms = sorted(terms_of(words), key=lambda term: -most_of(term, words))
    condition = _Condition([(quote(term.text), most_of(term, words)) for term in terms])
    return condition.shortened(score * _ROUNDING)


class _Condition:
    """Writes that a chunk has terms that add up to a score. The terms that add most come first."""

    def __init__(self, terms: Sequence[tuple[str, float]]) -> None:
        self._terms = terms
        most = [most for _, most in terms]
        self._rest = [*accumulate(reversed(most))][::-1]  # what each term and all after it add

    def shortened(self, score: float) -> str:
        """As exact as the length allows: at a smaller depth it selects more chunks."""
        written = ""
        for depth in range(1, _DEEPEST + 1):
            deeper = " | ".join(self._parts(0, score, depth))
            if written and deeper.count("'") > 2 * _LONGEST:
                break
            written = deeper
        return written

    def _parts(self, start: int, score: float, depth: int) -> Iterator[str]:
        """A chunk has one of these terms as its first, or cannot reach the score."""
        for at in range(start, len(self._terms)):
            if self._rest[at] < score:
                return
            term, most = self._terms[at]
            if most >= score or depth == 1:
                yield term
            else:
                others = " | ".join(self._parts(at + 1, score - most, depth - 1))
                yield f"{term} & ({others})"


def probes(words: WordsAsked) -> Iterator[str]:
    """Conditions that find good chunks quickly, the quickest first."""
    terms = terms_of(words)
    first, *more = (bisect_right([*accumulate(t.chunks for t in terms)], work) for work in _WORK)
    yield _having_rarest(terms, first)
    # Too few chunks have the rarest terms: the next best have most of the others.
    others = sum(most_of(term, words) for term in terms[max(first, 1) :])
    if others:
        yield select(words, _MOST_OF_OTHERS * others)
    yield from (_having_rarest(terms, count) for count in more)


def _having_rarest(terms: Sequence[WeighedTerm], count: int) -> str:
    if count:
        return any_of(term.text for term in terms[:count])
    # Even the rarest term is common, so the best chunks have it beside another.
    return f"{quote(terms[0].text)} & ({any_of(term.text for term in terms[1:])})"
