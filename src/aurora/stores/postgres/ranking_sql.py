"""`Ranking` in PostgreSQL: the best chunks for a query by words and by vector, in one statement.

The statement makes two lists of candidates, each by its own index, and scores both: one condition
with OR would use neither index. A first, small statement finds a score that the best chunks reach;
only chunks whose words allow that score are then candidates (`selection.py`), so that common words
are looked up beside rare ones. `ts_rank_cd` of one word is the sum of the weights of its positions
(see `rows.words_of`), from which BM25's term frequency follows. All user input is bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from aurora.stores.base import Ranked, Revision, Scored, TermCounts, WordsAsked
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.indexes import Indexes
from aurora.stores.postgres.migrate import WORDS
from aurora.stores.postgres.rows import (
    DIMENSIONS,
    USUAL_B,
    USUAL_K1,
    USUAL_LENGTH,
    dimension_of,
    quote,
)
from aurora.stores.postgres.selection import (
    most_of,
    probes,
    select,
    select_all,
    terms_of,
)
from aurora.stores.postgres.vectors import PostgresVectors
from aurora.stores.shared import PAGE, Row
from aurora.types import Chunk, Listener, Progress, ignore_events

Statement: TypeAlias = tuple[str, dict[str, object]]  # with its bound values


def rank_statement(
    words: WordsAsked | None,
    selecting: str,
    vector: Sequence[float] | None,
    *,
    slot: int,
    by_index: bool,
    pool: int,
    among: Sequence[int] | None,
) -> Statement:
    values: dict[str, object] = {"pool": pool, **known_values(words), **_vector_values(vector)}
    values["among"], filtered = _listed(among), _filter(among)
    parts, unions, joins = [], [], []
    word_rank = cosine = cosine_rank = "NULL"
    if selecting:
        values["selecting"] = selecting
        parts.append(_judged(words, among))
        unions.append('(SELECT "row" FROM judged ORDER BY rank, "row" LIMIT %(pool)s)')
        joins.append('LEFT JOIN judged ON judged."row" = best."row"')
        word_rank = "judged.rank"
    if vector is not None:
        parts.append(_near(len(vector), slot, filtered, by_index=by_index))
        unions.append('(SELECT "row" FROM near ORDER BY distance, "row" LIMIT %(pool)s)')
        joins.append('LEFT JOIN near ON near."row" = best."row"')
        cosine, cosine_rank = "1 - near.distance", "near.rank"
        if by_index:
            joins.append(_made(vector, slot))
            cosine = _cosine(vector)
    if not unions:
        return "SELECT 1 WHERE false", {}
    sql = f"""
        WITH {", ".join(parts)}, best AS ({" UNION ".join(unions)})
        SELECT best."row", {_known(words)}, {word_rank}, {cosine}, {cosine_rank}
        FROM best LEFT JOIN words ON words."row" = best."row" {" ".join(joins)}"""
    return sql, values


def score_statement(
    words: WordsAsked | None, vector: Sequence[float] | None, *, slot: int, rows: Sequence[int]
) -> Statement:
    values = {"rows": list(rows), **known_values(words), **_vector_values(vector)}
    sql = f"""
        SELECT best."row", {_known(words)}, NULL, {_cosine(vector)}, NULL
        FROM unnest(%(rows)s::bigint[]) AS best ("row")
            JOIN words ON words."row" = best."row"
        {_made(vector, slot)}"""
    return sql, values


def probe_statement(
    words: WordsAsked, selecting: str, *, pool: int, among: Sequence[int] | None
) -> Statement:
    """The best scores of the chunks that a query selects, or less."""
    sql = f"SELECT least FROM ({_bounded(among)}) AS bounded ORDER BY least DESC LIMIT %(pool)s"
    values = {"selecting": selecting, "pool": pool, "among": _listed(among)}
    return sql, values | known_values(words)


_DISCOUNT = "%(k1)s * (1 - %(b)s + %(b)s * length / %(average)s)"
_USUAL_DISCOUNT = (  # as float8, because the server's numeric is slow
    f"({USUAL_K1 * (1 - USUAL_B)}::float8 + {USUAL_K1 * USUAL_B / USUAL_LENGTH}::float8 * length)"
)


def _bounded(among: Sequence[int] | None) -> str:
    """Bounds of scores, by one function: the sum of the impacts is the score of a text of usual
    length with usual parameters. Other scores differ by the ratio of the discounts at most, and
    words of negative weight take away at most `less`."""
    return f"""
        SELECT "row", usual * least(1, ratio) - %(less)s AS least,
            usual * greatest(1, ratio) AS most
        FROM (SELECT "row", -(impacts <#> %(impacts)s::sparsevec) AS usual,
                  coalesce({_USUAL_DISCOUNT} / nullif({_DISCOUNT}, 0), 'Infinity') AS ratio
              FROM words WHERE tsv @@ %(selecting)s::tsquery {_filter(among)} OFFSET 0) AS summed"""


def _judged(words: WordsAsked | None, among: Sequence[int] | None) -> str:
    """Ranks by the exact scores of the chunks that may have the highest."""
    return f"""
        bounded AS MATERIALIZED ({_bounded(among)}),
        judged AS MATERIALIZED (
            SELECT "row", rank() OVER (ORDER BY score DESC) AS rank FROM (
                SELECT "row", {score_of(words)} AS score FROM words WHERE "row" = ANY(ARRAY(
                    SELECT "row" FROM bounded WHERE most >= 0.999999 * coalesce((
                        SELECT least FROM bounded ORDER BY least DESC
                        OFFSET %(pool)s - 1 LIMIT 1), 0)))
            ) AS scored WHERE score > 0)"""


def _listed(among: Sequence[int] | None) -> list[int] | None:
    """The driver knows lists, not arrays."""
    return None if among is None else list(among)


def _filter(among: Sequence[int] | None) -> str:
    return "" if among is None else 'AND "row" = ANY(%(among)s)'


def _near(dimension: int, slot: int, filtered: str, *, by_index: bool) -> str:
    """The nearest vectors, by the index or by comparing all. Hidden chunks are left out."""
    compared = f"""
        SELECT "row", vector::halfvec({dimension}) <=> %(vector)s::halfvec({dimension}) AS distance
        FROM vectors_{slot} WHERE slot = {slot} AND "row" <> ALL(ARRAY(
            SELECT chunks."row" FROM chunks WHERE NOT chunks.is_found)) {filtered}"""
    if by_index:
        compared += " ORDER BY distance LIMIT %(pool)s"
    return f"""
        compared AS MATERIALIZED ({compared}),
        near AS MATERIALIZED (
            SELECT "row", distance, rank() OVER (ORDER BY distance) AS rank
            FROM compared WHERE distance < 'NaN')"""


def _made(vector: Sequence[float] | None, slot: int) -> str:
    if vector is None:
        return ""
    return f'LEFT JOIN vectors_{slot} AS made ON made."row" = best."row"'


def _cosine(vector: Sequence[float] | None) -> str:
    if vector is None:
        return "NULL"
    return f"1 - (made.vector::halfvec({len(vector)}) <=> %(vector)s::halfvec({len(vector)}))"


def _known(words: WordsAsked | None) -> str:
    """The inputs of BM25. Python computes the scores that are shown, for every store alike."""
    frequencies = map(_frequency, range(len(terms_of(words))))
    return f"words.length, ARRAY[{', '.join(frequencies)}]::real[]"


def score_of(words: WordsAsked | None) -> str:
    """BM25 in SQL, to order candidates: f / (f + d) is written as 1 − d / (f + d), which computes
    the frequency once."""
    shares = (
        f"%(w{at})s * coalesce(1 - {_DISCOUNT} / nullif({_frequency(at)} + {_DISCOUNT}, 0), 0)"
        for at in range(len(terms_of(words)))
    )
    return " + ".join(shares) or "0"


def _frequency(at: int) -> str:
    """`ts_rank_cd` takes a microsecond also for a word that is not there."""
    term = f"%(t{at})s::tsquery"
    rank = f"ts_rank_cd(words.weights, words.tsv, {term}) / words.weights[2]"
    return f"CASE WHEN words.tsv @@ {term} THEN {rank} ELSE 0 END"


def known_values(words: WordsAsked | None) -> dict[str, object]:
    if words is None:
        return {}
    terms = terms_of(words)
    impacts = ",".join(f"{n}:{weight}" for n, weight in sorted(_impacts(words).items()) if weight)
    return {
        "impacts": f"{{{impacts}}}/{DIMENSIONS}",
        "less": -sum(min(term.weight, 0.0) for term in terms) * (words.k1 + 1.0),
        "k1": words.k1,
        "b": words.b,
        "average": words.average_length or 1.0,
        **{f"t{at}": quote(term.text) for at, term in enumerate(terms)},
        **{f"w{at}": term.weight * (words.k1 + 1.0) for at, term in enumerate(terms)},
    }


def _impacts(words: WordsAsked) -> Mapping[int, float]:
    """What terms add to a score at most, by dimension. pgvector counts dimensions from 1."""
    most: defaultdict[int, float] = defaultdict(float)
    for term in terms_of(words):
        most[dimension_of(term.text) + 1] += most_of(term, words)
    return most


def _vector_values(vector: Sequence[float] | None) -> dict[str, object]:
    return {} if vector is None else {"vector": "[" + ",".join(map(repr, vector)) + "]"}


_FEW = 20_000  # rows of a filter that are all compared
_FEW_MATCHES = 5_000  # chunks that are all scored
_SURE = 20  # chunks that are enough where more would be very many
_COUNT_AGAIN = (
    "DELETE FROM terms",
    "INSERT INTO terms SELECT lexeme, namespace, count(*) FROM words, unnest(tsv) "
    "GROUP BY lexeme, namespace",
    "DELETE FROM totals",
    "INSERT INTO totals SELECT namespace, count(*), sum(length) FROM words GROUP BY namespace",
)


class PostgresRanking:
    """`Ranking` in one schema."""

    def __init__(self, database: Database) -> None:
        self._database, self._indexes = database, Indexes(database)
        self._chunks, self._vectors = PostgresChunks(database), PostgresVectors(database)
        self._slot: tuple[int, int, bool] | None = None  # generation, slot, whether it has an index

    def count_terms(self, terms: Sequence[str]) -> TermCounts:
        rows = self._database.rows(
            "SELECT NULL, coalesce(sum(chunks), 0)::bigint, coalesce(sum(tokens), 0)::bigint "
            "FROM totals UNION ALL "
            "SELECT term, sum(chunks)::bigint, 0 FROM terms WHERE term = ANY(%s) GROUP BY term",
            (list(terms),),
        )
        (_, chunks, tokens), *counted = sorted(rows, key=lambda row: row[0] is not None)
        return TermCounts(chunks, tokens, {term: count for term, count, _ in counted if count > 0})

    def rank(
        self,
        words: WordsAsked | None,
        vector: Sequence[float] | None,
        *,
        pool: int,
        among: Sequence[int] | None = None,
    ) -> Ranked:
        slot, has_index = self.vectors_in_use() if vector is not None else (0, False)
        by_index = has_index and (among is None or len(among) > _FEW)
        statement = rank_statement(
            words, self._select(words, pool, among), vector,
            slot=slot, by_index=by_index, pool=pool, among=among,
        )  # fmt: skip
        return ranked(self._database.rows(*statement), pool)

    def _select(self, words: WordsAsked | None, pool: int, among: Sequence[int] | None) -> str:
        """The chunks that can be among the best. All words select if there are few chunks."""
        everything, terms = select_all(words), terms_of(words)
        if words is None or sum(term.chunks for term in terms) <= _FEW_MATCHES or len(terms) == 1:
            return everything
        enough = everything
        for query in probes(words):
            if len(query) == len(everything):  # the same terms, perhaps in another order
                return everything
            statement = probe_statement(words, query, pool=pool, among=among)
            scores = [score for (score,) in self._database.rows(*statement)]
            if len(scores) >= pool:
                return select(words, scores[-1])
            if len(scores) >= min(pool, _SURE):
                enough = query
        return enough

    def score(
        self, words: WordsAsked | None, vector: Sequence[float] | None, rows: Sequence[int]
    ) -> Mapping[int, Scored]:
        slot = self.vectors_in_use()[0] if vector is not None else 0
        statement = score_statement(words, vector, slot=slot, rows=rows)
        return {scored.row: scored for scored in map(_scored, self._database.rows(*statement))}

    def vectors_in_use(self) -> tuple[int, bool]:
        """Their slot, and whether it has an index; cached until the memory changes."""
        facts = self._database.facts(["slot", "generation"])
        generation, slot = int(facts.get("generation", 0)), int(facts.get("slot", 0))
        if self._slot is None or self._slot[:2] != (generation, slot):
            self._slot = (generation, slot, self._indexes.has_hnsw(f"vectors_{slot}"))
        return self._slot[1:]

    def prepare_search(self) -> str:
        """Runs outside a transaction, because building an index takes time and blocks no reader."""
        self.renew_statistics()
        self._indexes.index_words()
        table, embedder = f"vectors_{self._database.fact('slot') or 0}", self._vectors.embedder()
        self._slot = None
        return "" if embedder is None else self._indexes.index_vectors(table, embedder)

    def renew_statistics(self) -> None:
        self._database.run_alone("ANALYZE words, chunks, embeddings, accesses, reasoning")

    def rebuild_words(self, listen: Listener = ignore_events) -> int:
        """Works in pages, so that searches continue. Then all statistics are counted again."""
        count, last = 0, 0
        total = sum(self._chunks.count_chunks().values())
        while page := self._rebuild_page(last):
            count, last = count + len(page), page[-1][0].row
            listen(Progress("Making words", count, max(total, count)))
        with self._database.transaction():
            for statement in _COUNT_AGAIN:
                self._database.execute(statement)
            self._database.set_fact("words", WORDS)
        return count

    def _rebuild_page(self, last: int) -> list[tuple[Revision, Chunk]]:
        """Reads and writes under one lock, so that no text changes in between."""
        with self._database.transaction():
            page = self._chunks.revised_page(last, PAGE)
            self._chunks.remove_words([chunk.id for _, chunk in page])
            self._chunks.add_words(chunk for _, chunk in page)
        return page

    def search_bytes(self) -> int:
        return table_bytes(self._database, "words", "terms", "totals")

    def total_bytes(self) -> int:
        return table_bytes(
            self._database, "chunks", "words", "embeddings", "terms", "totals", "accesses",
            "reasoning", "histories", "files", "facts",
        )  # fmt: skip


def table_bytes(database: Database, *tables: str) -> int:
    rows = database.rows(
        "SELECT coalesce(sum(pg_total_relation_size(coalesce(relid, named))), 0)::bigint "
        "FROM unnest(%s::regclass[]) AS named "
        "LEFT JOIN LATERAL pg_partition_tree(named) ON true",
        (list(tables),),
    )
    return int(rows[0][0])


def ranked(rows: Sequence[Row], pool: int) -> Ranked:
    scored = [_scored(row) for row in rows]
    by_words = sorted((each.word_rank, each.row) for each in scored if each.word_rank)
    by_meaning = sorted((each.cosine_rank, each.row) for each in scored if each.cosine_rank)
    return Ranked(
        [row for _, row in by_words[:pool]],
        [row for _, row in by_meaning[:pool]],
        {each.row: each for each in scored},
    )


def _scored(row: Row) -> Scored:
    number, length, frequencies, word_rank, cosine, cosine_rank = row
    return Scored(
        number, length or 0, tuple(frequencies or ()), word_rank or 0,
        None if cosine is None or math.isnan(cosine) else cosine, cosine_rank or 0,
    )  # fmt: skip
