"""Texts into the pieces of words that Aurora's own model has vectors for.

    getHTTPResponse_code  →  get http response code      humps are opened, letters made small
    Café №12              →  cafe no 12                  accents go, digits stand apart from letters
    Python用户认证         →  python 用户认证              so do Chinese, Japanese and Korean

A word is then cut from its left into the longest pieces there are: `##` begins one that continues
a word. Training cuts its texts by this file too, so a change here wants another model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from aurora.errors import EmbeddingError
from aurora.text import CJK, has_cjk, normalized

PIECES = "pieces.txt"
REPAIR = "install Aurora again: pip install --force-reinstall aurora-memory"
UNKNOWN = 0  # the piece of what no other piece is for
_UNKNOWN = "[unknown]"  # as the file spells it
_LONGEST = 100  # signs of a word, and of a run that is remembered
_LONGEST_PIECE = 32  # signs that are tried at once, their mark with them
_LONGEST_CJK = 8
_KEPT = 200_000  # runs; those of a large project, some tens of megabytes

# All but the signs of ASCII that are in no word: whatever the rest turns out to be, no word goes
# across its ends.
_RUN = re.compile(r"[^\0-/:-@\[-^`{-\x7f]+")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")


class Words(dict[str, tuple[int, ...]]):
    """Run of letters → its pieces, worked out once: texts repeat their words."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.size = len(pieces)
        self._numbers = dict(zip(pieces, range(self.size), strict=True))

    def of(self, text: str) -> list[int]:
        """The pieces of a text in order; of a text that has none, the unknown one."""
        runs = _RUN.findall(text)
        return list(chain.from_iterable(map(self.__getitem__, runs))) or [UNKNOWN]

    def knows(self, text: str) -> bool:
        """Whether any word of it is one piece: what is only parts, or a number, means nothing."""
        words = chain.from_iterable(map(words_in, _RUN.findall(text)))
        return any(
            any(self._cut_cjk(word)) if has_cjk(word) else word in self._numbers
            for word in words
            if not word.isdigit()
        )

    def __missing__(self, run: str) -> tuple[int, ...]:
        numbers = tuple(chain.from_iterable(map(self._cut, words_in(run))))
        if len(run) <= _LONGEST:
            if len(self) >= _KEPT:
                self.clear()
            self[run] = numbers
        return numbers

    def _cut(self, word: str) -> list[int]:
        return self._cut_cjk(word) if has_cjk(word) else self._cut_word(word[:_LONGEST])

    def _cut_word(self, word: str) -> list[int]:
        """Unknown as a whole where one of its letters is."""
        numbers: list[int] = []
        mark = ""
        while word:
            rest = mark + word
            for end in range(min(len(rest), _LONGEST_PIECE), len(mark), -1):
                number = self._numbers.get(rest[:end])
                if number is not None:
                    break
            else:
                return [UNKNOWN]
            numbers.append(number)
            word, mark = rest[end:], "##"
        return numbers

    def _cut_cjk(self, run: str) -> list[int]:
        """Without marks, for such words have no spaces between them. Unknown signs count once."""
        numbers: list[int] = []
        at = 0
        while at < len(run):
            for end in range(min(len(run), at + _LONGEST_CJK), at, -1):
                number = self._numbers.get(run[at:end])
                if number is not None:
                    break
            else:
                number, end = UNKNOWN, at + 1
            if number != UNKNOWN or numbers[-1:] != [UNKNOWN]:
                numbers.append(number)
            at = end
        return numbers


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, and its runs of CJK signs, in order."""
    if text.isascii():
        return _spaced(text)
    parts = _cjk_runs().split(normalized("NFKC", text))
    return [word for at, part in enumerate(parts) for word in ([part] if at % 2 else _spaced(part))]


def read_words(path: Path) -> Words:
    """Those of a file with one piece a line."""
    try:
        pieces = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}", hint=REPAIR) from exc
    except ValueError as exc:
        raise EmbeddingError(f"{path} is damaged: {exc}", hint=REPAIR) from exc
    if pieces[UNKNOWN] != _UNKNOWN:
        raise EmbeddingError(f"{path} is damaged: it does not begin with {_UNKNOWN}", hint=REPAIR)
    return Words(pieces)


def _spaced(text: str) -> list[str]:
    bare = text if text.isascii() else _without_accents(text)
    return _WORD.findall(_HUMP.sub(" ", bare).lower())


def _without_accents(text: str) -> str:
    letters = normalized("NFD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


@cache
def _cjk_runs() -> re.Pattern[str]:
    """Compiled for who needs it: that takes milliseconds. Signs between words are in no run."""
    return re.compile(rf"((?:(?!\W)[{CJK}])+)")
