"""SQLite's own text search, in three tiers (seed 001): words, trigrams for CJK, then LIKE.

Questions are taken apart into words first, so no text is a syntax error to FTS5. LIKE reads the
chunks themselves, never an FTS5 table: SQLite 3.40 gives wrong answers there.
"""

from __future__ import annotations

from collections.abc import Sequence

from aurora.errors import StoreError
from aurora.stores.sqlite_connection import is_missing
from aurora.stores.sqlite_database import MAY_BE_FOUND, SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite_rows import Row, like
from aurora.stores.words import find_terms, phrase_pattern, phrase_words
from aurora.text import has_cjk

_NAME_WEIGHT = 5.0  # a word in a name says what a chunk is about; in a text it may only be used
_TRIGRAM = 3  # shorter terms are in no trigram
_SHORTEST_LIKE = 3  # shorter words are part of nearly every text; seed 001

_RANKED = f"""
    SELECT {{table}}.rowid, bm25({{table}}, {_NAME_WEIGHT}, 1.0) AS rank
    FROM {{table}} LEFT JOIN reasoning ON reasoning.chunk = {{table}}.rowid
    WHERE {{table}} MATCH ? AND {MAY_BE_FOUND}
    ORDER BY rank, {{table}}.rowid LIMIT ?"""
_IN_NAME = "(name LIKE ? ESCAPE '!')"
_IN_EITHER = "(name LIKE ? ESCAPE '!' OR content LIKE ? ESCAPE '!')"
# LIKE is slow to see that CJK is not in a text without any, and AND would work out both sides.
_IN_CJK = f"CASE WHEN has_cjk THEN {_IN_EITHER} ELSE 0 END"
_CJK_ONLY = "AND has_cjk = 1"  # there is an index of just these


class SQLiteText(SQLiteDatabase):
    """The part of `Store` that is about words."""

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        terms = find_terms(text)
        found = self._by_index(terms, limit) if terms else []
        return found or self._by_like(terms, limit)

    def _by_index(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Best first by BM25; nothing when there is no FTS5."""
        quoted = [f'"{term}"' for term in terms]  # a term has no quotes of its own
        if not any(map(has_cjk, terms)):
            table, question = "chunks_words", " OR ".join(quoted)
        elif min(map(len, terms)) >= _TRIGRAM:
            table, question = "chunks_trigrams", " AND ".join(quoted)
        else:
            return []
        ranked = self._ask_index(_RANKED.format(table=table), (question, limit)) or []
        return [(row, abs(rank) / (1 + abs(rank))) for row, rank in ranked]

    def _by_like(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Each term by itself: more of them are better, and then more of them in the name."""
        kept = [term for term in terms if has_cjk(term) or len(term) >= _SHORTEST_LIKE]
        if not kept:
            return []
        sought = [like(term) for term in kept]
        found = (_IN_CJK if has_cjk(term) else _IN_EITHER for term in kept)
        in_names = " + ".join([_IN_NAME] * len(kept))
        points = f"{' + '.join(found)} + ({in_names}) / {len(kept) + 1}.0"
        which = _CJK_ONLY if all(map(has_cjk, kept)) else ""
        # The inner limit keeps SQLite from working the points out anew for every use of them.
        rows = self._rows(
            f"SELECT * FROM (SELECT chunks.rowid AS row, {points} AS points {SEARCHABLE} {which} "
            "LIMIT -1) WHERE points > 0 ORDER BY points DESC, row LIMIT ?",
            (*(term for term in sought for _ in range(2)), *sought, limit),
        )
        return [(row, points / (1 + points)) for row, points in rows]

    def _with_phrase(self, phrase: str) -> set[int] | None:
        """The rows that have these words next to each other; None if there is no word."""
        words = phrase_words(phrase)
        if not words:
            return None
        if any(map(has_cjk, words)):
            return self._read_for(words, _CJK_ONLY)
        question = f'"{" ".join(words)}"'
        found = self._ask_index(
            "SELECT rowid FROM chunks_words WHERE chunks_words MATCH ?", (question,)
        )
        if found is None:
            return self._read_for(words)
        # To the index, `token` without a space beside CJK text is part of one long word.
        return {row for (row,) in found} | self._read_for(words, _CJK_ONLY)

    def _read_for(self, words: Sequence[str], which: str = "") -> set[int]:
        """The same from the texts. LIKE, whose case is that of ASCII, only narrows down."""
        sought = like(*(word for word in words if word.isascii() or has_cjk(word)))
        rows = self._rows(
            f"SELECT chunks.rowid, name, content {SEARCHABLE} {which} AND {_IN_EITHER}",
            (sought, sought),
        )
        if not rows:  # as nearly always: to compile the pattern takes 20 ms
            return set()
        pattern = phrase_pattern(words)
        return {
            row for row, name, content in rows if pattern.search(name) or pattern.search(content)
        }

    def _ask_index(self, sql: str, values: Sequence[object]) -> list[Row] | None:
        """What an FTS5 table answers; None when it is not there, or SQLite was built without."""
        try:
            return self._rows(sql, values)
        except StoreError as exc:
            if is_missing(exc.__cause__):
                return None
            raise
