"""Split texts into the word pieces of the bundled model.

    getHTTPResponse_code  →  get http response code      split at humps, lower case
    Café №12              →  cafe no 12                  accents removed, digits apart from letters
    Python用户认证         →  python 用户认证              Chinese, Japanese and Korean apart, too

A word is then cut from the left into the longest known pieces; `##` begins a piece that continues a
word. Training splits its texts with this file, so a change here needs a new model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from aurora.errors import EmbeddingError
from aurora.package_manager import repair_command
from aurora.text import CJK, has_cjk, normalized

PIECES = "pieces.txt"
UNKNOWN = 0  # the piece for everything that no other piece covers
_UNKNOWN_NAME = "[unknown]"  # in the file
_LONGEST_WORD = 100  # characters; of a cached run, too
_LONGEST_PIECE = 32  # characters, with `##`
_LONGEST_CJK = 8
_MOST_CACHED = 50_000  # runs: about ten megabytes

# All but the ASCII characters that no word contains, so no word crosses the ends of a run.
_RUN = re.compile(r"[^\0-/:-@\[-^`{-\x7f]+")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")


class Tokenizer(dict[str, tuple[int, ...]]):
    """Text → piece numbers. As a dict it caches the pieces of each run of letters."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.size = len(pieces)
        self._numbers = dict(zip(pieces, range(self.size), strict=True))

    def encode(self, text: str) -> list[int]:
        """The pieces of a text in order; the unknown piece for a text without any."""
        runs = _RUN.findall(text)
        return list(chain.from_iterable(map(self.__getitem__, runs))) or [UNKNOWN]

    def knows(self, text: str) -> bool:
        """Whether a word of the text is a single piece; parts of words and numbers do not count."""
        words = chain.from_iterable(map(split_words, _RUN.findall(text)))
        return any(
            any(self._cut_cjk(word)) if has_cjk(word) else word in self._numbers
            for word in words
            if not word.isdigit()
        )

    def __missing__(self, run: str) -> tuple[int, ...]:
        numbers = tuple(chain.from_iterable(map(self._cut, split_words(run))))
        if len(run) <= _LONGEST_WORD:
            if len(self) >= _MOST_CACHED:
                self.clear()
            self[run] = numbers
        return numbers

    def _cut(self, word: str) -> list[int]:
        return self._cut_cjk(word) if has_cjk(word) else self._cut_word(word[:_LONGEST_WORD])

    def _cut_word(self, word: str) -> list[int]:
        """A word with a letter that is in no piece is unknown as a whole."""
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
        """Without `##`: CJK words have no spaces between them. Unknown neighbours count once."""
        numbers: list[int] = []
        start = 0
        while start < len(run):
            for end in range(min(len(run), start + _LONGEST_CJK), start, -1):
                number = self._numbers.get(run[start:end])
                if number is not None:
                    break
            else:
                number, end = UNKNOWN, start + 1
            if number != UNKNOWN or numbers[-1:] != [UNKNOWN]:
                numbers.append(number)
            start = end
        return numbers


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, and its runs of CJK characters, in order."""
    if text.isascii():
        return _split_latin(text)
    parts = _cjk_runs().split(normalized("NFKC", text))
    return [
        word for at, part in enumerate(parts) for word in ([part] if at % 2 else _split_latin(part))
    ]


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a file with one piece per line."""
    try:
        pieces = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as exc:
        raise EmbeddingError(
            f"{path} cannot be read: {exc.strerror or exc}", hint=repair_command()
        ) from exc
    except ValueError as exc:
        raise EmbeddingError(f"{path} is damaged: {exc}", hint=repair_command()) from exc
    if pieces[UNKNOWN] != _UNKNOWN_NAME:
        message = f"{path} is damaged: it does not begin with {_UNKNOWN_NAME}"
        raise EmbeddingError(message, hint=repair_command())
    return Tokenizer(pieces)


def _split_latin(text: str) -> list[str]:
    bare = text if text.isascii() else _without_accents(text)
    return _WORD.findall(_HUMP.sub(" ", bare).lower())


def _without_accents(text: str) -> str:
    letters = normalized("NFD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


@cache
def _cjk_runs() -> re.Pattern[str]:
    """Compiled on first use: that takes milliseconds. Punctuation is in no run."""
    return re.compile(rf"((?:(?!\W)[{CJK}])+)")
