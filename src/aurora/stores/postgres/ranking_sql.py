"""`Ranking` in PostgreSQL: the best chunks for a query by words and by vector, in one statement.

The statement makes two lists of candidates, each by its own index, and scores both: one condition
with OR would use neither index. The rarest terms select the candidates, as many as can be scored in
time, and all terms score them. `ts_rank_cd` of one word is the sum of the weights of its positions
(see `rows.words_of`), from which BM25's term frequency follows. All user input is bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from aurora.stores.base import Ranked, Revision, Scored, TermCounts, WeighedTerm, WordsAsked
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.migrate import WORDS
from aurora.stores.postgres.rows import any_of, quote
from aurora.stores.postgres.vectors import PostgresVectors
from aurora.stores.shared import PAGE, Row
from aurora.types import Chunk, Listener, Progress, ignore_events

# Chunks times terms to score, a microsecond each; the larger ones only if needed.
_WORK = (20_000, 100_000, 400_000)
_MOST_TERMS = 64  # the rarest of a query


Statement: TypeAlias = tuple[str, dict[str, object]]  # with its bound values


class Proposal(NamedTuple):
    """A tsquery that selects candidates, and the highest score of a chunk without its words."""

    query: str
    rest: float


def proposals(words: WordsAsked | None) -> list[Proposal]:
    """The cheapest first; the last has all words.

    A chunk with only common words of a query scores little beside a chunk with a rare word.
    """
    if words is None or not words.terms:
        return [Proposal("", 0.0)]
    terms = words.terms[:_MOST_TERMS]
    cheap = (_propose(terms, work // len(terms), words.k1) for work in _WORK)
    return list(dict.fromkeys((*cheap, Proposal(any_of(term.text for term in terms), 0.0))))


def _propose(terms: Sequence[WeighedTerm], most: int, k1: float) -> Proposal:
    chosen, chunks = 1, terms[0].chunks
    while chosen < len(terms) and chunks + terms[chosen].chunks <= most:
        chunks += terms[chosen].chunks
        chosen += 1
    rest = sum(max(term.weight, 0.0) * (k1 + 1.0) for term in terms[chosen:])
    query = any_of(term.text for term in terms[:chosen])
    if chunks > most and len(terms) > 1:
        # Even the rarest term is common, so the best chunks have it beside another.
        query = f"{query} & ({any_of(term.text for term in terms[1:])})"
    return Proposal(query, rest)


def rank_statement(
    words: WordsAsked | None,
    proposing: str,
    vector: Sequence[float] | None,
    *,
    slot: int,
    by_index: bool,
    pool: int,
    among: Sequence[int] | None,
) -> Statement:
    values: dict[str, object] = {"pool": pool, **_word_values(words), **_vector_values(vector)}
    filtered = ""
    if among is not None:
        values["among"], filtered = list(among), 'AND "row" = ANY(%(among)s)'
    parts, unions, joins = [], [], []
    word_rank = cosine = cosine_rank = score = "NULL"
    if proposing:
        values["proposing"] = proposing
        parts.append(_proposed(words, filtered))
        unions.append('(SELECT "row" FROM proposed ORDER BY score DESC, "row" LIMIT %(pool)s)')
        joins.append('LEFT JOIN proposed ON proposed."row" = best."row"')
        word_rank, score = "proposed.rank", "proposed.score"
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
        SELECT best."row", {_known(words)}, {word_rank}, {cosine}, {cosine_rank}, {score}
        FROM best LEFT JOIN words ON words."row" = best."row" {" ".join(joins)}"""
    return sql, values


def score_statement(
    words: WordsAsked | None, vector: Sequence[float] | None, *, slot: int, rows: Sequence[int]
) -> Statement:
    values = {"rows": list(rows), **_word_values(words), **_vector_values(vector)}
    sql = f"""
        SELECT best."row", {_known(words)}, NULL, {_cosine(vector)}, NULL, NULL
        FROM unnest(%(rows)s::bigint[]) AS best ("row")
            JOIN words ON words."row" = best."row"
        {_made(vector, slot)}"""
    return sql, values


def _proposed(words: WordsAsked | None, filtered: str) -> str:
    return f"""
        judged AS MATERIALIZED (
            SELECT "row", {_score(words)} AS score FROM words
            WHERE tsv @@ %(proposing)s::tsquery {filtered}),
        proposed AS MATERIALIZED (
            SELECT "row", score, rank() OVER (ORDER BY score DESC) AS rank
            FROM judged WHERE score > 0)"""


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
    return f"words.length, ARRAY[{', '.join(_frequencies(words))}]::real[]"


def _score(words: WordsAsked | None) -> str:
    """BM25 in SQL, to order candidates: f / (f + d) is written as 1 − d / (f + d), which computes
    the frequency once."""
    shares = (
        f"%(w{at})s * coalesce(1 - {_DISCOUNT} / nullif({frequency} + {_DISCOUNT}, 0), 0)"
        for at, frequency in enumerate(_frequencies(words))
    )
    return " + ".join(shares) or "0"


_DISCOUNT = "%(k1)s * (1 - %(b)s + %(b)s * length / %(average)s)"


