"""Text into tokens, the same way for chunks and for queries.

Identifiers stay whole and give their parts beside them, because people ask both ways:
`getUserData` becomes `getuserdata get user data`. Scripts written without spaces give pairs of
neighbouring characters. No stop words and no stemming: identifiers are exact (seed 000, 6.1). What
words of a sentence give beside that is in `terms`.

What an index holds of a text, and what a question looks for there.

Seed 000 wants identifiers exact, and exact they stay. But people ask in sentences: so a word gives
its stem beside itself, and what only joins words counts less in a question. What each of the
numbers below is worth: docs/concepts/ranking.md.

What is indexed of a chunk, the same in every index: its name, its labels and its content.

A name says more about a chunk than a line of its body, however long the body is: it counts a few
times, and again for every so many characters. So does what its author says of it, beside how it is
done. docs/concepts/ranking.md has the measurements.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Literal, NamedTuple

import Stemmer  # type: ignore[import-not-found]

from aurora.types import Chunk

TOKENIZER_VERSION = 1  # grows when the same text would give other tokens: indexes are then rebuilt
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


def pluralize(count: int, what: str) -> str:
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


TERMS_VERSION = 1  # grows when the same text gives other terms: indexes are then rebuilt
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

EXACT = Analysis(f"tokens-{TOKENIZER_VERSION}", tokenize, lambda text: Counter(tokenize(text)))
WORDS = Analysis(
    f"words-{TOKENIZER_VERSION}.{TERMS_VERSION}", document_terms, question_terms, SHORTEST
)


RECIPE = 4  # grows when a chunk gives another text: indexes are then rebuilt
SUMMARY_TIMES = 2  # beside once in the content
_NAME_TIMES, _NAME_EVERY = 3, 50
_BEGINNING, _LONG = 120, 200  # characters: of a shorter text all is the beginning
_SUMMARY = 600  # characters of a summary; what comes later is detail
# A docstring in the first lines, or the comment that a definition begins with. What is possessive
# is never tried anew: a text of stars or spaces alone would take the square of its length.
_DOCSTRING = re.compile(r'[^\n]*(?:\n[^\n]*){0,12}?"""(.*?)"""', re.DOTALL)
_COMMENT = re.compile(
    r"\s*+(?:/\*++(?:(?<=\*\*)/|(.*?)\*/)|((?:[ \t]*+(?://++!?|#++|--)[^\n]*+\n)+))", re.DOTALL
)


def name_times(chunk: Chunk) -> int:
    """How often the name counts, beside where it stands in the content."""
    return 0 if _is_untitled(chunk) else _NAME_TIMES + len(chunk.content) // _NAME_EVERY


def chunk_labels(chunk: Chunk) -> str:
    """What counts beside the content: the qualified name, the signature, the path.

    A text without a title mostly says at once what it is about: so how it begins stands for one.
    """
    name = _beginning(chunk.content) if _is_untitled(chunk) else chunk.qualified_name
    return f"{name}\n{chunk.metadata.get('signature', '')}\n{chunk.telling_path}"


def _is_untitled(chunk: Chunk) -> bool:
    """Whether its name is only to show it by, and not a title or a file's: it says nothing more."""
    has_own = bool(chunk.qualified_name or chunk.path)
    return chunk.kind.is_prose and (not has_own or chunk.content.startswith(chunk.name))


def _beginning(text: str) -> str:
    return text.lstrip()[:_BEGINNING].partition("\n")[0] if len(text) >= _LONG else ""


def chunk_summary(chunk: Chunk) -> str:
    """What the author of code says that it does: its docstring, or the comment above it."""
    if chunk.kind.is_prose:
        return ""
    found = _DOCSTRING.match(chunk.content) or _COMMENT.match(chunk.content)
    return next(filter(None, found.groups()), "")[:_SUMMARY] if found else ""


def chunk_text(chunk: Chunk) -> str:
    """All of it as one text."""
    names = f"{chunk.name}\n" * name_times(chunk)
    summaries = f"\n{chunk_summary(chunk)}" * SUMMARY_TIMES
    return f"{names}{chunk_labels(chunk)}\n{chunk.content}{summaries}"
