"""`Search` in SQLite: criteria, names, text search, places and uses.

The text search has three tiers: the index of words, trigrams for CJK, then LIKE. Queries are split
into words first, so that no text is a syntax error to FTS5. LIKE reads the chunks, never an FTS5
table: SQLite 3.40 gives wrong answers there.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import starmap

from aurora.stores.base import Uses
from aurora.stores.matching import (
    find_terms,
    fitting_paths,
    metadata_fits,
    phrase_words,
    place_of,
)
from aurora.stores.searching import SearchPart
from aurora.stores.sqlite.connection import Database
from aurora.stores.sqlite.integrity import damaged
from aurora.stores.sqlite.rows import access_from, batches, commits_from
from aurora.stores.sqlite.schema import FACTS, HIDDEN_ROWS, SEARCHABLE
from aurora.text import has_cjk, is_text
from aurora.types import Json, Kind, Place

# Text search
_NAME_WEIGHT = 5.0  # a word in a name tells more about a chunk than a word in its text
_TRIGRAM = 3  # shorter terms have no trigram
_RANKED = f"""
    SELECT {{table}}.rowid, bm25({{table}}, {_NAME_WEIGHT}, 1.0) AS rank
    FROM {{table}} WHERE {{table}} MATCH ? AND {{table}}.rowid NOT IN ({HIDDEN_ROWS})
    ORDER BY rank, {{table}}.rowid LIMIT ?"""
# Criteria
_LABELS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "+namespace",  # `+`: the index of namespaces would read the texts too
    "document_type": "document_type",
}
# Facts in an index that are no plain text: numbers, lists, objects, and what SQLite cannot read.
_UNCLEAR = ("{fact} < ''", "{fact} >= '[' AND {fact} < '\\'", "{fact} >= '{{' AND {fact} < '|'")
# The fourth of eight bytes excludes commits half a year older; `rows_since` compares the rest.
_COMMITTED_SINCE = """
    SELECT chunk, substr(commits, -8) FROM histories
    WHERE commits <> x'' AND (substr(commits, -5, 1) >= ? OR substr(commits, -4) <> x'00000000')"""
# `CROSS`: from the few new files to their chunks, not through all chunks.
_MODIFIED_SINCE = """
    SELECT chunks.rowid FROM files CROSS JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories ON histories.chunk = chunks.rowid
    WHERE files.checkout = ? AND files.modified_ns / 1e9 >= ? AND (
        histories.uncommitted
        OR (coalesce(length(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""

# Signals
_ACCESSES = f"""
    SELECT * FROM accesses WHERE chunk IN ? AND chunk NOT IN ({HIDDEN_ROWS})
    ORDER BY chunk, at"""
_COMMITS = f"""
    SELECT * FROM histories
    WHERE chunk IN ? AND chunk NOT IN ({HIDDEN_ROWS}) AND commits <> x''"""
_DATED = f"""
    SELECT chunks.rowid, path {SEARCHABLE} AND kind = ? AND path GLOB ?
        AND json_extract(metadata, '$.source') IS NOT 'conversation'"""
_DATE = f"*{'[0-9]' * 4}-{'[0-9]' * 2}-{'[0-9]' * 2}*"
_PLACES = """
    SELECT rowid, id, kind, path, namespace, metadata, qualified_name
    FROM chunks WHERE rowid IN ?"""
_NO_FACTS = (None, None, None, None)


class SQLiteSearch(SearchPart[Database]):
    """`Search` in one file."""

    cjk_only = "AND has_cjk = 1"  # uses a partial index
    has_symbol = "chunks.rowid IN (SELECT chunk FROM symbols WHERE folded_name = printf('%s', ?))"

    # Text

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        terms = find_terms(text)
        ranked = self._by_index(terms, limit) if terms else []
        return ranked or self.find_by_like(terms, limit)

    def _by_index(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Best first by BM25; nothing without FTS5."""
        quoted = [f'"{term}"' for term in terms]  # terms contain no quotes
        if not any(map(has_cjk, terms)):
            table, query = "chunks_words", " OR ".join(quoted)
        elif min(map(len, terms)) >= _TRIGRAM:
            table, query = "chunks_trigrams", " AND ".join(quoted)
        else:
            return []
        rows = self._database.rows_if_any(_RANKED.format(table=table), (query, limit)) or []
        return [(row, abs(rank) / (1 + abs(rank))) for row, rank in rows]

    def rows_with_phrase(self, phrase: str) -> set[int] | None:
        words = phrase_words(phrase)
        if not words:
            return None
        if any(map(has_cjk, words)):
            return self.rows_by_text(words, self.cjk_only)
        rows = self._database.rows_if_any(
            "SELECT rowid FROM chunks_words WHERE chunks_words MATCH ?", (f'"{" ".join(words)}"',)
        )
        if rows is None:
            return self.rows_by_text(words)
        # The index takes `token` next to CJK text without a space for a part of one long word.
        return {row for (row,) in rows} | self.rows_by_text(words, self.cjk_only)

    # Criteria

    def all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _row_numbers(self, condition: str, values: Sequence[object] = ()) -> set[int]:
        """Searchable rows with `condition`, an `AND …`, as one text: half the time of many rows."""
        [(numbers,)] = self._database.rows(
            f"SELECT group_concat(chunks.rowid) {SEARCHABLE} {condition}", values
        )
        return set(map(int, numbers.split(","))) if numbers else set()

    def hidden_rows(self) -> set[int]:
        rows = self._database.rows(HIDDEN_ROWS)
        return {row for (row,) in rows} | self._database.waiting_rows()

    def rows_with_labels(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """One query by one index."""
        condition, bound = "", []
        for label, wanted in labels.items():
            values = list(filter(is_text, wanted))
            condition += f" AND {_LABELS[label]} IN ({', '.join('?' * len(values))})"
            bound += values
        return self._row_numbers(condition, bound)

    def rows_under(self, globs: Sequence[str]) -> set[int]:
        paths = (path for (path,) in self._database.rows("SELECT DISTINCT path FROM chunks"))
        rows: set[int] = set()
        for batch, marks in batches(fitting_paths(paths, globs)):
            rows |= self._row_numbers(f"AND path IN ({marks})", batch)
        return rows

    def rows_with_metadata(self, key: str, value: str) -> set[int]:
        """SQLite preselects by an index or the JSON spelling; Python, which wrote it, compares."""
        if not (is_text(key) and is_text(value)):
            return set()
        if key in FACTS:
            return self._rows_with_fact(key, value)
        rows = self._database.rows(
            f"SELECT chunks.rowid, metadata {SEARCHABLE} "
            "AND instr(metadata, ?) AND instr(metadata, ?)",
            (f"{_spelt(key)}: ", _spelt(value)[1:-1]),
        )
        return {row for row, metadata in rows if metadata_fits(json.loads(metadata), key, value)}

    def _rows_with_fact(self, key: str, value: str) -> set[int]:
        """A text that is the value is taken from the index alone."""
        fact = FACTS[key]
        unclear = (
            each
            for condition in _UNCLEAR
            for each in self._database.rows(
                f"SELECT chunks.rowid, metadata {SEARCHABLE} AND {condition.format(fact=fact)}"
            )
        )
        rows = {row for row, metadata in unclear if metadata_fits(json.loads(metadata), key, value)}
        if value.startswith(("[", "{")):
            return rows
        return rows | self._row_numbers(f"AND {fact} = ?", (value,))

    def rows_with_metadata_from(self, key: str, start: str) -> set[int]:
        if not (start and is_text(start)):
            return set()
        fact, after = FACTS[key], start + chr(sys.maxunicode)
        return self._row_numbers(f"AND {fact} >= ? AND {fact} < ?", (start, after))

    def rows_created(self, start: datetime | None, end: datetime | None) -> set[int]:
        first = start.timestamp() if start else -math.inf
        last = end.timestamp() if end else math.inf
        between = "AND chunks.created_at >= ? AND chunks.created_at < ?"
        return self._row_numbers(between, (first, last))

    def list_metadata(self, key: str) -> list[str]:
        if key not in FACTS:
            raise ValueError(f"{key!r} is not in an index")
        fact = FACTS[key]
        rows = self._database.rows(f"SELECT DISTINCT {fact} {SEARCHABLE} AND {fact} >= ''")
        return sorted(value for (value,) in rows if not value.startswith(("[", "{")))

    def rows_since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND chunks.created_at >= ?", (seconds,))
        fourth = max(0, min(int(seconds) >> 24, 255))
        last = self._database.rows(_COMMITTED_SINCE, (bytes([fourth]),))
        newest = struct.unpack(f"<{len(last)}q", b"".join(commit for _, commit in last))
        committed = {row for (row, _), at in zip(last, newest, strict=True) if at >= seconds}
        modified = self._database.rows(_MODIFIED_SINCE, (self._database.checkout, seconds))
        return dated | committed | {row for (row,) in modified}

    # Signals

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        accesses: dict[int, list[float]] = {}
        for row, at in starmap(access_from, self._database.rows_in(_ACCESSES, rows)):
            accesses.setdefault(row, []).append(at)
        histories = self._database.rows_in(_COMMITS, rows)
        commits = {history[0]: commits_from(*history) for history in histories}
        uses = {}
        for row in accesses.keys() | commits.keys():
            packed = commits.get(row, b"")
            uses[row] = Uses(accesses.get(row, ()), struct.unpack(f"<{len(packed) // 8}q", packed))
        return uses

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        places = {}
        for *columns, metadata, qualified_name in self._database.rows_in(_PLACES, rows):
            if None in columns:
                raise damaged(f"The chunk of row {columns[0]}")
            places[columns[0]] = place_of((*columns, *_talk_facts(metadata), qualified_name))
        return places

    def dated_paths(self) -> Mapping[int, str]:
        return dict(self._database.rows(_DATED, (str(Kind.KNOWLEDGE), _DATE)))


def _talk_facts(metadata: object) -> tuple[Json, str | None, str | None, Json]:
    """The source, session, number and project of a chunk. Code has none of them, and its JSON is
    not read."""
    if not isinstance(metadata, str) or not ('"source"' in metadata or '"session"' in metadata):
        return _NO_FACTS
    try:
        facts = json.loads(metadata)
        source, session, seq, project = map(facts.get, ("source", "session", "seq", "project"))
    except (ValueError, AttributeError):  # reading the chunk reports damage
        return _NO_FACTS
    return source, *(each if each is None else str(each) for each in (session, seq)), project


def _spelt(text: str) -> str:
    """As `rows.chunk_values` writes it."""
    return json.dumps(text, ensure_ascii=False)
