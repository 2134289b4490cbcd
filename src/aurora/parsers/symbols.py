"""Finds the named definitions of a file: also those that are too small for a chunk of their own.

A grammar lists them as a tree-sitter query: the capture `name` is the name, the other capture is
the definition, and its own name is the kind. Some captures depend on the place: `variable` is a
field inside a class and a local inside a function, `instance` is a field that a method assigns,
`prototype` is a function without a body, and `scope` is a function without a name. An `import` is
no definition: it is in another file.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import tree_sitter

from aurora.types import Json

if TYPE_CHECKING:
    from tree_sitter import Language, Node

    from aurora.parsers.base import Source

MAX_SYMBOLS = 300  # in one chunk
_MAX_DEPTH = 50  # functions between a class and an assignment to one of its fields
_LONGEST_NAME = 100  # characters; the title of a test may be long
_TIMEOUT = 2_000_000  # microseconds; the largest files of real code take a tenth of it
_CLASSES = frozenset({"class", "type"})
_FUNCTIONS = frozenset({"function", "method", "scope"})
_SCOPES = _CLASSES | _FUNCTIONS
_LOCALS = frozenset({"variable", "constant", "field", "member", "prototype"})  # in a function
_UNNAMED = frozenset({"", "_"})
_ONCE = frozenset({"variable", "instance"})  # the first assignment defines it


class FoundSymbol(NamedTuple):
    """A named definition in bytes of the file: `at` is its name."""

    name: str
    kind: str
    at: int
    end: int


class _Match(NamedTuple):
    """A match of the query; an empty name is that of a `scope`."""

    start: int
    end: int
    pattern: int
    kind: str
    at: int
    name: str


class SymbolFinder:
    """Finds the symbols of one language."""

    def __init__(self, language: Language, query: str) -> None:
        self._query = tree_sitter.Query(language, query)

    def find(self, root: Node, source: Source) -> list[FoundSymbol]:
        """List the symbols of a tree in the order of the text, without locals."""
        with warnings.catch_warnings():
            # As for the parser: the callback that replaces it crashes the interpreter.
            warnings.simplefilter("ignore", DeprecationWarning)
            cursor = tree_sitter.QueryCursor(self._query, timeout_micros=_TIMEOUT)
        matches = [_match(*match, source) for match in cursor.matches(root)]
        matches.sort(key=lambda match: (match.start, -match.end, match.pattern))
        return sorted(_without_locals(matches), key=attrgetter("at"))


def _match(pattern: int, captures: dict[str, list[Node]], source: Source) -> _Match:
    names = captures.pop("name", None)
    captures.pop("verb", None)
    kind, (node, *_) = captures.popitem()
    if not names:
        return _Match(node.start_byte, node.end_byte, pattern, kind, node.start_byte, "")
    text = source.text(names[0].start_byte, names[0].end_byte).strip(" \t\n'\"`#@:")
    name = " ".join(text[:_LONGEST_NAME].split())
    return _Match(node.start_byte, node.end_byte, pattern, kind, names[0].start_byte, name)


def _without_locals(matches: Sequence[_Match]) -> Iterator[FoundSymbol]:
    """Walk from the outside in. Of several patterns for one name, the first one counts."""
    around: list[_Match] = []
    seen: set[int] = set()
    assigned: set[tuple[int, str]] = set()
    for match in matches:
        while around and around[-1].end <= match.start:
            around.pop()
        inner, inner_start = (around[-1].kind, around[-1].start) if around else ("", -1)
        is_new = match.name not in _UNNAMED and match.at not in seen
        if is_new and not (inner in _FUNCTIONS and _is_local(match)):
            seen.add(match.at)
            owned = (_owner(around) if match.kind == "instance" else inner_start, match.name)
            is_first = match.kind not in _ONCE or owned not in assigned
            if is_first and match.kind != "import":
                yield FoundSymbol(match.name, _kind(match, inner), match.at, match.end)
            assigned.add(owned)
        if match.kind in _SCOPES:
            around.append(match)


def _is_local(match: _Match) -> bool:
    """A constant in capitals is a definition, also in a function: `static LIMIT: u8` in Rust."""
    return match.kind in _LOCALS and not (match.kind == "constant" and match.name.isupper())


def _owner(around: Sequence[_Match]) -> int:
    """Where the class around a method starts; without one, the outermost function."""
    near = around[: -_MAX_DEPTH - 1 : -1]  # endless nesting would take quadratic time
    classes = (match.start for match in near if match.kind in _CLASSES)
    return next(classes, around[0].start if around else -1)


def _kind(match: _Match, inner: str) -> str:
    kind = {"prototype": "function", "instance": "field"}.get(match.kind, match.kind)
    if kind == "function" and inner in _CLASSES:
        return "method"
    if kind == "variable" and match.name.isupper():
        return "constant"
    return "field" if kind == "variable" and inner in _CLASSES else kind


class SymbolTable:
    """The symbols of one file, by their place."""

    def __init__(self, symbols: Sequence[FoundSymbol], source: Source) -> None:
        self._symbols, self._source = symbols, source
        self._places = [symbol.at for symbol in symbols]

    def between(self, start: int, end: int) -> Sequence[FoundSymbol]:
        return self._symbols[bisect_left(self._places, start) : bisect_left(self._places, end)]

    def listed(self, symbols: Sequence[FoundSymbol]) -> list[Json]:
        """The form in which a chunk's metadata has them."""
        lines = (self._source.lines(symbol.at, symbol.end) for symbol in symbols[:MAX_SYMBOLS])
        return [
            [symbol.name, symbol.kind, start, end]
            for symbol, (start, end) in zip(symbols, lines, strict=False)
        ]


def outside(symbols: Sequence[FoundSymbol], spans: Sequence[tuple[int, int]]) -> list[FoundSymbol]:
    """Those that lie in none of the spans, which are in order and do not overlap."""
    starts = [start for start, _ in spans]
    kept = []
    for symbol in symbols:
        before = bisect_right(starts, symbol.at) - 1
        if before < 0 or symbol.at >= spans[before][1]:
            kept.append(symbol)
    return kept
