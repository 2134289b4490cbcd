"""The definition of what was asked for: the query is, or contains, a chunk's own name.

Raw levels lie in [0, 1]. From `SPELT` down to `ASSUMED` the whole query is the name of a function,
method or class: fusion puts those before everything else. `NAMED` is less than that: an identifier
inside a longer query, or a note whose heading says just what was asked.

The store's own text search as a signal: FTS5 in SQLite, tsvector in PostgreSQL (seed 001).

Raw scores lie in [0, 1). Slower than `bm25` on large memories, but it needs no index beside the
store, and it finds parts of words where whole ones find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from aurora.signals.base import Question
from aurora.signals.matches import SparseAnswer
from aurora.stores.base import Definition, Store
from aurora.text import fold_name
from aurora.types import Kind

SPELT = 1.0  # as it was written
FOLDED = 0.75  # but for capitals and separators: getUserData for get_user_data
ASSUMED = 0.5  # `app.route` where no App is known: the qualifier may be a variable
NAMED = 0.2

_DEFINING = frozenset((Kind.FUNCTION, Kind.METHOD, Kind.CLASS))
_MOST = 200  # chunks of one name; with more of them, it does not say which one is meant
_LONGEST = 200  # characters of a query that may be one name
_SEPARATOR = re.compile(r"\.|::|->|[#/:\\]")
_CALL = re.compile(r"\([^()]*\)?$")
# A word that is no English one: with a hump, an underscore, a separator or a call behind it.
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)\w+)*(?:\(\))?")
_CODE_LIKE = re.compile(r"_|[a-z0-9][A-Z]|\.\w|::|->|#|\(\)$|[A-Za-z]\d")


class ExactSignal:
    """Looks names up in the store, which has an index of them."""

    name = "exact"

    def __init__(self, store: Store) -> None:
        self._store = store

    def ask(self, question: Question) -> SparseAnswer:
        whole = question.text.strip()
        levels = self._whole(whole) if len(whole) <= _LONGEST else {}
        for word in _identifiers(whole):
            for row in self._whole(word):
                levels.setdefault(row, NAMED)
        return SparseAnswer(levels)

    def _whole(self, asked: str) -> dict[int, float]:
        """Levels of the chunks whose name this is."""
        parts = [part for part in _SEPARATOR.split(_CALL.sub("", asked)) if part]
        if not parts:
            return {}
        found = self._store.search.find_definitions(parts[-1], limit=_MOST + 1)
        if len(found) > _MOST:
            return {}
        qualified = [one for one in found if _is_qualified(one, parts)]
        levels = {one.row: _level(one, parts) for one in qualified}
        return levels or self._joined(parts) or {one.row: _at_most(ASSUMED, one) for one in found}

    def _joined(self, parts: Sequence[str]) -> dict[int, float]:
        """`get.user.data` for what is spelt `get_user_data` or `getUserData`."""
        if len(parts) == 1:
            return {}
        found = self._store.search.find_definitions("".join(parts), limit=_MOST)
        return {one.row: _at_most(FOLDED, one) for one in found}


def _identifiers(text: str) -> Iterator[str]:
    """Words of a longer text that are code."""
    words = _IDENTIFIER.findall(text)
    return (word for word in dict.fromkeys(words) if word != text and _CODE_LIKE.search(word))


def _is_qualified(one: Definition, parts: Sequence[str]) -> bool:
    """Whether all that stands before the name is found, in order, in front of the chunk's own."""
    return _in_order(map(fold_name, parts[:-1]), map(fold_name, _in_front(one)))


def _level(one: Definition, parts: Sequence[str]) -> float:
    """`Flask.route` is the class's as it is spelt; in the folder `flask`, only once folded."""
    spelt = one.name == parts[-1] and _in_order(parts[:-1], _in_front(one))
    return _at_most(SPELT if spelt else FOLDED, one)


def _in_front(one: Definition) -> Sequence[str]:
    return _SEPARATOR.split(f"{one.path}.{one.qualified_name or one.name}")[:-1]


def _in_order(sought: Iterable[str], there: Iterable[str]) -> bool:
    rest = iter(there)
    return all(part in rest for part in sought)


def _at_most(level: float, one: Definition) -> float:
    return level if one.kind in _DEFINING else NAMED


_DEEPEST = 1000  # rows a text search returns; those beyond are no answer to anything


class FulltextSignal:
    """Asks the store. A chunk beyond the first thousand has no score."""

    name = "fulltext"

    def __init__(self, store: Store) -> None:
        self._store = store

    def ask(self, question: Question) -> SparseAnswer:
        return SparseAnswer(dict(self._store.search.find_text(question.text, limit=_DEEPEST)))
