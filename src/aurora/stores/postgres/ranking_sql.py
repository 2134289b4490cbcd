"""The statements that rank: which words propose, what each chunk scores, all values bound.

`ts_rank_cd` of one word is the sum of the weights of its places (see `words`). Times what the name
counts it is the frequency that BM25 is made of, to the last bit that BM25 can tell.

The best chunks for a question, by the database itself: words and vectors in one statement.

Two lists of candidates, each by its own index, and then what is known of both: one condition with
OR would use neither index. Words propose by the rarest terms first, as many as can be judged in
time; all terms judge. Everything a person typed is a bound value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from aurora.stores.base import Ranked, Scored, TermCounts, WeighedTerm, WordsAsked
from aurora.stores.postgres.rows import any_of, quote
from aurora.stores.postgres.vectors import PostgresEmbeddings

# Chunks times terms that are judged, a microsecond each; more only where those do not suffice.
_WORK = (20_000, 100_000, 400_000)
_MOST_TERMS = 64  # of a question; the rarest


class Statement(NamedTuple):
    sql: str
    values: dict[str, object]


class Proposal(NamedTuple):
    """Words that propose chunks, and the most that a chunk without them can score."""

    query: str
    rest: float


def proposals(words: WordsAsked | None) -> list[Proposal]:
    """The cheapest first; the last is all words, for when even the best few are missing.

    A chunk that has only common words of a question is worth little beside one that has a rare one.
    """
    if words is None or not words.terms:
        return [Proposal("", 0.0)]
    terms = words.terms[:_MOST_TERMS]
    made = (_propose(terms, work // len(terms), words.k1) for work in _WORK)
    return list(dict.fromkeys((*made, Proposal(any_of(term.text for term in terms), 0.0))))


def _propose(terms: Sequence[WeighedTerm], most: int, k1: float) -> Proposal:
    chosen, chunks = 1, terms[0].chunks
    while chosen < len(terms) and chunks + terms[chosen].chunks <= most:
        chunks += terms[chosen].chunks
        chosen += 1
    rest = sum(max(term.weight, 0.0) * (k1 + 1.0) for term in terms[chosen:])
    query = any_of(term.text for term in terms[:chosen])
    if chunks > most and len(terms) > 1:
        # Even the rarest is everywhere: then the best have it beside another.
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
    parts, unions = [], []
    if proposing:
        values["proposing"] = proposing
        parts.append(_proposed(words, filtered))
        unions.append(f'(SELECT "row" FROM proposed {_BEST_WORDS})')
    if vector is not None:
        parts.append(_near(len(vector), slot, filtered, by_index=by_index))
        unions.append(f'(SELECT "row" FROM near {_NEAREST})')
    if not unions:
        return Statement("SELECT 1 WHERE false", {})
    sql = f"""
        WITH {", ".join(parts)}, best AS ({" UNION ".join(unions)})
        SELECT best."row", {_known(words)},
            {"proposed.rank" if proposing else "NULL"},
            {"1 - near.distance" if vector is not None and not by_index else _cosine(vector)},
            {"near.rank" if vector is not None else "NULL"},
            {"proposed.score" if proposing else "NULL"}
        FROM best LEFT JOIN words ON words."row" = best."row"
        {'LEFT JOIN proposed ON proposed."row" = best."row"' if proposing else ""}
        {_vectors(vector, slot, by_index=by_index)}"""
    return Statement(sql, values)


def score_statement(
    words: WordsAsked | None, vector: Sequence[float] | None, *, slot: int, rows: Sequence[int]
) -> Statement:
    values = {"rows": list(rows), **_word_values(words), **_vector_values(vector)}
    sql = f"""
        SELECT best."row", {_known(words)}, NULL, {_cosine(vector)}, NULL, NULL
        FROM unnest(%(rows)s::bigint[]) AS best ("row")
            JOIN words ON words."row" = best."row"
        {_vectors(vector, slot, by_index=True, with_places=False)}"""
    return Statement(sql, values)


def _proposed(words: WordsAsked | None, filtered: str) -> str:
    return f"""
        judged AS MATERIALIZED (
            SELECT "row", {_score(words)} AS score FROM words
            WHERE tsv @@ %(proposing)s::tsquery {filtered}),
        proposed AS MATERIALIZED (
            SELECT "row", score, rank() OVER (ORDER BY score DESC) AS rank
            FROM judged WHERE score > 0)"""


def _near(dimension: int, slot: int, filtered: str, *, by_index: bool) -> str:
    """Hidden chunks have vectors, too. In the index' own order, or all of them compared."""
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


