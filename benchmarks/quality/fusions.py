"""nDCG@10 of every mode and fusion on labelled questions: what the defaults are chosen by.

    python benchmarks/quality/fusions.py SET [SET …] [--most 300]

A SET is a folder as sets.py describes it. Its texts lie in a throw-away store, with vectors of
the default model. Of more than `--most` questions so many are drawn, always the same
ones. `unanswered` counts the questions for which nothing was found worth showing. No result is
written: some of the sets may not be passed on, and so may not what is found in them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Mode, Query

sys.path.append(str(Path(__file__).resolve().parents[1]))
from embedders import default_embedder
from quality.sets import PIECES, Record, by_group, chunks, documents, draw, ndcg, read_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAYS: Mapping[str, HybridConfig] = {
    "keyword": HybridConfig(mode=Mode.KEYWORD),
    "fulltext": HybridConfig(mode=Mode.KEYWORD, keyword="fulltext"),
    "semantic": HybridConfig(mode=Mode.SEMANTIC),
    **{f"weighted {a}": HybridConfig(hybrid_search_alpha=a) for a in (0.2, 0.3, 0.4, 0.5, 0.7)},
    **{name: HybridConfig(fusion=name) for name in ("rrf", "cascade", "staged")},
}


def ask(
    corpus: Sequence[Record], queries: Sequence[Record], folder: Path
) -> dict[str, dict[str, list[str]]]:
    """Way → query → ids of what was found."""
    store, embedder = SQLiteStore(folder / "memory.db"), default_embedder()
    store.chunks.put_chunks(chain.from_iterable(map(chunks, corpus)))
    if (made := embed_missing(store, embedder)).failed:
        raise SystemExit("\n".join(made.warnings))  # or words would be measured in their place
    retrievers = {
        name: HybridRetriever(
            store, config, index_folder=folder, now=lambda: NOW, embedders=lambda _: embedder
        )
        for name, config in WAYS.items()
    }
    asked = {query["id"]: Query(query["text"], limit=10 * PIECES) for query in queries}
    found = {
        name: {
            query_id: documents([one.chunk_id for one in retriever.retrieve(query).results])
            for query_id, query in asked.items()
        }
        for name, retriever in retrievers.items()
    }
    store.close()
    return found


def run(folder: Path, most: int) -> None:
    corpus, queries, grades = read_set(folder)
    queries = draw(queries, most)
    found: dict[str, dict[str, list[str]]] = {name: {} for name in WAYS}
    for texts, asked in by_group(corpus, queries):
        with tempfile.TemporaryDirectory() as scratch:
            for name, answers in ask(texts, asked, Path(scratch)).items():
                found[name] |= answers
    print(f"{folder.name}: {len(queries)} questions, {len(corpus):,} texts")
    for name, answers in found.items():
        scores = [ndcg(answer, grades[query]) for query, answer in answers.items()]
        unanswered = sum(not answer for answer in answers.values())
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
