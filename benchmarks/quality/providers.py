"""nDCG@10 of every embedding provider, alone and fused with words, on labelled questions.

    python benchmarks/quality/providers.py SET [SET …] [--provider static --provider onnx:MODEL …]
        [--models FOLDER] [--most 300] [--pool 2000] [--result]

A SET is a folder as sets.py describes it. A provider is a name that `embedding.provider` may have,
with a model after a colon. `alone` is by meaning only; `fused` is the default fusion, where meaning
has the share that the provider gets by default (or `--share`). BM25 is the same search by words
only. What others published stands below, with what is different there: such numbers are for
orientation. Providers that cannot be made are named and left out. `--pool` asks among fewer texts,
those that any drawn question is judged by and so many others, where a corpus is too large for a
slow model: all are compared on the same ones, but the numbers are higher than on the whole.

Texts lie in throw-away stores; vectors are kept in benchmarks/.cache/vectors, so that a slow model
embeds a text once. `--result` writes benchmarks/results/providers-<commit>.json: nothing but a
number for each set and provider, because some of the sets may not be passed on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from statistics import fmean

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.embeddings.registry import make_provider, share_of
from aurora.errors import AuroraError
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.retriever import HybridConfig, HybridRetriever
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Mode, Query

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from quality.published import PUBLISHED
from quality.sets import PIECES, Record, by_group, chunks, documents, draw, ndcg, read_set
from quality.vector_cache import CachedVectors

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CACHE = record.BENCHMARKS / ".cache" / "vectors"
BM25 = "BM25"
KEYWORD = {BM25: HybridConfig(mode=Mode.KEYWORD)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider and the share of meaning in its fusion."""

    name: str
    provider: EmbeddingProvider
    share: float

    def ways(self) -> Mapping[str, HybridConfig]:
        return {
            f"{self.name}, alone": HybridConfig(mode=Mode.SEMANTIC),
            f"{self.name}, fused {self.share:g}": HybridConfig(hybrid_search_alpha=self.share),
        }


def candidates(names: Sequence[str], models: Path, shares: Sequence[float]) -> Iterator[Candidate]:
    for spec in names:
        name, _, model = spec.partition(":")
        try:
            made = make_provider(name, ProviderOptions(model=model, models=models))
            cached = CachedVectors(made, CACHE)
            cached.embed_query("Is it there?")
        except (AuroraError, ImportError) as exc:
            print(f"left out: {spec}: {exc}", file=sys.stderr)
            continue
        tried = shares or [share_of(made.name)]
        yield from (Candidate(made.name, cached, share) for share in tried)


def answer(
    texts: Sequence[Record],
    queries: Sequence[Record],
    ways: Mapping[str, HybridConfig],
    embedder: EmbeddingProvider | None = None,
) -> dict[str, dict[str, list[str]]]:
    """Way → query → documents, of one group in a store of its own."""
    asked = {query["id"]: Query(query["text"], limit=10 * PIECES) for query in queries}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store = SQLiteStore(folder / "memory.db")
        store.put_chunks(chain.from_iterable(map(chunks, texts)))
        if embedder and (made := embed_missing(store, embedder)).failed:
            raise SystemExit("\n".join(made.warnings))  # or words would be measured in its place
        found = {}
        for way, config in ways.items():
            retriever = HybridRetriever(
                store,
                config,
                index_folder=folder,
                now=lambda: NOW,
                embedders=(lambda _: embedder) if embedder else None,
            )
            found[way] = {
                query_id: documents([one.chunk_id for one in retriever.retrieve(query).results])
                for query_id, query in asked.items()
            }
        store.close()
    return found


def measure(folder: Path, most: int, pool: int, tried: Sequence[Candidate]) -> dict[str, float]:
    """Way → nDCG@10 on one set."""
    corpus, queries, grades = read_set(folder)
    drawn = draw(queries, most)
    if pool:
        judged = {document for query in drawn for document in grades[query["id"]]}
        others = draw([text for text in corpus if text["id"] not in judged], pool)
        corpus = [text for text in corpus if text["id"] in judged] + others
    print(f"{folder.name}: {len(drawn)} questions, {len(corpus):,} texts", file=sys.stderr)
    scores: dict[str, list[float]] = {}
    for texts, asked in by_group(corpus, drawn):
        found = answer(texts, asked, KEYWORD)
        for provider, ways in by_provider(tried):
            found |= answer(texts, asked, ways, provider)
        for way, answers in found.items():
            some = (ndcg(one, grades[query]) for query, one in answers.items())
            scores.setdefault(way, []).extend(some)
    return {way: round(fmean(some), 4) for way, some in scores.items()}


def by_provider(
    tried: Sequence[Candidate],
) -> Iterator[tuple[EmbeddingProvider, Mapping[str, HybridConfig]]]:
    """Every provider once, with all its ways: they share a store."""
    for provider in dict.fromkeys(one.provider for one in tried):
        same = [one.ways() for one in tried if one.provider is provider]
        yield provider, {way: config for ways in same for way, config in ways.items()}


def report(measured: Mapping[str, Mapping[str, float]]) -> None:
    """Markdown: a column a set, a row a way; below what was published."""
    print("| nDCG@10 | " + " | ".join(measured) + " | mean |")
    print("|---|" + "---|" * (len(measured) + 1))
    for way in next(iter(measured.values())):
        scores = [ways[way] for ways in measured.values()]
        print(f"| {way} | " + " | ".join(f"{x:.3f}" for x in (*scores, fmean(scores))) + " |")
    for name in measured:
        if name in PUBLISHED:
            numbers = ", ".join(f"{who} {x:.3f}" for who, x in PUBLISHED[name].scores.items())
            print(f"\n{name}, published: {numbers}. {PUBLISHED[name].remark}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--provider", action="append", default=[], help="NAME or NAME:MODEL")
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    options.add_argument("--share", type=float, action="append", default=[], help="of meaning")
    options.add_argument("--most", type=int, default=300, help="questions of each set")
    options.add_argument("--pool", type=int, default=0, help="texts beside those judged; 0: all")
    options.add_argument("--result", action="store_true", help="write the numbers to a file")
    given = options.parse_args()
    tried = list(candidates(given.provider or ["static"], given.models, given.share))
    measured = {
        folder.name: measure(folder, given.most, given.pool, tried) for folder in given.sets
    }
    report(measured)
    if given.result:
        record.save("providers", {"most": given.most, "ndcg10": measured})


if __name__ == "__main__":
    main()
