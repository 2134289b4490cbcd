"""How the first result's being right depends on measures of a search: which one tells best?

    python benchmarks/quality/confidence.py SET [SET …] [--most 150]

A SET is a folder as sets.py describes it. Searches are as by default. P@1 is told for the quarters
of the questions by each measure, from the least sure to the surest; AUC is the chance that a right
first result has more of it than a wrong one. The last row is what the rule of
`aurora.retrieval.rerank` makes of each set.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from aurora.embeddings.registry import share_of
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.rerank import is_sure
from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Query, SearchResult

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder
from quality.sets import Record, by_group, chunks, documents, draw, read_set
from quality.vector_cache import CachedVectors

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CACHE = record.BENCHMARKS / ".cache" / "vectors"


class Search(NamedTuple):
    """Results of one question, and whether the first one is right."""

    results: tuple[SearchResult, ...]
    right: bool

    @property
    def scores(self) -> list[float]:
        """Of ten places; those that are empty have none."""
        return [*(one.score for one in self.results[:10]), *[0.0] * 10][:10]


MEASURES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "score of the first": lambda s: s[0],
    "gap to the second": lambda s: s[0] - s[1],
    "gap, relative": lambda s: (s[0] - s[1]) / s[0],
    "margin over 2 to 10": lambda s: s[0] - fmean(s[1:]),
    "margin, relative": lambda s: (s[0] - fmean(s[1:])) / s[0],
}


def searches(folder: Path, most: int) -> Iterator[Search]:
    corpus, queries, grades = read_set(folder)
    provider = CachedVectors(default_embedder(), CACHE)
    config = HybridConfig(hybrid_search_alpha=share_of(provider.name))
    for texts, asked in by_group(corpus, draw(queries, most)):
        with tempfile.TemporaryDirectory() as scratch:
            store = SQLiteStore(Path(scratch) / "memory.db")
            store.chunks.put_chunks(chain.from_iterable(map(chunks, texts)))
            embed_missing(store, provider)
            retriever = HybridRetriever(
                store,
                config,
                index_folder=Path(scratch),
                now=lambda: NOW,
                embedders=lambda _: provider,
            )
            for query in asked:
                yield _search(retriever, query, grades[query["id"]])
            store.close()


def _search(retriever: HybridRetriever, query: Record, grades: Mapping[str, float]) -> Search:
    results = retriever.retrieve(Query(query["text"], limit=20)).results
    found = documents([one.chunk_id for one in results[:1]])
    return Search(results, bool(found) and grades.get(found[0], 0.0) > 0.0)


def quarters(some: Sequence[Search], measure: Callable[[Sequence[float]], float]) -> list[float]:
    """P@1 of each quarter."""
    order = sorted(some, key=lambda one: measure(one.scores))
    bounds = [round(len(order) * part / 4) for part in range(5)]
    return [fmean(one.right for one in order[low:high]) for low, high in pairwise(bounds)]


def auc(some: Sequence[Search], measure: Callable[[Sequence[float]], float]) -> float:
    right = [measure(one.scores) for one in some if one.right]
    wrong = [measure(one.scores) for one in some if not one.right]
    return fmean((r > w) + 0.5 * (r == w) for r in right for w in wrong)


def ruled(some: Sequence[Search]) -> str:
    """How many are sure by the rule, and how often the first is right among them and the others."""
    sure = [one.right for one in some if is_sure(one.results)]
    others = [one.right for one in some if not is_sure(one.results)]
    return f"{len(sure) / len(some):.0%}; {_right(sure)} / {_right(others)}"


def _right(some: Sequence[bool]) -> str:
    return f"{fmean(some):.2f}" if some else "–"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--most", type=int, default=150, help="questions of each set")
    given = options.parse_args()
    found = {
        folder.name: [one for one in searches(folder, given.most) if one.results]
        for folder in given.sets
    }
    print("| AUC; P@1 of the quarters | " + " | ".join(found) + " |")
    print("|---|" + "---|" * len(found))
    for name, measure in MEASURES.items():
        cells = (
            f"{auc(some, measure):.2f}; {' '.join(f'{x:.2f}' for x in quarters(some, measure))}"
            for some in found.values()
        )
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("| sure; P@1 sure / unsure | " + " | ".join(map(ruled, found.values())) + " |")


if __name__ == "__main__":
    main()
