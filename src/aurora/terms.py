"""What an index holds of a text, and what a question looks for there.

Seed 000 wants identifiers exact, and exact they stay. But people ask in sentences: so a word gives
its stem beside itself, and what only joins words counts less in a question. What each of the
numbers below is worth: docs/concepts/ranking.md.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found]

from aurora.text import VERSION as TOKENS
from aurora.text import Words, tokenize

VERSION = 1  # grows when the same text gives other terms: indexes are then rebuilt
AS_WRITTEN = 0.4  # what a word as it is written weighs in a question; its stem has the rest
JOINING = 0.3  # what a word weighs that joins others, or names the language a program is in
SHORTEST = 48  # terms: a text with fewer is not better for being shorter

_STEMMED = re.compile("[a-z]{3,}")
# Lucene's stop words, with the pronouns, question words and auxiliary verbs of questions.
_JOINING = frozenset(
    """a about also am an and any are as at be been being but by can could did do does doing done
    for from had has have having he her here him his how i if in into is it its just may me might
    mine must my no not of on or our shall she should so some such than that the their them then
    there these they this those to too us very was we were what when where which who whom whose
    why will with would you your""".split()  # noqa: SIM905 - a list would take a page
)
_LANGUAGES = frozenset(
    "golang java javascript js kotlin php python ruby rust scala swift typescript".split()  # noqa: SIM905
)


class Analysis(NamedTuple):
    """How texts become terms. Indexes say by which one they were made."""

    name: str
    document: Callable[[str], Sequence[str]]
    question: Callable[[str], Mapping[str, float]]
    shortest: int = 0  # what a text counts at least, in terms


def stem(word: str) -> str:
    """`parsing`, `parsed` and `parser` have one; what is no English word is its own."""
    return _stems[word] if _STEMMED.fullmatch(word) else word


def is_joining(word: str) -> bool:
    """Whether it says little by itself."""
    return word in _JOINING or word in _LANGUAGES


def document_terms(text: str) -> list[str]:
    """The tokens of a text, and the stem of each that has another."""
    return _terms.of(text)


def question_terms(text: str) -> dict[str, float]:
    """What to look for, and how much each counts. A word and its stem count once together."""
    weights: defaultdict[str, float] = defaultdict(float)
    for token, count in Counter(tokenize(text)).items():
        weight = count * (JOINING if is_joining(token) else 1.0)
        root = stem(token)
        weights[token] += weight if root == token else AS_WRITTEN * weight
        if root != token:
            weights[root] += (1.0 - AS_WRITTEN) * weight
    return weights


def query_words(text: str) -> dict[str, str]:
    """The words of a question, each with its stem: a chunk that has either has the word."""
    return {token: stem(token) for token in tokenize(text)}


def words_found(asked: Mapping[str, str], found: Set[str]) -> frozenset[str]:
    """Those of `query_words` that stand among the terms found, themselves or by their stems."""
    return frozenset(word for word, root in asked.items() if word in found or root in found)


class _Stems(dict[str, str]):
    """Word → stem. The library's stemmers are not for several threads at once."""

    def __init__(self) -> None:
        self._stemmer, self._lock = Stemmer.Stemmer("english", 0), threading.Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:
            return str(self._stemmer.stemWord(word))


class _Terms(Words):
    def _split(self, compound: str) -> tuple[str, ...]:
        tokens = super()._split(compound)
        return (*tokens, *(root for token in tokens if (root := stem(token)) != token))


_stems, _terms = _Stems(), _Terms()

EXACT = Analysis(f"tokens-{TOKENS}", tokenize, lambda text: Counter(tokenize(text)))
WORDS = Analysis(f"words-{TOKENS}.{VERSION}", document_terms, question_terms, SHORTEST)
