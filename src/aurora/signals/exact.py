"""Signals that the store looks up: definitions by their name, and the store's own text search.

The levels of `exact` lie in [0, 1]. A higher level comes first, whatever the other signals say,
down to `MENTIONED`; `HEADED` only helps. At each level code comes before tests, whole definitions
before pieces and overloads, classes and functions before methods, and those before symbols inside a
chunk.

`fulltext` is FTS5 in SQLite and tsvector in PostgreSQL (seed 001), with raw scores in [0, 1). It is
slower than `bm25` on large memories, but needs no index file, and it finds parts of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache

from aurora.lazy_patterns import lazy_pattern
from aurora.signals.base import Question, SparseScores
from aurora.stores.base import Definition, SearchedStore
from aurora.text import fold_name, tokenize
from aurora.types import Kind, Symbol

SPELT = 1.0  # the query is the name, as written
FOLDED = 0.8  # except for capitals and separators: getUserData for get_user_data
ASSUMED = 0.6  # `app.route` where no App is known: the qualifier may be a variable
INSIDE = 0.5  # the definition of an identifier inside a longer query
MENTIONED = 0.3  # the chunk contains the identifiers of the query; less if only some
HEADED = 0.2  # a note whose heading is the query

_STEP = 0.01  # between two definitions at one level
_SOME = 0.05  # what a chunk without any of the identifiers would lose
_MOST = 200  # definitions of one name; a more common name does not say which one is meant
_MOST_INSIDE = 12
_LONGEST = 200  # characters of a query that may be one name
_SEPARATOR = lazy_pattern(r"\.|::|->|[#/:\\]")
_CALL = lazy_pattern(r"\([^()]*\)?$")
# An identifier is not an English word: it has a hump, an underscore, a separator or a call.
_IDENTIFIER = lazy_pattern(r"[^\W\d]\w*(?:(?:\.|::|->|#)\w+)*(?:\(\))?")
_CODE_LIKE = lazy_pattern(r"_|[a-z0-9][A-Z]|\.\w|::|->|#|\(\)$|[A-Za-z]\d")
_SURELY_CODE = lazy_pattern(r"\w_\w|[a-z0-9][A-Z]|::|->|\(\)$")  # neither `Node.js` nor `utf8`

_DEEPEST = 1000  # rows of a text search


class FulltextSignal:
    """Searches text in the store. Chunks beyond the first thousand have no score."""

    name = "fulltext"

    def __init__(self, store: SearchedStore) -> None:
        self._store = store

    def score(self, question: Question) -> SparseScores:
        return SparseScores(dict(self._store.search.find_text(question.text, limit=_DEEPEST)))


class ExactScores(SparseScores):
    """Levels by row. `symbols` are the definitions inside the chunks, where these are meant."""

    def __init__(self, levels: Mapping[int, float], symbols: Mapping[int, Symbol]) -> None:
        super().__init__(levels)
        self.symbols = symbols


class ExactSignal:
    """Looks up names in the store."""

    name = "exact"

    def __init__(self, store: SearchedStore) -> None:
        self._store = store

    def score(self, question: Question) -> ExactScores:
        query, words = question.text.strip(), frozenset(tokenize(question.text))
        found = self._look_up(query) if len(query) <= _LONGEST else []
        named = any(leads(level) for _, level in found)
        for word in identifiers(query) if not named else ():
            inside = [(definition, min(INSIDE, at)) for definition, at in self._look_up(word)]
            found += inside if len(inside) <= _MOST_INSIDE else ()
        levels: dict[int, float] = {}
        symbols: dict[int, Symbol] = {}
        for definition, given in found:
            level = given - (_STEP * _place(definition, words) if leads(given) else 0.0)
            if level > levels.get(definition.row, 0.0):
                levels[definition.row] = level
                if definition.symbol:
                    symbols[definition.row] = definition.symbol
                else:
                    symbols.pop(definition.row, None)
        return ExactScores(levels, symbols)

    def _look_up(self, name: str) -> list[tuple[Definition, float]]:
        """The definitions with this name, and their levels."""
        parts = [part for part in _SEPARATOR.split(_CALL.sub("", name)) if part]
        if not parts:
            return []
        definitions = self._store.search.find_definitions(parts[-1], limit=_MOST + 1)
        if len(definitions) > _MOST:
            return []
        levels = [(d, _level(d, parts)) for d in definitions if _is_qualified(d, parts)]
        return levels or self._joined(parts) or [(d, _at_most(ASSUMED, d)) for d in definitions]

    def _joined(self, parts: Sequence[str]) -> list[tuple[Definition, float]]:
        """`get.user.data` for a chunk named `get_user_data` or `getUserData`."""
        if len(parts) == 1:
            return []
        definitions = self._store.search.find_definitions("".join(parts), limit=_MOST)
        return [(definition, _at_most(FOLDED, definition)) for definition in definitions]


def identifiers(text: str) -> list[str]:
    """Words of a text that look like code."""
    return [word for word in dict.fromkeys(_IDENTIFIER.findall(text)) if _CODE_LIKE.search(word)]


def mentions(text: str) -> list[str]:
    """Tokens of the identifiers in a query: chunks with them come before chunks without."""
    words = [word for word in identifiers(text) if _SURELY_CODE.search(word)]
    if not words and _IDENTIFIER.fullmatch(text.strip()):
        words = [text.strip()]
    lasts = (_SEPARATOR.split(_CALL.sub("", word))[-1] for word in words)
    return list(dict.fromkeys(last.casefold() for last in lasts if last))


def has_identifier(text: str) -> bool:
    """Whether a query surely asks for a name: `AsyncSession`, but neither `Node.js` nor `retry`."""
    return bool(identifiers(text) and mentions(text))


def mention_level(found: int, wanted: int) -> float:
    return MENTIONED - _SOME * (1.0 - found / wanted) if found else 0.0


def leads(level: float) -> bool:
    """Whether a chunk with this level comes before all chunks with a lower one."""
    return level > HEADED


def is_named(level: float) -> bool:
    """Whether the whole query is the name of the definition."""
    return level > INSIDE


def is_inside(level: float) -> bool:
    return MENTIONED < level <= INSIDE


def is_mentioned(level: float) -> bool:
    return HEADED < level <= MENTIONED


def _place(definition: Definition, words: frozenset[str]) -> int:
    """The order of definitions at one level. A symbol is whole, also in a piece of its class."""
    kind = 2 if definition.symbol else 1 if definition.kind is Kind.METHOD else 0
    is_piece = not (definition.is_whole or definition.symbol)
    is_aside = stands_aside(definition.path, words, definition.qualified_name)
    return 8 * is_aside + 4 * is_piece + kind


def _is_qualified(definition: Definition, parts: Sequence[str]) -> bool:
    """True when all qualifiers of the query precede the chunk's name, in order."""
    return _in_order(map(fold_name, parts[:-1]), map(fold_name, _qualifiers(definition)))


