"""How much of an answer stays when nothing can make vectors: the protocol of seed 003, 6.2.3.

    python benchmarks/quality/fallback.py REPO [--queries NAME] [--lists]

The repository is cloned into a temporary folder and indexed with vectors of the
default model and git's histories. Ten queries, the seed's own or
its like for another repository, are asked for ten results each: by all three signals of `staged`
(tri-hybrid), by the two that need no model (dual-hybrid), by activation alone, and by the default
with and without the model. Told is the share of the results that a way has in common with its like
that has the model, for each query and on average; the seed expects 70 to 90 % of dual-hybrid.
Overlap says how alike two answers are, not how good: quality is in docs/concepts/fallback.md.

Which ten queries: those for the name of the repository's folder, or for NAME. With `--lists` the
results stand below. Writes benchmarks/results/fallback-<name>-<commit>.json.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.types import SearchResults

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder

LIMIT = 10
QUERIES: Mapping[str, Sequence[str]] = {
    "aurora": (  # as in the seed, with today's names for what is called otherwise
        "HybridRetriever class implementation",
        "memory search caching",
        "BM25 scoring algorithm",
        "conversation log discovery",
        "activation ACT-R accesses",
        "embedding provider configuration",
        "CLI command parsing",
        "retriever initialization",
        "hybrid weights normalization",
        "fallback mode handling",
    ),
    "flask": (
        "Blueprint class implementation",
        "template loader caching",
        "URL matching algorithm",
        "application discovery command line",
        "application context stack",
        "JSON provider configuration",
        "CLI command parsing",
        "application initialization",
        "session cookie serialization",
        "error handler fallback",
    ),
    "django": (
        "QuerySet class implementation",
        "cache middleware responses",
        "password hashing algorithm",
        "test discovery runner",
        "migration autodetector operations",
        "database backend configuration",
        "management command parsing",
        "application registry initialization",
        "unicode email normalization",
        "language fallback handling",
    ),
}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to search, and the one that it is compared with."""

    title: str
    fusion: str
    model: bool
    settings: Mapping[str, object]
    against: str = ""


ALONE = {"bm25": 0.0, "semantic": 0.0, "activation": 1.0}
WAYS = (
    Way("tri-hybrid", "staged", model=True, settings={}),
    Way("dual-hybrid", "staged", model=False, settings={}, against="tri-hybrid"),
    Way(
        "activation only", "staged", model=False, against="tri-hybrid",
        settings={f"search.hybrid.weights.{name}": share for name, share in ALONE.items()},
    ),
    Way("default, model", "weighted", model=True, settings={}),
    Way("default, no model", "weighted", model=False, settings={}, against="default, model"),
)  # fmt: skip


def search(places: Places, way: Way, query: str) -> SearchResults:
    embedder = default_embedder() if way.model else None
    settings = SettingsFiles(places, {}, dict(way.settings))
    with Memory(places, settings, embedder=embedder) as memory:
        return memory.search(query, limit=LIMIT, fusion=way.fusion)


def ids(found: SearchResults) -> list[str]:
    return [result.chunk.id for result in found.results]


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    return len(set(one) & set(other)) / LIMIT


def report(found: Mapping[str, Mapping[str, Sequence[str]]], *, lists: bool) -> dict[str, float]:
    """The share that each way has in common with what it is compared with."""
    compared = [way for way in WAYS if way.against]
    print(f"{'query':<38}" + "".join(f"{way.title:>19}" for way in compared))
    shares: dict[str, list[float]] = {way.title: [] for way in compared}
    for query, ways in found.items():
        for way in compared:
            shares[way.title].append(overlap(ways[way.title], ways[way.against]))
        print(f"{query:<38}" + "".join(f"{shares[way.title][-1]:>19.0%}" for way in compared))
        for title, results in ways.items() if lists else ():
            print("".join(f"\n    {title}: {result}" for result in results))
    means = {title: statistics.mean(values) for title, values in shares.items()}
    print(f"{'average':<38}" + "".join(f"{mean:>19.0%}" for mean in means.values()))
    return means


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(repository: Path, name: str, folder: Path, *, lists: bool) -> None:
    clone = folder / name
    git(repository, "clone", "--quiet", "--local", ".", str(clone))
    (clone / ".aurora").mkdir()
    head, places = git(clone, "rev-parse", "--short=12", "HEAD"), Places(folder / "home", clone)
    with Memory(places, embedder=default_embedder()) as memory:
        memory.index(clone)
        chunks = sum(memory.stats().chunks.values())
    print(f"{name} at {head}: {chunks:,} chunks, git's histories and vectors")
    answers = {
        query: {way.title: search(places, way, query) for way in WAYS} for query in QUERIES[name]
    }
    signals = {way.title: next(iter(answers.values()))[way.title].signals for way in WAYS}
    for title, took_part in signals.items():
        print(f"{title}: {', '.join(took_part)}")
    found = {
        query: {title: ids(answer) for title, answer in ways.items()}
        for query, ways in answers.items()
    }
    means = report(found, lists=lists)
    about = {"repository": {"name": name, "head": head, "chunks": chunks}, "signals": signals}
    record.save(f"fallback-{name}", about | {"overlap": means, "found": found})


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("repository", metavar="REPO", type=Path)
    options.add_argument("--queries", metavar="NAME", choices=list(QUERIES), help="whose queries")
    options.add_argument("--lists", action="store_true", help="print both lists of results")
    given = options.parse_args()
    name = given.queries or given.repository.resolve().name
    if name not in QUERIES:
        options.error(f"no queries for {name!r}: name some with --queries {'|'.join(QUERIES)}")
    with tempfile.TemporaryDirectory() as folder:
        run(given.repository, name, Path(folder).resolve(), lists=given.lists)


if __name__ == "__main__":
    main()
