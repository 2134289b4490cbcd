"""nDCG@10 of every mode and fusion on labelled questions: what the defaults are chosen by.

    pip install wordllama==0.4.0.post1
    python benchmarks/quality/fusions.py SET [SET …] [--most 300]

A SET is a folder with corpus.jsonl(.gz) (`id`, `text`, optional `title`, `path`, `group`),
queries.jsonl (`id`, `text`, optional `group`) and qrels.tsv (header; query, document, grade). A
question is asked only inside its group. Every text is one chunk, in a throw-away store, with a
vector of WordLlama, a small static model. Of more than `--most` questions so many are drawn, always
the same ones. `unanswered` counts the questions for which nothing was found worth showing. No
result is written: some of the sets may not be passed on, and so may not what is found in them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Chunk, Kind, Mode, Query

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.wordllama_embedder import WordLlamaEmbedder

Record = dict[str, Any]
Grades = Mapping[str, Mapping[str, float]]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAYS: Mapping[str, HybridConfig] = {
    "keyword": HybridConfig(mode=Mode.KEYWORD),
    "fulltext": HybridConfig(mode=Mode.KEYWORD, keyword="fulltext"),
    "semantic": HybridConfig(mode=Mode.SEMANTIC),
    **{f"weighted {a}": HybridConfig(hybrid_search_alpha=a) for a in (0.2, 0.3, 0.4, 0.5, 0.7)},
    **{name: HybridConfig(fusion=name) for name in ("rrf", "cascade", "staged")},
}


def read_set(folder: Path) -> tuple[list[Record], list[Record], Grades]:
    packed, plain = folder / "corpus.jsonl.gz", folder / "corpus.jsonl"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    corpus = list(map(json.loads, data.splitlines()))
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        queries = list(map(json.loads, file))
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")[:3]
        grades[query][document] = float(grade)
    return corpus, [query for query in queries if query["id"] in grades], grades


def ndcg(found: Sequence[str], grades: Mapping[str, float], *, at: int = 10) -> float:
    """Järvelin and Kekäläinen (2002), with linear gain."""

    def gain(values: Sequence[float]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(values[:at]))

    best = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(one, 0.0) for one in found]) / best if best else 0.0


def chunk(record: Record) -> Chunk:
    title, path = record.get("title") or "", record.get("path") or ""
    return Chunk(record["id"], Kind.KNOWLEDGE, title, record["text"], path=path)


def ask(corpus: Sequence[Record], queries: Sequence[Record], folder: Path) -> Record:
    """Query → way → ids of the first ten."""
    store, embedder = SQLiteStore(folder / "memory.db"), WordLlamaEmbedder()
    store.put_chunks(map(chunk, corpus))
    embed_missing(store, embedder)
    retrievers = {
        name: HybridRetriever(
            store, config, index_folder=folder, now=lambda: NOW, embedders=lambda _: embedder
        )
        for name, config in WAYS.items()
    }
    found = {
        query["id"]: {
            name: [one.chunk_id for one in retriever.retrieve(Query(query["text"])).results]
            for name, retriever in retrievers.items()
        }
        for query in queries
    }
    store.close()
    return found


def run(folder: Path, most: int) -> None:
    corpus, queries, grades = read_set(folder)
    if len(queries) > most:
        queries = random.Random(0).sample(queries, most)  # noqa: S311 - no secret
    found: Record = {}
    for group in sorted({query.get("group", "") for query in queries}):
        with tempfile.TemporaryDirectory() as scratch:
            texts = [record for record in corpus if record.get("group", "") == group]
            asked = [query for query in queries if query.get("group", "") == group]
            found |= ask(texts, asked, Path(scratch))
    print(f"{folder.name}: {len(queries)} questions, {len(corpus):,} texts")
    for name in WAYS:
        scores = [ndcg(ways[name], grades[query]) for query, ways in found.items()]
        unanswered = sum(not ways[name] for ways in found.values())
        print(f"  {name:<14}{sum(scores) / len(scores):>7.3f}{unanswered:>5} unanswered")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--most", type=int, default=300, help="questions of each set")
    given = options.parse_args()
    for folder in given.sets:
        run(folder, given.most)


if __name__ == "__main__":
    main()
