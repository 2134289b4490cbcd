"""Where the next page begins: a word that a client hands back as it got it.

It names the search it belongs to, so that it cannot be used with another one, and the memory's
generation, so that a page that comes after a change says so.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import NamedTuple

from aurora.errors import QueryError


class Cursor(NamedTuple):
    """How much was given (results, or characters), in which generation."""

    offset: int = 0
    generation: int = 0

    def word(self, asked: object) -> str:
        plain = json.dumps([self.offset, self.generation, _digest(asked)])
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def read_cursor(word: str, asked: object, *, deepest: int) -> Cursor:
    """Raises `QueryError` for what is no cursor, or that of another search. Anybody can make one
    up, so it leads no deeper than so far."""
    if not word:
        return Cursor()
    offset, generation, digest = _decoded(word)
    if type(offset) is not int or type(generation) is not int or not 0 < offset <= deepest:
        raise _none_of_ours()
    if digest != _digest(asked):
        raise QueryError(
            "The cursor belongs to another search, or to a text that has changed",
            hint="ask with the same words and filters as for the page before, or begin anew",
        )
    return Cursor(offset, generation)


def _decoded(word: str) -> tuple[object, object, object]:
    try:
        plain = base64.urlsafe_b64decode(word.encode("ascii") + b"=" * (-len(word) % 4))
        offset, generation, digest = json.loads(plain)
    except (ValueError, TypeError, RecursionError) as exc:
        raise _none_of_ours() from exc
    return offset, generation, digest


def _none_of_ours() -> QueryError:
    hint = "hand back `next_cursor` of the page before"
    return QueryError("The cursor is none of ours", hint=hint)


def _digest(asked: object) -> str:
    return hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()[:12]
