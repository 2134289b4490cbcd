"""What the share of use does to the ranking of a repository with a history.

    python benchmarks/quality/use.py REPO [--count 300]

The repository is indexed with git's histories, without vectors. Questions are the first sentences
of Python docstrings, every third word left out by lot, so that none is a copy; the right answer is
the chunk they stand in. Told are MRR@10 and how often it comes first, by words alone, by the
default with several shares of use, and by the fallback of seed 003 (half words, half use).
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

SENTENCE = re.compile(r'"""\s*(.+?)(?:\.\s|"""|\n\n)', re.DOTALL)
DEFINITIONS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
WAYS: Mapping[str, Mapping[str, object]] = {
    "words alone": {"search.mode": "keyword"},
    **{f"default, use {n}": {"search.weighted.activation": n} for n in (0.0, 0.05, 0.1, 0.2)},
    "staged, 50/0/50": {"search.fusion": "staged"},
    "staged, 80/0/20": {
        "search.fusion": "staged",
        **{f"search.hybrid.weights.{k}": v for k, v in zip(
            ("bm25", "semantic", "activation"), (0.8, 0.0, 0.2), strict=True)},
    },
}  # fmt: skip


def questions(memory: Path, count: int) -> list[tuple[str, str]]:
    """(words, chunk id), always the same ones."""
    lot, store, found = random.Random(3), SQLiteStore(memory), []  # noqa: S311 - no secret
    chunks = [chunk for chunk in store.chunks.iter_chunks() if chunk.kind in DEFINITIONS]
    store.close()
    for chunk in lot.sample(chunks, len(chunks)):
        said = SENTENCE.search(chunk.content)
        words = said.group(1).split() if said and not is_test(chunk.path) else []
        kept = [word for word in words if lot.random() > 1 / 3]
        if 4 <= len(words) <= 15 and len(kept) >= 3:
            found.append((" ".join(kept), chunk.id))
        if len(found) == count:
            break
    return found


def is_test(path: str) -> bool:
    return any(part.startswith("test") for part in Path(path).parts)


def measure(places: Places, way: str, asked: Sequence[tuple[str, str]]) -> tuple[float, float]:
    ranks = []
    with Memory(places, SettingsFiles(places, {}, dict(WAYS[way]))) as memory:
        for words, wanted in asked:
            found = [result.chunk_id for result in memory.search(words).results]
            ranks.append(found.index(wanted) + 1 if wanted in found else 0)
    return sum(1 / rank for rank in ranks if rank) / len(ranks), ranks.count(1) / len(ranks)


def run(repository: Path, count: int, folder: Path) -> None:
    clone = folder / repository.resolve().name
    subprocess.run(["git", "clone", "-q", "--local", str(repository), str(clone)], check=True)
    (clone / ".aurora").mkdir()
    places = Places(folder / "home", clone)
    with Memory(places) as memory:
        memory.index(clone)
        asked = questions(memory.admin.path, count)
    print(f"{clone.name}: {len(asked)} questions")
    measured = {way: measure(places, way, asked) for way in WAYS}
    for way, (mrr, first) in measured.items():
        print(f"  {way:<20} MRR@10 {mrr:.3f}   first {first:.1%}")
    record.save(f"use-{clone.name}", {"questions": len(asked), "mrr_first": measured})


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("repository", metavar="REPO", type=Path)
    options.add_argument("--count", type=int, default=300, help="questions")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(given.repository, given.count, Path(folder).resolve())


if __name__ == "__main__":
    main()
