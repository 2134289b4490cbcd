"""Which chunks fit a criterion, in SQLite; `selecting` puts the answers together.

Chunks by their names in SQLite, however they are spelt.

SQLite's own text search, in three tiers (seed 001): words, trigrams for CJK, then LIKE.

Questions are taken apart into words first, so no text is a syntax error to FTS5. LIKE reads the
chunks themselves, never an FTS5 table: SQLite 3.40 gives wrong answers there.

What signals read of many chunks at once in SQLite: their uses and their vectors, by row.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import starmap

from aurora.errors import StoreError
from aurora.stores.base import Definition, Revision, Uses
from aurora.stores.shared import (
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
)
from aurora.stores.sqlite.connection import is_missing
from aurora.stores.sqlite.database import MAY_BE_FOUND, SEARCHABLE, SQLiteDatabase
from aurora.stores.sqlite.integrity import damaged
from aurora.stores.sqlite.rows import (
    Row,
    access_from,
    batches,
    commits_from,
    like,
    revision_from,
    vector_from,
)
from aurora.stores.sqlite.schema import FOLDED_NAME, list_waiting
from aurora.text import fold_name, has_cjk, is_text
from aurora.types import Kind, Place

_DEFINITION = "chunks.rowid, kind, name, qualified_name, path"
# LIKE and equality of ASCII only narrow down; `name_test` decides.
_LIKE = "AND (name LIKE ? ESCAPE '!' OR qualified_name LIKE ? ESCAPE '!')"
_EQUAL = f"AND ({FOLDED_NAME} = ? OR qualified_name LIKE ? ESCAPE '!')"


class SQLiteNames(SQLiteDatabase):
    """The part of `Store` that is about names."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded = fold_name(name)
        if not name or not is_text(name):
            return []
        # `_` and `__` are both nothing once folded, and only then does the spelling matter.
        rows = self._rows(
            f"SELECT {_DEFINITION} {SEARCHABLE} AND {FOLDED_NAME} = ? AND (? <> '' OR name = ?) "
            "ORDER BY chunks.rowid LIMIT ?",
            (folded, folded, name, limit),
        )
        return [Definition(row, Kind(kind), *rest) for row, kind, *rest in rows]

    def iter_names(self) -> Iterator[str]:
        return (name for (name,) in self._rows(f"SELECT DISTINCT name {SEARCHABLE}"))

    def _named(self, glob: str) -> set[int]:
        """The rows whose name or qualified name fits a glob."""
        if not is_text(glob):
            return set()
        fits = name_test(glob)
        if has_wildcard(glob):
            pattern = like(*literal_parts(glob))
            rows = self._names(_LIKE, pattern, pattern)
        else:
            rows = self._names(_EQUAL, fold_name(glob), like(*literal_parts(glob)))
        return {row for row, name, qualified in rows if fits(name, qualified)}

    def _names(self, which: str, *values: str) -> list[tuple[int, str, str]]:
        return self._rows(f"SELECT chunks.rowid, name, qualified_name {SEARCHABLE} {which}", values)


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


# The fourth of the eight bytes leaves out what is half a year older; `_since` decides the rest.
_COMMITTED_SINCE = """
    SELECT chunk, substr(commits, -8) FROM histories
    WHERE commits <> x'' AND (substr(commits, -5, 1) >= ? OR substr(commits, -4) <> x'00000000')"""
