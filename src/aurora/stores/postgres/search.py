"""`Search` in PostgreSQL: criteria, names, text search, places and uses.

The text search uses Aurora's own tokens in a GIN index, then ILIKE for parts of words. Queries are
split into words first, and each is quoted, so that no text is a syntax error to tsquery. Words are
combined by OR: with AND, a query in plain language finds next to nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import Uses
from aurora.stores.matching import (
    find_terms,
    fitting_paths,
    like,
    metadata_fits,
    phrase_words,
    place_of,
)
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.rows import (
    UNLISTED,
    any_of,
    as_json,
    in_a_row,
    quote,
    read_metadata,
)
from aurora.stores.postgres.schema import SYMBOL_START
from aurora.stores.searching import SearchPart, with_phrase
from aurora.stores.shared import Parameters
from aurora.text import has_cjk, is_text, tokenize
from aurora.types import Kind, Place

# Text search
# Weights of D, C, B and A: a word in a name tells more about a chunk than a word in its text.
_WEIGHTS = "'{0.1, 0.6, 0.7, 1.0}'"
_COMPLETE = 3  # characters: all of a CJK run this long must be there
# Normalization 32 turns a rank r into r / (r + 1) and keeps the order.
_RANKED = f"""
    SELECT "row", ts_rank_cd({_WEIGHTS}, tsv, %(query)s::tsquery, 32) AS rank
    FROM words WHERE tsv @@ %(query)s::tsquery
    ORDER BY rank DESC, "row" LIMIT %(limit)s"""
# Parts of words. Each word of a text is in a word of the index, but for those of UNLISTED chunks.
_LISTED = "SELECT DISTINCT term FROM terms WHERE term LIKE ? ESCAPE '!'"
_WHOLE = " AND (term = ? OR strpos('_' || term || '_', '_' || ? || '_') > 0)"
_MOST_LISTED = 20_000  # words of the index that contain a part; with more, texts are read
_SHORTEST_PART = 3  # characters, as in a trigram
# Word by word: a query of hundreds of words takes the square of their number.
_HAVING = """AND chunks."row" = ANY(ARRAY(
    SELECT words."row" FROM unnest(?::text[]) AS listed (word), words
    WHERE tsv @@ word::tsquery))"""
# In a text of ASCII, the server compares a phrase of ASCII as `phrase_pattern` does. It returns
# other texts, as far as LIKE selects them.
_BETWEEN = "[^a-zA-Z0-9]"
_IS_PLAIN = "octet_length(name) + octet_length(content) = length(name) + length(content)"
_WITH_PHRASE = f"""
    SELECT "row", CASE WHEN NOT is_plain THEN name END, CASE WHEN NOT is_plain THEN content END
    FROM (SELECT "row", name, content, {_IS_PLAIN} AS is_plain FROM chunks
          WHERE is_found {{having}} OFFSET 0) AS read
    WHERE CASE WHEN is_plain THEN name ~* ? OR content ~* ?
               ELSE name ILIKE ? ESCAPE '!' OR content ILIKE ? ESCAPE '!' END"""
# Criteria
_LABELS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "namespace",
    "document_type": "document_type",
}
_COMMITTED_SINCE = 'SELECT "row" FROM histories WHERE commits[cardinality(commits)] >= %s'
_MODIFIED_SINCE = """
    SELECT chunks."row" FROM files JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories USING ("row", namespace)
    WHERE files.checkout = %s AND files.modified_ns / 1e9 >= %s AND (
        histories.uncommitted
        OR (coalesce(cardinality(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""

# Signals
_USES = """
    SELECT chunks."row",
        (SELECT array_agg(extract(epoch FROM at)::float8 ORDER BY at) FROM accesses
         WHERE accesses."row" = chunks."row" AND accesses.namespace = chunks.namespace),
        histories.commits
    FROM chunks LEFT JOIN histories USING ("row", namespace)
    WHERE is_found AND chunks."row" IN ?"""
_PLACES = """
    SELECT "row", id, kind, path, namespace,
        metadata ->> 'source', metadata ->> 'session', metadata ->> 'seq', metadata ->> 'project',
        qualified_name
    FROM chunks WHERE "row" IN ?"""
_DATED = """
    SELECT "row", path FROM chunks WHERE is_found AND kind = %s
        AND path ~ '[0-9]{4}-[0-9]{2}-[0-9]{2}'
        AND metadata ->> 'source' IS DISTINCT FROM 'conversation'"""


class PostgresSearch(SearchPart[Database]):
    """`Search` in one schema."""

    cjk_only = "AND has_cjk"
    has_symbol = f"symbol_names(metadata) @> ARRAY[left(?, {SYMBOL_START})]"

    # Text

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        terms = find_terms(text)
        query = _as_query(terms)
        rows = self._database.rows(_RANKED, {"query": query, "limit": limit}) if query else []
        return [(row, float(rank)) for row, rank in rows] or self.find_by_like(terms, limit)

    def rows_with_phrase(self, phrase: str) -> set[int] | None:
        words = phrase_words(phrase)
        if not words:
            return None
        return self.rows_by_text(words, self.cjk_only if any(map(has_cjk, words)) else "")

    def rows_by_text(self, words: Sequence[str], condition: str = "") -> set[int]:
        if not all(map(str.isascii, words)):
            return super().rows_by_text(words, condition)
        having, values = self.having_words(words)
        exact = f"(^|{_BETWEEN}){f'{_BETWEEN}+'.join(words)}({_BETWEEN}|$)"
        rows = self._database.rows(
            _WITH_PHRASE.format(having=having),
            (*values, exact, exact, like(*words), like(*words)),
        )
        unread = [row for row in rows if row[1] is not None]
        return {row for row, name, _ in rows if name is None} | with_phrase(words, unread)

    def having_words(self, words: Sequence[str]) -> tuple[str, Parameters]:
        known = (self._listed(word, whole=True) for word in words)
        listed = [_quoted(terms) for terms in known if terms is not None]
        return " ".join([_HAVING] * len(listed)), listed

    def having_parts(self, parts: Sequence[str]) -> tuple[str, Parameters]:
        listed = [self._listed(part, whole=False) for part in parts]
        terms = {term for terms in listed if terms is not None for term in terms}
        return (_HAVING, [_quoted(terms)]) if None not in listed else ("", ())

    def _listed(self, part: str, *, whole: bool) -> list[str] | None:
        """The words of the index that contain a part; None if they are unknown or too many."""
        if len(part) < _SHORTEST_PART or not part.isascii():
            return None
        word = part.lower()
        condition, values = (_LISTED + _WHOLE, (word, word)) if whole else (_LISTED, ())
        rows = self._database.rows(f"{condition} LIMIT ?", (like(word), *values, _MOST_LISTED + 1))
        return [term for (term,) in rows] if len(rows) <= _MOST_LISTED else None

    # Criteria

    def all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _row_numbers(self, condition: str, values: Parameters = ()) -> set[int]:
        """Searchable rows with `condition`, an `AND …`."""
        sql = f'SELECT array_agg("row") FROM chunks WHERE is_found {condition}'
        return set(self._database.rows(sql, values)[0][0] or ())

    def hidden_rows(self) -> set[int]:
        rows = self._database.rows('SELECT "row" FROM chunks WHERE NOT is_found')
        return {row for (row,) in rows}

    def rows_with_labels(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        condition = "".join(f" AND {_LABELS[label]} = ANY(%s)" for label in labels)
        return self._row_numbers(condition, [[*filter(is_text, v)] for v in labels.values()])

    def rows_under(self, globs: Sequence[str]) -> set[int]:
        rows = self._database.rows("SELECT DISTINCT path FROM chunks")
        paths = fitting_paths((path for (path,) in rows), globs)
        return self._row_numbers("AND path = ANY(%s)", (paths,))

    def rows_with_metadata(self, key: str, value: str) -> set[int]:
        """The index preselects by all types of the value; Python compares."""
        if not (is_text(key) and is_text(value)):
            return set()
        shapes = [as_json([shape]) for shape in _shapes(key, value)]
        condition = " OR ".join(["metadata @> (%s::jsonb -> 0)"] * len(shapes))
        rows = self._database.rows(
            f'SELECT "row", metadata::text FROM chunks WHERE is_found AND ({condition})', shapes
        )
        return {row for row, written in rows if metadata_fits(read_metadata(written), key, value)}

    def rows_with_metadata_from(self, key: str, start: str) -> set[int]:
        if not (start and is_text(start)):
            return set()
        return self._row_numbers(
            "AND jsonb_typeof(metadata -> %s::text) = 'string' "
            "AND starts_with(metadata ->> %s::text, %s)",
            (key, key, start),
        )

    def rows_created(self, start: datetime | None, end: datetime | None) -> set[int]:
        return self._row_numbers(
            "AND created_at >= coalesce(%s::timestamptz, '-infinity') "
            "AND created_at < coalesce(%s::timestamptz, 'infinity')",
            (start, end),
        )

    def list_metadata(self, key: str) -> list[str]:
        rows = self._database.rows(
            "SELECT DISTINCT metadata ->> %s::text FROM chunks "
            "WHERE is_found AND jsonb_typeof(metadata -> %s::text) = 'string'",
            (key, key),
        )
        return sorted(value for (value,) in rows)

    def rows_since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND created_at >= %s", (moment,))
        committed = self._database.rows(_COMMITTED_SINCE, (math.ceil(seconds),))
        modified = self._database.rows(_MODIFIED_SINCE, (self._database.checkout, seconds))
        return dated | {row for (row,) in (*committed, *modified)}

    # Signals

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        return {
            row: Uses(accesses or (), commits or ())
            for row, accesses, commits in self._database.rows_in(_USES, rows)
            if accesses or commits
        }

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return {columns[0]: place_of(columns) for columns in self._database.rows_in(_PLACES, rows)}

    def dated_paths(self) -> Mapping[int, str]:
        return dict(self._database.rows(_DATED, (str(Kind.KNOWLEDGE),)))


def _quoted(terms: Iterable[str]) -> list[str]:
    return [quote(term) for term in (*terms, UNLISTED)]


def _as_query(terms: Sequence[str]) -> str:
    """A tsquery of quoted words; empty if the index cannot answer for all of them."""
    if any(has_cjk(term) and len(term) == 1 for term in terms):
        return ""  # the index has pairs of characters
    if any(map(has_cjk, terms)) and min(map(len, terms)) >= _COMPLETE:
        return " & ".join(in_a_row(tokenize(term)) for term in terms if tokenize(term))
    runs = [in_a_row(tokenize(term)) for term in terms if has_cjk(term)]
    words = [token for term in terms if not has_cjk(term) for token in tokenize(term)[:1]]
    return " | ".join(filter(None, [*runs, any_of(dict.fromkeys(words))]))


def _shapes(key: str, value: str) -> Iterator[dict[str, object]]:
    """Metadata with this value, or with a list of it: as text, and as the JSON that it spells."""
    values: list[object] = [value]
    try:
        spelt = json.loads(value)
    except ValueError:
        spelt = value
    if spelt is None or isinstance(spelt, bool | int | float):
        values.append(spelt)
    for each in values:
        if not (isinstance(each, float) and not math.isfinite(each)):
            yield {key: each}
            yield {key: [each]}