_BEST_WORDS = 'ORDER BY score DESC, "row" LIMIT %(pool)s'
_NEAREST = 'ORDER BY distance, "row" LIMIT %(pool)s'


def _vectors(
    vector: Sequence[float] | None, slot: int, *, by_index: bool, with_places: bool = True
) -> str:
    if vector is None:
        return ""
    near = 'LEFT JOIN near ON near."row" = best."row"' if with_places else ""
    made = f'LEFT JOIN vectors_{slot} AS made ON made."row" = best."row"' if by_index else ""
    return f"{near} {made}"


def _cosine(vector: Sequence[float] | None) -> str:
    if vector is None:
        return "NULL"
    return f"1 - (made.vector::halfvec({len(vector)}) <=> %(vector)s::halfvec({len(vector)}))"


def _known(words: WordsAsked | None) -> str:
    """What BM25 is made of, to be put together as it is for every store."""
    return f"words.length, ARRAY[{', '.join(_frequencies(words))}]::real[]"


def _score(words: WordsAsked | None) -> str:
    """The same put together here, so that the best can be told: f / (f + d) is 1 − d / (f + d),
    which asks for the frequency once."""
    shares = (
        f"%(w{at})s * coalesce(1 - {_DISCOUNT} / nullif({one} + {_DISCOUNT}, 0), 0)"
        for at, one in enumerate(_frequencies(words))
    )
    return " + ".join(shares) or "0"


_DISCOUNT = "%(k1)s * (1 - %(b)s + %(b)s * length / %(average)s)"


def _frequencies(words: WordsAsked | None) -> Iterator[str]:
    count = len(words.terms[:_MOST_TERMS]) if words is not None else 0
    for at in range(count):
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


_EXACT = 50_000  # vectors that are compared one by one; beyond, an HNSW index proposes
_FEW = 20_000  # rows of a filter among which all are compared
_SURE = 20  # places by words that are right for sure; further ones nearly always are
_INDEXES = """
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        JOIN pg_am ON pg_am.oid = relam
    WHERE amname = 'hnsw' AND indisvalid AND relkind = 'i'
        AND relnamespace = current_schema()::regnamespace
        AND indrelid IN (SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf)"""