def _frequencies(words: WordsAsked | None) -> Iterator[str]:
    for at, _ in enumerate(words.terms[:_MOST_TERMS] if words is not None else ()):
        yield f"(ts_rank_cd(words.weights, words.tsv, %(t{at})s::tsquery) / words.weights[2])"


def _word_values(words: WordsAsked | None) -> dict[str, object]:
    if words is None:
        return {}
    terms = words.terms[:_MOST_TERMS]
    return {
        "k1": words.k1,
        "b": words.b,
        "average": words.average_length or 1.0,
        **{f"t{at}": quote(term.text) for at, term in enumerate(terms)},
        **{f"w{at}": term.weight * (words.k1 + 1.0) for at, term in enumerate(terms)},
    }


def _vector_values(vector: Sequence[float] | None) -> dict[str, object]:
    return {} if vector is None else {"vector": "[" + ",".join(map(repr, vector)) + "]"}


_EXACT = 50_000  # vectors that are compared one by one; with more, an HNSW index selects
_FEW = 20_000  # rows of a filter that are all compared
_SURE = 20  # ranks by words that are always exact; later ones nearly always are
_INDEXES = """
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        JOIN pg_am ON pg_am.oid = relam
    WHERE amname = 'hnsw' AND indisvalid AND relkind = 'i'
        AND relnamespace = current_schema()::regnamespace
        AND indrelid IN (SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf)"""
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
        self._database = database
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
        rows: list[Row] = []
        *affordable, everything = proposals(words)
        for query, rest in (*affordable, everything):
            if query == everything.query and len(_scores(rows)) >= min(pool, _SURE):
                break
            statement = rank_statement(
                words, query, vector, slot=slot, by_index=by_index, pool=pool, among=among
            )
            rows = self._database.rows(*statement)
            if _suffice(rows, rest, pool=pool):
                break
        return ranked(rows, pool)

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
            indexes = self._database.rows(_INDEXES, (f"vectors_{slot}",))[0][0]
            self._slot = (generation, slot, indexes > 0)
        return self._slot[1:]

    def prepare_search(self) -> str:
        """Runs outside a transaction, because building an index takes time and blocks no reader."""
        self.renew_statistics()
        table, embedder = f"vectors_{self._database.fact('slot') or 0}", self._vectors.embedder()
        enough = self._database.rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS counted", (_EXACT,)
        )[0][0]
        if enough < _EXACT or embedder is None:
            return ""
        leaves = self._database.rows(
            "SELECT relid::regclass::text, pg_get_userbyid(relowner), "
            "pg_has_role(relowner, 'USAGE') FROM pg_partition_tree(%s::regclass) "
            "JOIN pg_class ON pg_class.oid = relid WHERE isleaf",
            (table,),
        )
        owners = set()
        for leaf, owner, is_owner in leaves:
            if is_owner:
                self._make_index(leaf, embedder.dimension)
            elif not self._has_index(leaf):
                owners.add(owner)
        self._slot = None
        if not owners:
            return ""
        return (
            "The vectors have no index yet, and searches compare all of them: only the owner of "
            f"the tables can build it. Have {' or '.join(sorted(owners))} run `aur index`"
        )

    def renew_statistics(self) -> None:
        self._database.run_alone("ANALYZE words, chunks, embeddings, accesses, reasoning")

    def _make_index(self, table: str, dimension: int) -> None:
        """Build an HNSW index, again if an earlier build was interrupted."""
        if self._has_index(table):
            return
        name = _index_of(table)
        self._database.run_alone(f"DROP INDEX IF EXISTS {name}")
        self._database.run_alone(
            f"CREATE INDEX CONCURRENTLY {name} ON {table} "
            f"USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 128)"
        )

    def _has_index(self, table: str) -> bool:
        """False also for an index whose build was interrupted."""
        valid = self._database.rows(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
            (_index_of(table),),
        )
        return bool(valid and valid[0][0])

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


def _index_of(table: str) -> str:
    return f"{table.rpartition('.')[2]}_hnsw"


def table_bytes(database: Database, *tables: str) -> int:
    rows = database.rows(
        "SELECT coalesce(sum(pg_total_relation_size(coalesce(relid, named))), 0)::bigint "
        "FROM unnest(%s::regclass[]) AS named "
        "LEFT JOIN LATERAL pg_partition_tree(named) ON true",
        (list(tables),),
    )
    return int(rows[0][0])


def _suffice(rows: Sequence[Row], rest: float, *, pool: int) -> bool:
    """Whether no other chunk can belong among the first candidates."""
    scores = sorted(_scores(rows), reverse=True)
    return not rest or (len(scores) >= pool and scores[min(pool, _SURE) - 1] >= rest)


def _scores(rows: Sequence[Row]) -> list[float]:
    return [row[-1] for row in rows if row[-1] is not None]


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
    number, length, frequencies, word_rank, cosine, cosine_rank, _ = row
    return Scored(
        number, length or 0, tuple(frequencies or ()), word_rank or 0,
        None if cosine is None or math.isnan(cosine) else cosine, cosine_rank or 0,
    )  # fmt: skip
