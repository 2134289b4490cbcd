"""The words of a question, as every store's own text search takes them.

Letters and digits are words, and an underscore between them is part of one. Han, Kana and Hangul
are written without spaces: a run of them is a word of its own, also next to a letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise

from aurora.text import CJK, MAX_TOKEN, has_cjk

MAX_TERMS = 32  # words of one question; a longer text is a document, and its start says enough

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_LETTER = rf"[^\W_{CJK}]"
_BETWEEN = r"[\W_]"


def find_terms(text: str) -> list[str]:
    """The first distinct words of a text, in order; the same word in capitals comes once."""
    found: dict[str, str] = {}
    for word in _words(text, _WORD):
        found.setdefault(word.casefold(), word)
        if len(found) == MAX_TERMS:
            break
    return list(found.values())


def phrase_words(text: str) -> list[str]:
    """The words of a phrase in order, each as often as it comes; `get_user` is two of them."""
    return list(islice(_words(text, _PART), MAX_TERMS))


def phrase_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """What finds these words next to each other in a text, in any case.

    Words are whole: they end at what is no letter, or where a script without spaces begins. Of
    that script itself, any part is a word.
    """
    start = "" if has_cjk(words[0]) else f"(?<!{_LETTER})"
    end = "" if has_cjk(words[-1]) else f"(?!{_LETTER})"
    middle = re.escape(words[0])
    for before, word in pairwise(words):
        apart = "*" if has_cjk(before) or has_cjk(word) else "+"
        middle += f"{_BETWEEN}{apart}{re.escape(word)}"
    return re.compile(start + middle + end, re.IGNORECASE)


def _words(text: str, shape: re.Pattern[str]) -> Iterator[str]:
    # Accents that stand behind their letter would cut it off; lone surrogates are no letters.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for match in shape.finditer(composed):
        word = match[0][:MAX_TOKEN]
        if not has_cjk(word):
            yield word
            continue
        for _, run in groupby(word, key=has_cjk):
            yield "".join(run).strip("_")