class PostgresRanking(PostgresEmbeddings):
    """What `RankingStore` promises."""

    _known_slot: tuple[int, int, bool] | None = None

    def count_terms(self, terms: Sequence[str]) -> TermCounts:
        rows = self._rows(
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
        slot, has_index = self._vectors_in_use() if vector is not None else (0, False)
        by_index = has_index and (among is None or len(among) > _FEW)
        rows: list[tuple[Any, ...]] = []
        *affordable, everything = proposals(words)
        for query, rest in (*affordable, everything):
            if query == everything.query and len(_scores(rows)) >= min(pool, _SURE):
                break
            statement = rank_statement(
                words, query, vector, slot=slot, by_index=by_index, pool=pool, among=among
            )
            rows = self._ask(statement)
            if _suffice(rows, rest, pool=pool):
                break
        return ranked(rows, pool)

    def score(
        self, words: WordsAsked | None, vector: Sequence[float] | None, rows: Sequence[int]
    ) -> Mapping[int, Scored]:
        slot = self._vectors_in_use()[0] if vector is not None else 0
        statement = score_statement(words, vector, slot=slot, rows=rows)
        return {one.row: one for one in map(_scored, self._ask(statement))}

    def _ask(self, statement: Statement) -> list[tuple[Any, ...]]:
        return self._rows(statement.sql, statement.values)

    def _vectors_in_use(self) -> tuple[int, bool]:
        """Their slot, and whether there is an index of them; known until the memory changes."""
        facts = self._facts(["slot", "generation"])
        generation, slot = int(facts.get("generation", 0)), int(facts.get("slot", 0))
        if self._known_slot is None or self._known_slot[:2] != (generation, slot):
            indexes = self._rows(_INDEXES, (f"vectors_{slot}",))[0][0]
            self._known_slot = (generation, slot, indexes > 0)
        return self._known_slot[1:]

    def prepare_search(self) -> None:
        """Not inside a transaction: an index of many vectors takes its time, and nobody waits."""
        slot, dimension = int(self._fact("slot") or 0), self._dimension()
        table = f"vectors_{slot}"
        self.renew_statistics()
        enough = self._rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS counted", (_EXACT,)
        )[0][0]
        if enough < _EXACT or not dimension:
            return
        leaves = self._rows(
            "SELECT relid::regclass::text FROM pg_partition_tree(%s::regclass) "
            "JOIN pg_class ON pg_class.oid = relid "
            "WHERE isleaf AND pg_has_role(relowner, 'USAGE')",  # to others it is not allowed
            (table,),
        )
        for (leaf,) in leaves:
            self._make_index(leaf, dimension)
        self._known_slot = None

    def renew_statistics(self) -> None:
        self._without_transaction("ANALYZE words, chunks, embeddings, accesses, reasoning")

    def _make_index(self, table: str, dimension: int) -> None:
        """One that was stopped halfway is of no use, and made again."""
        name = f"{table.rpartition('.')[2]}_hnsw"
        valid = self._rows(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)
        )
        if valid and valid[0][0]:
            return
        self._without_transaction(f"DROP INDEX IF EXISTS {name}")
        self._without_transaction(
            f"CREATE INDEX CONCURRENTLY {name} ON {table} "
            f"USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 128)"
        )

    def search_bytes(self) -> int:
        return self._bytes("words", "terms", "totals")

    def total_bytes(self) -> int:
        return self._bytes(
            "chunks", "words", "embeddings", "terms", "totals", "accesses", "reasoning",
            "histories", "files", "facts",
        )  # fmt: skip

    def _bytes(self, *tables: str) -> int:
        rows = self._rows(
            "SELECT coalesce(sum(pg_total_relation_size(coalesce(relid, named))), 0)::bigint "
            "FROM unnest(%s::regclass[]) AS named "
            "LEFT JOIN LATERAL pg_partition_tree(named) ON true",
            (list(tables),),
        )
        return int(rows[0][0])


def _suffice(rows: Sequence[tuple[Any, ...]], rest: float, *, pool: int) -> bool:
    """Whether no chunk that was not proposed belongs among the first of those that were."""
    scores = sorted(_scores(rows), reverse=True)
    return not rest or (len(scores) >= pool and scores[min(pool, _SURE) - 1] >= rest)


def _scores(rows: Sequence[tuple[Any, ...]]) -> list[float]:
    return [row[-1] for row in rows if row[-1] is not None]


def ranked(rows: Sequence[tuple[Any, ...]], pool: int) -> Ranked:
    scored = [_scored(row) for row in rows]
    by_words = sorted((one.word_rank, one.row) for one in scored if one.word_rank)
    by_meaning = sorted((one.cosine_rank, one.row) for one in scored if one.cosine_rank)
    return Ranked(
        [row for _, row in by_words[:pool]],
        [row for _, row in by_meaning[:pool]],
        {one.row: one for one in scored},
    )


def _scored(row: tuple[Any, ...]) -> Scored:
    number, length, frequencies, word_rank, cosine, cosine_rank, _ = row
    return Scored(
        number, length or 0, tuple(frequencies or ()), word_rank or 0,
        None if cosine is None or math.isnan(cosine) else cosine, cosine_rank or 0,
    )  # fmt: skip
