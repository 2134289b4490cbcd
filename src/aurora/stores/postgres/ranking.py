"""The best chunks for a question, by the database itself: words and vectors in one statement.

Two lists of candidates, each by its own index, and then what is known of both: one condition with
OR would use neither index. Words propose by the rarest terms first, as many as can be judged in
time; all terms judge. Everything a person typed is a bound value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aurora.stores.postgres.embeddings import PostgresEmbeddings
from aurora.stores.postgres.ranking_sql import (
    Statement,
    proposals,
    rank_statement,
    score_statement,
)
from aurora.stores.ranking import Ranked, Scored, TermCounts, WordsAsked

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