def _level(definition: Definition, parts: Sequence[str]) -> float:
    """`Flask.route` is `SPELT` in the class `Flask`, `FOLDED` in the folder `flask`."""
    spelt = definition.name == parts[-1] and _in_order(parts[:-1], _qualifiers(definition))
    return _at_most(SPELT if spelt else FOLDED, definition)


def _qualifiers(definition: Definition) -> Sequence[str]:
    name = definition.qualified_name or definition.name
    return _SEPARATOR.split(f"{definition.path}.{name}")[:-1]


def _in_order(wanted: Iterable[str], parts: Iterable[str]) -> bool:
    rest = iter(parts)
    return all(part in rest for part in wanted)


def _at_most(level: float, definition: Definition) -> float:
    """A note's heading, and a chunk of code that is named after what it holds, only help."""
    defines = definition.symbol or not (definition.kind.is_prose or definition.kind is Kind.CODE)
    return level if defines else HEADED


# Code that stands behind the code it is about


_INNER_TESTS = lazy_pattern(r"(?:^|\.)tests?\.")
# Paths of such code, and the words of a query that ask for it.
_ASIDE = {
    lazy_pattern(
        r"(?:^|/)(?:tests?|testing|specs?|__tests__|testdata|test_data|fixtures?)/"
        r"|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|[.-]test|[.-]spec|[a-z]Tests?)|conftest)\.\w+$"
    ): frozenset(("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock")),
    lazy_pattern(r"(?:^|/)_?(?:examples?|samples?|demos?|tutorials?|playground|docs?|docs_src)/"):
        frozenset(("example", "examples", "sample", "demo", "tutorial", "docs", "documentation")),
    lazy_pattern(
        r"(?:^|/)(?:vendor|vendored|_vendor|third_party|thirdparty|node_modules|dist|build|compat"
        r"|_compat|legacy|deprecated|generated|migrations)/"
        r"|\.min\.\w+$|\.d\.ts$|\.pb\.\w+$|_pb2(?:_grpc)?\.py$|[._]generated\.|\.g\.\w+$"
    ): frozenset(
        ("vendor", "vendored", "generated", "build", "compat", "compatibility", "legacy",
         "deprecated", "migration", "migrations", "types", "typings", "protobuf")
    ),
}  # fmt: skip


def stands_aside(path: str, words: Set[str], qualified_name: str = "") -> bool:
    """Whether a definition is a test, an example or generated, and the query asks for none."""
    # The tests of a Rust file are in its module `tests`.
    where = f"tests/{path}" if _INNER_TESTS.search(qualified_name) else path
    return any(map(words.isdisjoint, _asking_for(where)))


@lru_cache(maxsize=20_000)  # paths: a search has a hundred, many of them again and again
def _asking_for(path: str) -> tuple[frozenset[str], ...]:
    return tuple(asking for pattern, asking in _ASIDE.items() if pattern.search(path))
