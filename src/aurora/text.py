"""Text analysis, the same for chunks and queries: tokens, terms, and the text of a chunk.

`tokenize` keeps identifiers whole and adds their parts, because people search for both:
`getUserData` gives `getuserdata get user data`. Scripts without spaces give pairs of neighbouring
characters. Terms add the stem of each word; in queries, stop words count less. `chunk_text` is what
every index holds of a chunk. docs/concepts/ranking.md has the measurements behind the numbers.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import chain
from pathlib import PurePosixPath
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

import Stemmer  # type: ignore[import-not-found]

from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple
from aurora.types import Chunk, Kind

TOKENIZER_VERSION = 1  # raise it when a text gives other tokens: indexes are then rebuilt
MAX_TOKEN = 128  # characters: longer runs are encoded data, not words
_SLUG = 40  # characters of a title in an id
_SLICE = 2000  # characters normalised at once: sorting marks takes quadratic time
_CACHE_WORDS = 1 << 18  # words in the cache before it is cleared: about 40 MB

# Vowel signs and accents inside words, which Python's \w does not match.
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
# Han, Kana, Bopomofo and Hangul, for a character class.
CJK = (
    "\u1100-\u11ff\u3005\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U000323af"
)
_DATE = lazy_pattern(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_COMPOUND = rf"[\w{_MARKS}]+(?:[.@][\w{_MARKS}]+)*"
_UNSPACED_RUN, _CJK_LETTER = f"([{_UNSPACED}]+)", f"[{CJK}]"
# Slices that end before a character that does not combine, where there is one.
_APART, _UP_TO_SLICE = r"\0-\x7f\u4e00-\u9fff", f"{{1,{_SLICE}}}"
_SLICES = rf"(?s:.{_UP_TO_SLICE}(?=[{_APART}]|\Z)|[{_APART}]?[^{_APART}]{_UP_TO_SLICE})"
_ASCII_COMPOUND = lazy_pattern(r"\w+(?:[.@]\w+)*", re.ASCII)
# What tokenizers of language models take together: a sign with the word behind it, up to three
# digits, the spaces before a word or a line.
_PIECE = (
    r"[^\w\s]?[A-Z]?[a-z]+|[^\w\s]?[A-Z]+(?![a-z])|\d{1,3}|[^\W\d_a-zA-Z]+"
    r"|[^\S\n]{2,}|\n\s*|[^\w\s]+|_"
)
# ASCII letters only, like the stores' index of names.
_SPELLING = str.maketrans(ascii_uppercase, ascii_lowercase, "_- ")
_SPELLING_BYTES = bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode())
# It matches the shape of a word: HTTPServer2 is AAAAAaaaaa0.
_PART = lazy_pattern("A+(?!a)0*|A?a+0*|0+")
_ASCII_PART = lazy_pattern("[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")


def tokenize(text: str) -> list[str]:
    """Split text into lower-case tokens: identifiers, their parts, character pairs for CJK."""
    return _tokens.of(text)


def has_cjk(text: str) -> bool:
    """True when the text holds a Chinese, Japanese or Korean character."""
    return not text.isascii() and compiled(_CJK_LETTER).search(text) is not None


def fold_name(name: str) -> str:
    """Fold case and separators: `getUserData`, `get_user_data` and `Get user-data` are equal."""
    return name.translate(_SPELLING)


def fold_names(names: Iterable[str]) -> list[str]:
    """`fold_name` of each name, seven times as fast. A line break counts as a space."""
    lines = [name.replace("\n", " ") for name in names]
    folded = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_SPELLING_BYTES, b"_- ")
    return folded.decode("utf-8", "surrogatepass").split("\n") if lines else []


def printable(text: str, *, keep: str = "") -> str:
    """Replace control characters in untrusted text, so that it is safe to show in one line.

    `keep` are further characters to keep, such as joiners.
    """
    if text.isprintable():  # the loop below takes fifty times as long
        return text
    return "".join(
        letter
        if letter.isprintable() or unicodedata.category(letter) == "Zs" or letter in keep
        else "\ufffd"
        for letter in text
    )


def is_text(value: str) -> bool:
    """False for text with lone surrogates, which UTF-8 cannot hold: undecodable bytes."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def pluralize(count: int, what: str) -> str:
    """`1 chunk`, `2 chunks`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def make_slug(title: str) -> str:
    """The words of a title with hyphens between them, as part of an id or a file's name."""
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:_SLUG]


def count_tokens(text: str) -> int:
    """How many tokens a language model reads, estimated: within a tenth of GPT-4o's tokenizer for
    code, prose and Chinese."""
    return math.ceil(weigh_tokens(text))


