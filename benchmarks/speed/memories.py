"""What a search costs that asks several memories instead of one with everything.

    python benchmarks/speed/memories.py [--memory PATH/TO/.aurora] [--chunks 10000] [--rounds 20]

The chunks of a memory, or of the Python sources that come with this interpreter, are put by files
into one, two, three and five memories with vectors. Questions are the names and the first words of
drawn chunks. In each round every question is asked of each number of memories, which take turns, by
words and by words and meaning. Times are the medians of CPU milliseconds of this process, warm. All
of them give the same first result. A run with 20 rounds writes its result.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from bm25_merge import NOW, python_chunks

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing, embedder_of
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.joined import Layer
from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.base import Record
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Mode, Query

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder

MEMORIES = (1, 2, 3, 5)
QUESTIONS = 5 if "AURORA_BENCHMARK_TINY" in os.environ else 60
WHOLE_RUN = 20  # rounds
MODES = (Mode.KEYWORD, Mode.HYBRID)


def read_records(memory: Path | None, provider: EmbeddingProvider, chunks: int) -> list[Record]:
    with tempfile.TemporaryDirectory() as folder:
        path = (memory or Path(folder)) / "memory.db"
        with closing(SQLiteStore(path)) as store:
            if memory is None:
                store.chunks.put_chunks(islice(python_chunks(), chunks))
                embed_missing(store, provider)
            return list(store.maintenance.iter_records())


def split(
    records: Sequence[Record], parts: int, folder: Path, provider: EmbeddingProvider
) -> list[SQLiteStore]:
    chance = random.Random(parts)  # noqa: S311
    part_of = {path: chance.randrange(parts) for path in {r.chunk.path for r in records}}
    stores = []
    for part in range(parts):
        store = SQLiteStore(folder / f"{parts}-{part}" / "memory.db")
        mine = (r for r in records if part_of[r.chunk.path] == part)
        store.maintenance.put_records(mine, embedder=embedder_of(provider))
        stores.append(store)
    return stores


def retriever(
    stores: Iterable[SQLiteStore], provider: EmbeddingProvider, mode: Mode
) -> HybridRetriever:
    first, *others = (
        Layer(store, store.path.parent / "indexes", lambda _: provider, str(n))
        for n, store in enumerate(stores)
    )
    return HybridRetriever(
        first.store,
        HybridConfig(mode=mode),
        index_folder=first.index_folder,
        now=lambda: NOW,
        embedders=first.embedders,
        name=first.name,
        others=others,
    )


def draw_questions(records: Sequence[Record]) -> list[str]:
    chance = random.Random(1)  # noqa: S311
    drawn = chance.sample([r.chunk for r in records if r.chunk.name], QUESTIONS)
    return [
        chunk.name if n % 2 else " ".join(chunk.content.split()[:8])
        for n, chunk in enumerate(drawn)
    ]


def milliseconds(asked: HybridRetriever, question: str) -> tuple[float, str]:
    start = time.process_time()
    results = asked.retrieve(Query(question, 10)).results
    return 1000 * (time.process_time() - start), results[0].chunk_id if results else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memory", type=Path)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=WHOLE_RUN)
    given = parser.parse_args()
    provider = default_embedder()
    records = read_records(given.memory, provider, given.chunks)
    questions = draw_questions(records)
    measured: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        stores = {n: split(records, n, Path(folder), provider) for n in MEMORIES}
        for mode in MODES:
            asked = {n: retriever(stores[n], provider, mode) for n in MEMORIES}
            times: dict[int, list[float]] = {n: [] for n in MEMORIES}
            differing = 0
            for round_ in range(given.rounds + 1):
                for question in questions:
                    answers = {n: milliseconds(asked[n], question) for n in MEMORIES}
                    differing += len({first for _, first in answers.values()}) > 1
                    if round_:  # the first one opens the indexes
                        for n, (taken, _) in answers.items():
                            times[n].append(taken)
            medians = {str(n): round(statistics.median(times[n]), 2) for n in MEMORIES}
            measured[str(mode)] = {**medians, "differing": differing}
            print(mode, *(f"{n}: {taken:g} ms" for n, taken in medians.items()), sep="  ")
            print(f"  first results that differ: {differing}")
    if given.rounds >= WHOLE_RUN:
        record.save("memories", {"chunks": len(records), "milliseconds": measured})


if __name__ == "__main__":
    main()
