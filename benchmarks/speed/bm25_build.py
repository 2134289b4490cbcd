"""How long the keyword index of 10,000 real chunks takes to build, beside bm25s in the same run.

The chunks are cut by our own parser from the Python sources of this interpreter: its standard
library first, then what is installed beside it. Both indexes get the same chunks and end on disk.

    python benchmarks/speed/bm25_build.py [--chunks 10000] [--rounds 3]

Times are the best of the rounds, CPU seconds of this process. Seed 000 asks for less than 30 s.
"""

from __future__ import annotations

import argparse
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import bm25s

from aurora.parsers.registry import parser_for
from aurora.signals.bm25 import BM25Scorer
from aurora.text import chunk_text, tokenize
from aurora.types import Document

SEED_LIMIT = 30.0  # seconds for 10,000 chunks


def real_documents() -> Iterator[tuple[str, str]]:
    """(id, text) of every chunk in the sources that come with Python."""
    for top in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for file in sorted(Path(top).rglob("*.py")):
            text = file.read_text(encoding="utf-8", errors="replace")
            for chunk in parser_for("module.py").parse(Document(str(file), text)).chunks:
                yield chunk.id, chunk_text(chunk)


def build_ours(documents: list[tuple[str, str]], folder: Path) -> None:
    scorer = BM25Scorer()
    scorer.build_index(documents)
    scorer.save_index(folder / "bm25.idx")


def build_theirs(tokens: list[list[str]], folder: Path) -> None:
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(tokens, show_progress=False)
    index.save(str(folder / "bm25s"))


def best_seconds(rounds: int, work: Callable[[Path], object]) -> float:
    """CPU seconds of the quickest round: the least disturbed one on a shared machine."""
    seconds = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            work(Path(folder))
            seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()

    documents = list(islice(real_documents(), given.chunks))
    texts = [text for _, text in documents]
    tokens = [tokenize(text) for text in texts]  # also warms the tokenizer for both
    size = sum(map(len, texts)) / 1e6
    print(f"{len(documents):,} chunks, {size:.1f} MB, {sum(map(len, tokens)):,} tokens")

    ours = best_seconds(given.rounds, lambda folder: build_ours(documents, folder))
    splitting = best_seconds(given.rounds, lambda _: [tokenize(text) for text in texts])
    theirs = best_seconds(given.rounds, lambda folder: build_theirs(tokens, folder))
    print(f"{'':28}{'seconds':>9}{'to bm25s':>10}")
    for name, seconds in [
        ("tokenize alone", splitting),
        ("aurora: tokenize, build, save", ours),
        ("bm25s: tokenize, build, save", splitting + theirs),
    ]:
        print(f"{name:<28} {seconds:>8.2f}{seconds / (splitting + theirs):>10.2f}")
    print(
        f"seed 000 allows {SEED_LIMIT:.0f} s for 10,000 chunks: {SEED_LIMIT / ours:.0f} times ours"
    )


if __name__ == "__main__":
    main()