def weigh_tokens(text: str) -> float:
    """The same, to be summed up."""
    return sum(map(_piece_tokens, compiled(_PIECE).findall(text)))


@lru_cache(1 << 16)
def _piece_tokens(piece: str) -> float:
    last = piece[-1]
    if not last.isascii():
        return len(piece.encode("utf-8", "replace")) / 3
    if not last.isalpha():  # up to three digits, spaces or signs
        return 1 if last.isalnum() or last.isspace() else 1 + (len(piece) - 1) // 3
    return 1 + (len(piece) - 1) // 8 + (0 if piece[0].isalpha() else 0.4)


def find_date(text: str) -> datetime | None:
    """Midnight UTC of the last valid date in a text: a path often ends with its date."""
    for written in reversed(_DATE.findall(text)):
        try:
            return datetime.fromisoformat(written).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def normalized(form: Literal["NFKC", "NFD"], text: str) -> str:
    """`unicodedata.normalize` in linear time, also for a text of accents only.

    The result is the same if each slice holds an ASCII or Chinese character, since these do not
    combine with the text before them. A longer run is cut anyway.
    """
    if len(text) <= _SLICE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, part) for part in compiled(_SLICES).findall(text))


def find_compounds(text: str) -> list[str]:
    """The words of a text in order, with those that a dot or an @ joins as one."""
    if text.isascii():
        return _ASCII_COMPOUND.findall(text)
    return compiled(_COMPOUND).findall(normalized("NFKC", text))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: wide character classes take milliseconds."""
    return re.compile(pattern)


class Words(dict[str, tuple[str, ...]]):
    """Cache of compound word → tokens: source code repeats its words."""

    def __init__(self, split: Callable[[str], tuple[str, ...]]) -> None:
        self.split = split

    def of(self, text: str) -> list[str]:
        """Return the tokens of all words of a text, in order."""
        return [*chain.from_iterable(map(self.__getitem__, find_compounds(text)))]

    def __missing__(self, compound: str) -> tuple[str, ...]:
        tokens = self.split(compound)
        if len(compound) <= MAX_TOKEN:
            if len(self) >= _CACHE_WORDS:
                self.clear()
            self[compound] = tokens
        return tokens


def _compound_tokens(compound: str) -> tuple[str, ...]:
    """`auth.oauth_client` → the whole, then the tokens of each word."""
    words = compound.replace("@", ".").split(".")
    spaced = compound.isascii() or compiled(_UNSPACED_RUN).search(compound) is None
    tokens = (
        [compound.casefold()] if len(words) > 1 and spaced and len(compound) <= MAX_TOKEN else []
    )
    for word in words:
        if word.isascii():
            tokens += _identifier_tokens(word)
            continue
        for position, run in enumerate(compiled(_UNSPACED_RUN).split(word)):
            tokens += _pairs(run) if position % 2 else _identifier_tokens(run)
    return tuple(tokens)


def _identifier_tokens(word: str) -> list[str]:
    """`getUserData` → getuserdata, get, user, data. A word of one part gives itself."""
    if len(word) > MAX_TOKEN:
        return []
    if word.isascii():
        if word.isalpha() and word.islower():  # most words
            return [word]
        parts = [part.lower() for part in _ASCII_PART.findall(word)]
    else:
        shape = "".join(map(_shape, word))
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
    """Pairs of neighbouring characters; a single character gives itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


# Terms

TERMS_VERSION = 1  # raise it when a text gives other terms: indexes are then rebuilt
AS_WRITTEN = 0.4  # weight of a word as written in a query; its stem has the rest
JOINING = 0.3  # weight of a stop word, or of a programming language's name
SHORTEST = 48  # terms: BM25 gives no advantage to shorter texts

_STEMMED = lazy_pattern("[a-z]{3,}")
_stemmer, _stemming = Stemmer.Stemmer("english", 0), threading.Lock()  # it is not thread-safe
# Lucene's stop words, with pronouns, question words and auxiliary verbs.
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
    """How texts become terms. An index stores the name of its analysis."""

    name: str
    words: Words
    question: Callable[[str], Mapping[str, float]]
    shortest: int = 0  # minimum length of a text, in terms


@lru_cache(1 << 14)  # the parts of identifiers are few words
def stem(word: str) -> str:
    """Return the stem of an English word; `parsing` and `parsed` share one. Others stay."""
    if not _STEMMED.fullmatch(word):
        return word
    with _stemming:
        return str(_stemmer.stemWord(word))


def is_stop_word(word: str) -> bool:
    """True for a stop word, and for the name of a programming language."""
    return word in _JOINING or word in _LANGUAGES


