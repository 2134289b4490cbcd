"""Which chunks fit a criterion, in PostgreSQL; `selecting` puts the answers together.

Chunks by their names in PostgreSQL, however they are spelt.

PostgreSQL's own text search: our tokens by the GIN index, then LIKE for parts of words.

Questions are taken apart into words first, and each is quoted, so no text is a syntax error to
tsquery. Words are asked with OR: with AND a question in plain language finds next to nothing.

What signals read of many chunks at once in PostgreSQL: their uses and their vectors, by row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import Definition, Revision, Uses
from aurora.stores.postgres.database import PostgresDatabase
from aurora.stores.postgres.rows import any_of, hide, in_a_row, like, read_metadata, show
from aurora.stores.postgres.vectors import from_text
from aurora.stores.shared import (
    PAGE,
    Selecting,
    Told,
    find_terms,
    fitting_paths,
    has_wildcard,
    literal_parts,
    metadata_fits,
    name_test,
    phrase_pattern,
    phrase_words,
    place_of,
    portions,
)
from aurora.text import fold_name, has_cjk, is_text, tokenize
from aurora.types import Kind, Place

# ILIKE and equality only narrow down; `name_test` decides.
_LIKE = "(name ILIKE %s ESCAPE '!' OR qualified_name ILIKE %s ESCAPE '!')"
_EQUAL = "(folded_name = %s OR qualified_name ILIKE %s ESCAPE '!')"


class PostgresNames(PostgresDatabase):
    """The part of `Store` that is about names."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded = fold_name(name)
        if not name or not is_text(name):
            return []
        # `_` and `__` are both nothing once folded, and only then does the spelling matter.
        rows = self._rows(
            'SELECT "row", kind, name, qualified_name, path FROM chunks '
            "WHERE is_found AND folded_name = %s AND (%s OR name = %s) "
            'ORDER BY "row" LIMIT %s',
            (folded, folded != "", name, limit),
        )
        return [Definition(row, Kind(kind), *map(show, rest)) for row, kind, *rest in rows]

    def iter_names(self) -> Iterator[str]:
        rows = self._rows("SELECT DISTINCT name FROM chunks WHERE is_found")
        return (show(name) for (name,) in rows)

    def _named(self, glob: str) -> set[int]:
        if not is_text(glob):
            return set()
        fits, pattern = name_test(glob), like(*literal_parts(glob))
        if has_wildcard(glob):
            rows = self._names(_LIKE, pattern, pattern)
        else:
            rows = self._names(_EQUAL, fold_name(glob), pattern)
        return {row for row, name, qualified in rows if fits(show(name), show(qualified))}

    def _names(self, which: str, *values: str) -> list[tuple[int, str, str]]:
        sql = f'SELECT "row", name, qualified_name FROM chunks WHERE is_found AND {which}'
        return [(row, name, qualified) for row, name, qualified in self._rows(sql, values)]


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


