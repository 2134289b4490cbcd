"""Signals that the store looks up: definitions by their name, and the store's own text search.

The levels of `exact` lie in [0, 1]. From `SPELT` down to `ASSUMED` the whole query is the name of a
function, method or class: fusion puts those before everything else. `NAMED` is weaker: an
identifier inside a longer query, or a note whose heading is the query.

`fulltext` is FTS5 in SQLite and tsvector in PostgreSQL (seed 001), with raw scores in [0, 1). It is
slower than `bm25` on large memories, but needs no index file, and it finds parts of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from aurora.signals.base import Question, SparseScores
from aurora.stores.base import Definition, Store
from aurora.text import fold_name
from aurora.types import Kind

SPELT = 1.0  # as written
FOLDED = 0.75  # except for capitals and separators: getUserData for get_user_data
ASSUMED = 0.5  # `app.route` where no App is known: the qualifier may be a variable
NAMED = 0.2

_DEFINING = frozenset((Kind.FUNCTION, Kind.METHOD, Kind.CLASS))
_MOST = 200  # chunks of one name; a more common name does not say which one is meant
_LONGEST = 200  # characters of a query that may be one name
_SEPARATOR = re.compile(r"\.|::|->|[#/:\\]")
_CALL = re.compile(r"\([^()]*\)?$")
# An identifier is not an English word: it has a hump, an underscore, a separator or a call.
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)\w+)*(?:\(\))?")
_CODE_LIKE = re.compile(r"_|[a-z0-9][A-Z]|\.\w|::|->|#|\(\)$|[A-Za-z]\d")

_DEEPEST = 1000  # rows of a text search


class FulltextSignal:
    """Searches text in the store. Chunks beyond the first thousand have no score."""

    name = "fulltext"

    def __init__(self, store: Store) -> None:
        self._store = store

    def score(self, question: Question) -> SparseScores:
        return SparseScores(dict(self._store.search.find_text(question.text, limit=_DEEPEST)))


class ExactSignal:
    """Looks up names in the store."""

    name = "exact"

    def __init__(self, store: Store) -> None:
        self._store = store

    def score(self, question: Question) -> SparseScores:
        query = question.text.strip()
        levels = self._look_up(query) if len(query) <= _LONGEST else {}
        for word in _identifiers(query):
            for row in self._look_up(word):
                levels.setdefault(row, NAMED)
        return SparseScores(levels)

    def _look_up(self, name: str) -> dict[int, float]:
        """Row → level of the chunks with this name."""
        parts = [part for part in _SEPARATOR.split(_CALL.sub("", name)) if part]
        if not parts:
            return {}
        definitions = self._store.search.find_definitions(parts[-1], limit=_MOST + 1)
        if len(definitions) > _MOST:
            return {}
        levels = {d.row: _level(d, parts) for d in definitions if _is_qualified(d, parts)}
        return levels or self._joined(parts) or {d.row: _at_most(ASSUMED, d) for d in definitions}

    def _joined(self, parts: Sequence[str]) -> dict[int, float]:
        """`get.user.data` for a chunk named `get_user_data` or `getUserData`."""
        if len(parts) == 1:
            return {}
        definitions = self._store.search.find_definitions("".join(parts), limit=_MOST)
        return {definition.row: _at_most(FOLDED, definition) for definition in definitions}


def _identifiers(text: str) -> Iterator[str]:
    """Words of a longer text that look like code."""
    words = _IDENTIFIER.findall(text)
    return (word for word in dict.fromkeys(words) if word != text and _CODE_LIKE.search(word))


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
    return level if definition.kind in _DEFINING else NAMED
