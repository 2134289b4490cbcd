"""PostgreSQL's own text search: our tokens by the GIN index, then LIKE for parts of words.

Questions are taken apart into words first, and each is quoted, so no text is a syntax error to
tsquery. Words are asked with OR: with AND a question in plain language finds next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from aurora.stores.postgres.database import PostgresDatabase
from aurora.stores.postgres.nul import show
from aurora.stores.postgres.rows import like
from aurora.stores.postgres.words import any_of, in_a_row
from aurora.stores.words import find_terms, phrase_pattern, phrase_words
from aurora.text import has_cjk, tokenize

# Of D, C, B and A: a word in a name says what a chunk is about; in a text it may only be used.
_WEIGHTS = "'{0.1, 0.6, 0.7, 1.0}'"
_COMPLETE = 3  # characters: a longer run of CJK says all that is meant, so all of it must be there
_SHORTEST_LIKE = 3  # shorter words are part of nearly every text; seed 001

# 32 brings a rank r to r / (r + 1); the order stays (seed 004).
_RANKED = f"""
    SELECT "row", ts_rank_cd({_WEIGHTS}, tsv, %(query)s::tsquery, 32) AS rank
    FROM words WHERE tsv @@ %(query)s::tsquery
    ORDER BY rank DESC, "row" LIMIT %(limit)s"""
_IN_NAME = "(name ILIKE {} ESCAPE '!')::int"
_IN_EITHER = "(name ILIKE {} ESCAPE '!' OR content ILIKE {} ESCAPE '!')"


class PostgresText(PostgresDatabase):
    """The part of `Store` that is about words."""

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        terms = find_terms(text)
        query = _as_query(terms)
        found = self._rows(_RANKED, {"query": query, "limit": limit}) if query else []
        return [(row, float(rank)) for row, rank in found] or self._by_like(terms, limit)

    def _by_like(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Each term by itself: more of them are better, and then more of them in the name."""
        kept = [term for term in terms if has_cjk(term) or len(term) >= _SHORTEST_LIKE]
        if not kept:
            return []
        values: dict[str, object] = {f"t{at}": like(term) for at, term in enumerate(kept)}
        marks = [f"%({name})s" for name in values]
        found = " + ".join(f"{_IN_EITHER.format(mark, mark)}::int" for mark in marks)
        named = " + ".join(map(_IN_NAME.format, marks))
        which = "AND has_cjk" if all(map(has_cjk, kept)) else ""
        rows = self._rows(
            'SELECT "row", points FROM (SELECT "row", '
            f"({found}) + ({named})::float8 / {len(kept) + 1} AS points "
            f"FROM chunks WHERE is_found {which} OFFSET 0) AS judged "
            'WHERE points > 0 ORDER BY points DESC, "row" LIMIT %(limit)s',
            {**values, "limit": limit},
        )
        return [(row, points / (1 + points)) for row, points in rows]

    def _with_phrase(self, phrase: str) -> set[int] | None:
        """ILIKE narrows down; the pattern decides, as in every store."""
        words = phrase_words(phrase)
        if not words:
            return None
        sought = like(*(word for word in words if word.isascii() or has_cjk(word)))
        which = "AND has_cjk" if any(map(has_cjk, words)) else ""
        rows = self._rows(
            'SELECT "row", name, content FROM chunks '
            f"WHERE is_found {which} AND {_IN_EITHER.format('%s', '%s')}",
            (sought, sought),
        )
        if not rows:
            return set()
        pattern = phrase_pattern(words)
        return {
            row
            for row, name, content in rows
            if pattern.search(show(name)) or pattern.search(show(content))
        }


def _as_query(terms: Sequence[str]) -> str:
    """A tsquery of quoted words; empty where the index could not answer for all of them."""
    if any(has_cjk(term) and len(term) == 1 for term in terms):
        return ""  # the index has pairs of characters
    if any(map(has_cjk, terms)) and min(map(len, terms)) >= _COMPLETE:
        return " & ".join(in_a_row(tokenize(term)) for term in terms if tokenize(term))
    runs = [in_a_row(tokenize(term)) for term in terms if has_cjk(term)]
    words = [token for term in terms if not has_cjk(term) for token in tokenize(term)[:1]]
    return " | ".join(filter(None, [*runs, any_of(dict.fromkeys(words))]))
