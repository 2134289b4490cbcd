"""How much of an answer stays when nothing can make vectors: the protocol of seed 003, 6.2.3.

    pip install wordllama==0.4.0.post1
    python benchmarks/quality/fallback.py REPO [--queries NAME] [--lists]

The repository is cloned into a temporary folder and indexed with vectors (of WordLlama, a small
static model: a better one would differ more). Ten queries, the seed's own or its like for another
repository, are then asked twice for ten results: by a memory that has the model, and by one of the
same database that has none. Told is the share of the results that both have, for each query and on
average; the seed expects 70 to 90 %. Overlap says how alike two answers are, not how good.

Which ten queries: those for the name of the repository's folder, or for NAME. With `--lists` the
results of both stand below. A run in which both searched by the same signals measured nothing, and
is not kept; others write benchmarks/results/fallback-<name>-<commit>.json.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aurora.config import Places
from aurora.engine import Memory
from aurora.types import SearchResults

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from peers.wordllama_embedder import WordLlamaEmbedder

LIMIT = 10
EXPECTED = 0.7
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
class Pair:
    """What one query found with vectors and without."""

    query: str
    hybrid: tuple[str, ...]
    fallback: tuple[str, ...]

    @property
    def overlap(self) -> float:
        return len(set(self.hybrid) & set(self.fallback)) / LIMIT


def open_both(clone: Path, home: Path) -> tuple[Memory, Memory]:
    """One database: with the model, and without it."""
    places = Places(home, clone)
    return Memory(places, embedder=WordLlamaEmbedder()), Memory(places)


def search(memory: Memory, query: str) -> SearchResults:
    """The one place that asks: the usual search of each memory."""
    return memory.search(query, limit=LIMIT)


def ids(found: SearchResults) -> tuple[str, ...]:
    return tuple(result.chunk.id for result in found.results)


def report(pairs: Sequence[Pair], *, lists: bool) -> float:
    print(f"{'query':<42}{'both':>6}{'overlap':>10}{'same first':>12}")
    for pair in pairs:
        same = "yes" if pair.hybrid[:1] == pair.fallback[:1] else "no"
        count = round(pair.overlap * LIMIT)
        print(f"{pair.query:<42}{count:>6}{pair.overlap:>10.0%}{same:>12}")
        for place in range(LIMIT) if lists else ():
            left, right = (one[place : place + 1] for one in (pair.hybrid, pair.fallback))
            print(f"{place + 1:>4}  {''.join(left):<75}  {''.join(right)}")
    average = statistics.mean(pair.overlap for pair in pairs)
    verdict = "as expected" if average >= EXPECTED else "LESS than expected"
    print(f"{'average':<42}{'':>6}{average:>10.0%}  {verdict} ({EXPECTED:.0%} to 90%)")
    return average


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(repository: Path, name: str, folder: Path, *, lists: bool) -> None:
    clone = folder / name
    git(repository, "clone", "--quiet", "--local", ".", str(clone))
    (clone / ".aurora").mkdir()
    head = git(clone, "rev-parse", "--short=12", "HEAD")
    hybrid, fallback = open_both(clone, folder / "home")
    hybrid.index(clone, git=False)
    chunks = sum(hybrid.stats().chunks.values())
    print(f"{name} at {head}: {chunks:,} chunks")
    found = [(query, search(hybrid, query), search(fallback, query)) for query in QUERIES[name]]
    signals = {"hybrid": found[0][1].signals, "fallback": found[0][2].signals}
    for title, names in signals.items():
        print(f"{title}: {', '.join(names)}")
    pairs = [Pair(query, ids(one), ids(other)) for query, one, other in found]
    average = report(pairs, lists=lists)
    if signals["hybrid"] == signals["fallback"]:
        print("no file written: both searched by the same signals, so nothing was measured")
        return
    about = {"repository": {"name": name, "head": head, "chunks": chunks}, "signals": signals}
    measured = {"average_overlap": average, "queries": list(map(asdict, pairs))}
    record.save(f"fallback-{name}", about | measured, packages=["wordllama"])


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