_COLUMNS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "namespace",
    "document_type": "document_type",
}
_COMMITTED_SINCE = 'SELECT "row" FROM histories WHERE commits[cardinality(commits)] >= %s'
_MODIFIED_SINCE = """
    SELECT chunks."row" FROM files JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories USING ("row", namespace)
    WHERE files.modified_ns / 1e9 >= %s AND (
        histories.uncommitted
        OR (coalesce(cardinality(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""


class PostgresCriteria(PostgresNames, PostgresText, Selecting):
    """The part of `Store` that is about what may be a result."""

    def _all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _hidden_rows(self) -> set[int]:
        return {row for (row,) in self._rows('SELECT "row" FROM chunks WHERE NOT is_found')}

    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        which = "".join(f" AND {_COLUMNS[label]} = ANY(%s)" for label in labels)
        return self._row_numbers(which, [list(filter(is_text, some)) for some in labels.values()])

    def _under(self, globs: Sequence[str]) -> set[int]:
        paths = (show(path) for (path,) in self._rows("SELECT DISTINCT path FROM chunks"))
        return self._row_numbers("AND path = ANY(%s)", (fitting_paths(paths, globs),))

    def _with_metadata(self, key: str, value: str) -> set[int]:
        """The index finds what holds the value, however it was typed; Python compares."""
        if not (is_text(key) and is_text(value)):
            return set()
        shapes = list(_shapes(hide(key), hide(value)))
        which = " OR ".join(["metadata @> %s::jsonb"] * len(shapes))
        rows = self._rows(
            f'SELECT "row", metadata::text FROM chunks WHERE is_found AND ({which})', shapes
        )
        return {row for row, written in rows if metadata_fits(read_metadata(written), key, value)}

    def _since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND created_at >= %s", (moment,))
        committed = self._rows(_COMMITTED_SINCE, (math.ceil(seconds),))
        modified = self._rows(_MODIFIED_SINCE, (seconds,))
        return dated | {row for (row,) in (*committed, *modified)}


def _shapes(key: str, value: str) -> Iterator[str]:
    """Metadata that has this value, or a list with it: as text, and as what it also spells."""
    values: list[object] = [value]
    try:
        spelt = json.loads(value)
    except ValueError:
        spelt = value
    if spelt is None or isinstance(spelt, bool | int | float):
        values.append(spelt)
    for one in values:
        if not (isinstance(one, float) and not math.isfinite(one)):
            yield json.dumps({key: one}, ensure_ascii=False)
            yield json.dumps({key: [one]}, ensure_ascii=False)


_USES = """
    SELECT chunks."row",
        (SELECT array_agg(extract(epoch FROM at)::float8 ORDER BY at) FROM accesses
         WHERE accesses."row" = chunks."row" AND accesses.namespace = chunks.namespace),
        histories.commits
    FROM chunks LEFT JOIN histories USING ("row", namespace)
    WHERE is_found AND chunks."row" = ANY(%s)"""
_VECTORS = """
    SELECT chunks."row", generation, vector::text
    FROM used_vectors JOIN chunks USING ("row", namespace) WHERE is_found"""
_PLACES = """
    SELECT "row", id, kind, path, namespace,
        metadata ->> 'source', metadata ->> 'session', metadata ->> 'seq'
    FROM chunks WHERE "row" = ANY(%s)"""
_DATED = """
    SELECT "row", path FROM chunks WHERE is_found AND kind = %s
        AND path ~ '[0-9]{4}-[0-9]{2}-[0-9]{2}'
        AND metadata ->> 'source' IS DISTINCT FROM 'conversation'"""


class PostgresSignals(PostgresDatabase):
    """The part of `Store` that is about what ranks chunks beside their words."""

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        return {
            row: Uses(accesses or (), commits or ())
            for some in portions(rows, PAGE)
            for row, accesses, commits in self._rows(_USES, (some,))
            if accesses or commits
        }

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return {
            row: place_of(Told(row, *(text and show(text) for text in texts)))
            for some in portions(rows, PAGE)
            for row, *texts in self._rows(_PLACES, (some,))
        }

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        if rows is None:
            yield from self._iter_all_vectors()
            return
        for some in portions(sorted(set(rows)), PAGE):
            yield from self._vectors('AND "row" = ANY(%s) ORDER BY "row"', (some,))

    def _iter_all_vectors(self) -> Iterator[tuple[Revision, bytes]]:
        page, last = PAGE, 0
        while page == PAGE:
            vectors = self._vectors('AND "row" > %s ORDER BY "row" LIMIT %s', (last, PAGE))
            yield from vectors
            page, last = len(vectors), vectors[-1][0].row if vectors else 0

    def _vectors(self, which: str, values: Sequence[object]) -> list[tuple[Revision, bytes]]:
        rows = self._rows(f"{_VECTORS} {which}", values)
        return [(Revision(row, generation), from_text(vector)) for row, generation, vector in rows]

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(
            self._rows(
                'SELECT "row", generation FROM used_vectors JOIN chunks USING ("row", namespace) '
                'WHERE is_found ORDER BY "row"'
            )
        )

    def dated_paths(self) -> Mapping[int, str]:
        return {row: show(path) for row, path in self._rows(_DATED, (str(Kind.KNOWLEDGE),))}