# `CROSS`: from the few files that are new to their chunks, not through all chunks.
_MODIFIED_SINCE = """
    SELECT chunks.rowid FROM files CROSS JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories ON histories.chunk = chunks.rowid
    WHERE files.modified_ns / 1e9 >= ? AND (
        histories.uncommitted
        OR (coalesce(length(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""

_COLUMNS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "+namespace",  # `+`: its own index would read the texts, too
    "document_type": "document_type",
}


class SQLiteCriteria(SQLiteNames, SQLiteText, Selecting):
    """The part of `Store` that is about what may be a result."""

    def _all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _hidden_rows(self) -> set[int]:
        return {
            row for (row,) in self._rows(f"SELECT chunk FROM reasoning WHERE NOT {MAY_BE_FOUND}")
        } | self._waiting_rows()

    def _waiting_rows(self) -> set[int]:
        """Text indexes do not know what is hidden."""
        return {row for (row,) in self._rows(list_waiting(self.waiting))} if self.waiting else set()

    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """All by one index."""
        which, values = "", []
        for label, wanted in labels.items():
            known = [one for one in wanted if is_text(one)]
            which += f" AND {_COLUMNS[label]} IN ({', '.join('?' * len(known))})"
            values += known
        return self._row_numbers(which, values)

    def _under(self, globs: Sequence[str]) -> set[int]:
        paths = (path for (path,) in self._rows("SELECT DISTINCT path FROM chunks"))
        rows: set[int] = set()
        for batch, marks in batches(fitting_paths(paths, globs)):
            rows |= self._row_numbers(f"AND path IN ({marks})", batch)
        return rows

    def _with_metadata(self, key: str, value: str) -> set[int]:
        """JSON is read in Python, which wrote it; SQLite only looks for its spelling."""
        if not (is_text(key) and is_text(value)):
            return set()
        rows = self._rows(
            f"SELECT chunks.rowid, metadata {SEARCHABLE} "
            "AND instr(metadata, ?) AND instr(metadata, ?)",
            (f"{_spelt(key)}: ", _spelt(value)[1:-1]),
        )
        return {row for row, metadata in rows if metadata_fits(json.loads(metadata), key, value)}

    def _since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND chunks.created_at >= ?", (seconds,))
        fourth = max(0, min(int(seconds) >> 24, 255))
        last = self._rows(_COMMITTED_SINCE, (bytes([fourth]),))
        newest = struct.unpack(f"<{len(last)}q", b"".join(commit for _, commit in last))
        committed = {row for (row, _), at in zip(last, newest, strict=True) if at >= seconds}
        modified = self._rows(_MODIFIED_SINCE, (seconds,))
        return dated | committed | {row for (row,) in modified}


def _spelt(text: str) -> str:
    """As `sqlite_rows.chunk_values` writes it."""
    return json.dumps(text, ensure_ascii=False)


_NEEDED = 5  # columns of a place that are never empty, unless damaged
PAGE = 1000  # vectors read at a time; no lock is held in between

_ACCESSES = f"""
    SELECT accesses.* FROM accesses
        LEFT JOIN reasoning ON reasoning.chunk = accesses.chunk
    WHERE {MAY_BE_FOUND} AND accesses.chunk IN ({{marks}}) ORDER BY accesses.chunk, at"""
_COMMITS = f"""
    SELECT histories.* FROM histories
        LEFT JOIN reasoning ON reasoning.chunk = histories.chunk
    WHERE {MAY_BE_FOUND} AND histories.chunk IN ({{marks}}) AND commits <> x''"""
_VECTORS = f"""
    SELECT chunks.rowid, chunks.generation, vector, embeddings.checksum
    FROM embeddings JOIN chunks ON chunks.rowid = embeddings.chunk
        LEFT JOIN reasoning ON reasoning.chunk = embeddings.chunk
    WHERE {MAY_BE_FOUND}"""

_EMBEDDED = _VECTORS.replace(", vector, embeddings.checksum\n", "\n")
_DATED = f"""
    SELECT chunks.rowid, path {SEARCHABLE} AND kind = ? AND path GLOB ?
        AND json_extract(metadata, '$.source') IS NOT 'conversation'"""
_PLACES = """
    SELECT rowid, id, kind, path, namespace, json_extract(told, '$.source'),
        CAST(json_extract(told, '$.session') AS TEXT), CAST(json_extract(told, '$.seq') AS TEXT)
    FROM (SELECT *, iif(json_valid(metadata), metadata, '{{}}') AS told FROM chunks
          WHERE rowid IN ({marks}))"""
_DATE = f"*{'[0-9]' * 4}-{'[0-9]' * 2}-{'[0-9]' * 2}*"


class SQLiteSignals(SQLiteDatabase):
    """The part of `Store` that is about what ranks chunks beside their words."""

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        uses: dict[int, Uses] = {}
        for batch, marks in batches(rows):
            accesses: dict[int, list[float]] = {}
            for row, at in starmap(access_from, self._rows(_ACCESSES.format(marks=marks), batch)):
                accesses.setdefault(row, []).append(at)
            histories = self._rows(_COMMITS.format(marks=marks), batch)
            commits = {history[0]: commits_from(*history) for history in histories}
            for row in accesses.keys() | commits.keys():
                packed = commits.get(row, b"")
                uses[row] = Uses(
                    accesses.get(row, ()), struct.unpack(f"<{len(packed) // 8}q", packed)
                )
        return uses

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return {
            told.row: place_of(told)
            for batch, marks in batches(rows)
            for told in map(_told, self._rows(_PLACES.format(marks=marks), batch))
        }

    def iter_vectors(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, bytes]]:
        if rows is None:
            yield from self._iter_all_vectors()
            return
        for batch, marks in batches(sorted(set(rows))):
            which = f"AND embeddings.chunk IN ({marks}) ORDER BY embeddings.chunk"
            yield from self._vectors(which, batch)

    def _iter_all_vectors(self) -> Iterator[tuple[Revision, bytes]]:
        page, last = PAGE, 0
        while page == PAGE:
            which = "AND embeddings.chunk > ? ORDER BY embeddings.chunk LIMIT ?"
            vectors = self._vectors(which, (last, PAGE))
            yield from vectors
            page, last = len(vectors), vectors[-1][0].row if vectors else 0

    def _vectors(self, which: str, values: Sequence[object]) -> list[tuple[Revision, bytes]]:
        rows = self._rows(f"{_VECTORS} {which}", values)
        return [
            (revision_from(row, generation), vector_from(row, vector, written))
            for row, generation, vector, written in rows
        ]

    def vector_revisions(self) -> Mapping[int, int]:
        return dict(self._rows(f"{_EMBEDDED} ORDER BY embeddings.chunk"))

    def count_vectors(self) -> int:
        return int(self._rows(f"SELECT count(*) FROM ({_EMBEDDED})")[0][0])

    def dated_paths(self) -> Mapping[int, str]:
        return dict(self._rows(_DATED, (str(Kind.KNOWLEDGE), _DATE)))


def _told(row: Row) -> Told:
    if None in row[:_NEEDED]:
        raise damaged(f"The chunk of row {row[0]}")
    return Told._make(row)
