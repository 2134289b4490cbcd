"""Text into tokens, the same way for chunks and for queries.

Identifiers stay whole and give their parts beside them, because people ask both ways:
`getUserData` becomes `getuserdata get user data`. Scripts written without spaces give pairs of
neighbouring characters. No stop words and no stemming: identifiers are exact (seed 000, 6.1). What
words of a sentence give beside that is in `terms`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Literal

VERSION = 1  # grows when the same text would give other tokens: indexes are then rebuilt
MAX_TOKEN = 128  # longer runs are encoded data, not words anybody asks for
_SLICE = 2000  # characters normalised at once: marks are sorted in the square of their number
_CACHE_WORDS = 1 << 18  # words remembered before the cache starts anew: about 40 MB at the most

# Vowel signs and accents that belong to a word although Python's \w leaves them out.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0d7f\u0e31-\u0e4e"
    "\u0eb1-\u0ece\u102b-\u103e\u1056-\u109d\u17b4-\u17d3"
)
# Scripts without spaces between words: Thai to Burmese, Khmer, Kana, Bopomofo, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005\u3007"
    "\u3040-\u30ff\u3100-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U000323af"
)
# Han, Kana, Bopomofo and Hangul, for a class of a regular expression.
CJK = (
    "\u1100-\u11ff\u3005\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U000323af"
)
_ASCII_COMPOUND = re.compile(r"\w+(?:[.@]\w+)*", re.ASCII)
_ASCII_SHAPE = str.maketrans(
    ascii_uppercase + ascii_lowercase + digits, "A" * 26 + "a" * 26 + "0" * 10
)
# As the store's index of names does it: letters of ASCII alone, so that every database can.
_SPELLING = str.maketrans(ascii_uppercase, ascii_lowercase, "_- ")
_SPELLING_BYTES = bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode())
_PART = re.compile("A+(?!a)0*|A?a+0*|0+")  # on a word's shape: HTTPServer2 is AAAAAaaaaa0


def tokenize(text: str) -> list[str]:
    """Split text into lower-case tokens: identifiers, their parts, character pairs for CJK."""
    return _tokens.of(text)


def has_cjk(text: str) -> bool:
    """True when the text holds a Chinese, Japanese or Korean character."""
    return not text.isascii() and _cjk().search(text) is not None


def fold_name(name: str) -> str:
    """A name without its spelling: `getUserData`, `get_user_data` and `Get user-data` are one."""
    return name.translate(_SPELLING)


def fold_names(names: Iterable[str]) -> list[str]:
    """`fold_name` of each, in order: seven times as quick for many. A line break is a space."""
    lines = [name.replace("\n", " ") for name in names]
    folded = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_SPELLING_BYTES, b"_- ")
    return folded.decode("utf-8", "surrogatepass").split("\n") if lines else []


def printable(text: str, *, keep: str = "") -> str:
    """One line that is safe to show: file names and strangers' files may hold anything.

    `keep` are letters to let through, such as those that join others.
    """
    if text.isprintable():  # most are, and asking letter by letter takes fifty times as long
        return text
    return "".join(
        letter
        if letter.isprintable() or unicodedata.category(letter) == "Zs" or letter in keep
        else "\ufffd"
        for letter in text
    )


def is_text(value: str) -> bool:
    """False for what no UTF-8 holds: halves of characters, as a broken terminal hands them on."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def many(count: int, what: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def normalized(form: Literal["NFKC", "NFD"], text: str) -> str:
    """`unicodedata.normalize`, in time that grows with the text, also where it is all accents.

    The same for any text with a letter of ASCII or a Chinese one in every so many characters: no
    such letter joins what stands before it. A longer run is cut where it is.
    """
    if len(text) <= _SLICE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, part) for part in _slices().findall(text))


# Wide character classes take milliseconds to compile: only text that needs them pays.
@cache
def _compound() -> re.Pattern[str]:
    return re.compile(rf"[\w{_MARKS}]+(?:[.@][\w{_MARKS}]+)*")


@cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}]+)")


@cache
def _cjk() -> re.Pattern[str]:
    return re.compile(f"[{CJK}]")


@cache
def _slices() -> re.Pattern[str]:
    """Up to a letter that stands apart; what has none is counted from the last one on."""
    apart, most = r"\0-\x7f\u4e00-\u9fff", f"{{1,{_SLICE}}}"
    return re.compile(rf"(?s:.{most}(?=[{apart}]|\Z)|[{apart}]?[^{apart}]{most})")


class Words(dict[str, tuple[str, ...]]):
    """Compound word → its tokens, worked out once: source code repeats its words."""

    def of(self, text: str) -> list[str]:
        """The tokens of all words of a text, in order."""
        if text.isascii():
            compounds = _ASCII_COMPOUND.findall(text)
        else:
            compounds = _compound().findall(normalized("NFKC", text))
        tokens: list[str] = []
        for compound in compounds:
            tokens.extend(self[compound])
        return tokens

    def __missing__(self, compound: str) -> tuple[str, ...]:
        tokens = self._split(compound)
        if len(compound) <= MAX_TOKEN:
            if len(self) >= _CACHE_WORDS:
                self.clear()
            self[compound] = tokens
        return tokens

    def _split(self, compound: str) -> tuple[str, ...]:
        return tuple(_compound_tokens(compound))


_tokens = Words()


def _compound_tokens(compound: str) -> list[str]:
    """`auth.oauth_client` → the whole, then each word's own tokens."""
    words = re.split("[.@]", compound)
    spaced = compound.isascii() or _unspaced_run().search(compound) is None
    tokens = (
        [compound.casefold()] if len(words) > 1 and spaced and len(compound) <= MAX_TOKEN else []
    )
    for word in words:
        if word.isascii():
            tokens += _identifier_tokens(word)
            continue
        for position, run in enumerate(_unspaced_run().split(word)):
            tokens += _pairs(run) if position % 2 else _identifier_tokens(run)
    return tokens


def _identifier_tokens(word: str) -> list[str]:
    """`getUserData` → getuserdata, get, user, data. A word of one part gives just itself."""
    if len(word) > MAX_TOKEN:
        return []
    shape = word.translate(_ASCII_SHAPE) if word.isascii() else "".join(map(_shape, word))
    parts = [word[match.start() : match.end()].casefold() for match in _PART.finditer(shape)]
    whole = word.casefold()
    if not parts or parts == [whole]:
        return parts
    return [whole, *parts]


def _shape(character: str) -> str:
    if character.isupper():
        return "A"
    if character.isdigit():
        return "0"
    return character if character == "_" else "a"


def _pairs(run: str) -> list[str]:
    """Neighbouring characters of a run; a single character stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