def is_function_word(word: str) -> bool:
    """True for a word such as `the` or `with`, which only joins others."""
    return word in _JOINING


def document_terms(text: str) -> list[str]:
    """Return the tokens of a text, and the stem of each token that differs from it."""
    return _terms.of(text)


def query_terms(text: str) -> dict[str, float]:
    """Return the terms of a query with their weights. A word and its stem count once together."""
    weights: defaultdict[str, float] = defaultdict(float)
    for token, count in Counter(tokenize(text)).items():
        weight = count * (JOINING if is_stop_word(token) else 1.0)
        root = stem(token)
        weights[token] += weight if root == token else AS_WRITTEN * weight
        if root != token:
            weights[root] += (1.0 - AS_WRITTEN) * weight
    return weights


def query_words(text: str) -> dict[str, str]:
    """Return the words of a query, each with its stem; a chunk may contain either."""
    return {token: stem(token) for token in tokenize(text)}


def words_found(words: Mapping[str, str], terms: Set[str]) -> frozenset[str]:
    """Return those of `query_words` that are among the terms, themselves or by their stem."""
    return frozenset(word for word, root in words.items() if word in terms or root in terms)


def _with_stems(compound: str) -> tuple[str, ...]:
    tokens = _compound_tokens(compound)
    return (*tokens, *(root for token in tokens if (root := stem(token)) != token))


_tokens, _terms = Words(_compound_tokens), Words(_with_stems)

EXACT = Analysis(f"tokens-{TOKENIZER_VERSION}", _tokens, lambda text: Counter(tokenize(text)))
WORDS = Analysis(f"words-{TOKENIZER_VERSION}.{TERMS_VERSION}", _terms, query_terms, SHORTEST)


# The text of a chunk: a name and the author's summary say more than a line of the body, so both
# are repeated.

CHUNK_TEXT_VERSION = 4  # raise it when a chunk gives another text: indexes are then rebuilt
SUMMARY_TIMES = 2  # in addition to the content
_NAME_TIMES, _NAME_EVERY = 3, 50
_BEGINNING, _LONG = 120, 200  # characters; a text shorter than _LONG needs no beginning
_SUMMARY = 600  # characters of a summary
# A docstring in the first lines, or a leading comment. Possessive quantifiers keep a text of stars
# or spaces linear.
_DOCSTRING = lazy_pattern(r'[^\n]*(?:\n[^\n]*){0,12}?"""(.*?)"""', re.DOTALL)
_COMMENT = lazy_pattern(
    r"\s*+(?:/\*++(?:(?<=\*\*)/|(.*?)\*/)|((?:[ \t]*+(?://++!?|#++|--)[^\n]*+\n)+))", re.DOTALL
)


def indexed_name(chunk: Chunk) -> str:
    """Return the name of a chunk; of code outside definitions, the name of its file.

    The name of such a chunk lists what is in it, which the content says already.
    """
    is_module = chunk.kind is Kind.CODE and chunk.path and not chunk.qualified_name
    return PurePosixPath(chunk.path).stem if is_module else chunk.name


def name_times(chunk: Chunk) -> int:
    """How often the name is repeated, in addition to the content."""
    return 0 if _is_untitled(chunk) else _NAME_TIMES + len(chunk.content) // _NAME_EVERY


def chunk_labels(chunk: Chunk) -> str:
    """Return the qualified name, the signature and the path of a chunk.

    A text without a title has its first line instead of a name.
    """
    name, text = chunk.qualified_name, chunk.content
    if _is_untitled(chunk):
        name = text.lstrip()[:_BEGINNING].partition("\n")[0] if len(text) >= _LONG else ""
    return f"{name}\n{chunk.metadata.get('signature', '')}\n{chunk.telling_path}"


def _is_untitled(chunk: Chunk) -> bool:
    """True for prose whose name is neither a title nor a file name, or repeats the content."""
    is_named = bool(chunk.qualified_name or chunk.path)
    return chunk.kind.is_prose and (not is_named or chunk.content.startswith(chunk.name))


def chunk_summary(chunk: Chunk) -> str:
    """Return the docstring of code, or the comment above it."""
    if chunk.kind.is_prose:
        return ""
    match = _DOCSTRING.match(chunk.content) or _COMMENT.match(chunk.content)
    return next(filter(None, match.groups()), "")[:_SUMMARY] if match else ""


def chunk_text(chunk: Chunk) -> str:
    """Return the text that is indexed for a chunk."""
    names = f"{indexed_name(chunk)}\n" * name_times(chunk)
    summaries = f"\n{chunk_summary(chunk)}" * SUMMARY_TIMES
    return f"{names}{chunk_labels(chunk)}\n{chunk.content}{summaries}"
