"""How long a search takes in a program that runs on, in the memory of a real repository.

    python benchmarks/speed/warm.py --repo=PATH/TO/django [--rounds 5] [--questions 100]

The memory is brought up to date first, as by `aur mem index --quick`. The questions are the first
lines of docstrings and headings in it. Each is asked by words, and by words and meaning, for ten
results with chunks and histories, in turns with bm25s, which gives the ids of ten chunks for the
same terms. One thread; the times of a question are the least of all rounds, because others use the
machine. Of the ten nearest vectors, `found` is the share that the index finds. A run with 100
questions writes its result.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np

from aurora import Memory
from aurora.packing import unit_vector
from aurora.signals.cosine_scores import Matrix
from aurora.signals.vector_index import open_vectors_file, vectors_in
from aurora.text import document_terms, query_terms

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from embedders import make_embedder

WHOLE_RUN = 100  # questions
_THREADS = "OPENBLAS_NUM_THREADS"
_FIRST_LINE = re.compile(r'(?:"""|^#+ )\s*([A-Z][^"\n]{25,100})')


def find_questions(texts: Sequence[str], count: int) -> list[str]:
    lines = {found[1].strip(" .") for text in texts if (found := _FIRST_LINE.search(text))}
    return random.Random(1).sample(sorted(lines), min(count, len(lines)))  # noqa: S311


def open_bm25s(texts: Sequence[str]) -> Callable[[str], object]:
    index = bm25s.BM25()
    index.index([document_terms(text) for text in texts], show_progress=False)
    return lambda text: index.retrieve([list(query_terms(text))], k=10, show_progress=False)


def measure(
    asks: dict[str, Callable[[str], object]], questions: Sequence[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Milliseconds of processor time by system: the median question, and the slowest of twenty."""
    least = {name: dict.fromkeys(questions, float("inf")) for name in asks}
    for _ in range(rounds):
        for question in questions:
            for name, ask in asks.items():
                begun = time.thread_time()
                ask(question)
                taken = 1000 * (time.thread_time() - begun)
                least[name][question] = min(least[name][question], taken)
    return {
        name: {
            "p50": round(statistics.median(times.values()), 2),
            "p95": round(sorted(times.values())[int(0.95 * len(times))], 2),
        }
        for name, times in least.items()
    }


def share_found(memory: Memory, questions: Sequence[str]) -> float:
    """Of the ten vectors nearest to a question, the share among its first hundred candidates."""
    path = memory.admin.index_path
    assert path is not None
    vectors = vectors_in(open_vectors_file(path.with_name("vectors.idx")))
    provider, _, model = vectors.embedder.name.partition("/")
    embedder, matrix = make_embedder(f"{provider}:{model}", Path()), Matrix(vectors)
    items = [item for segment in vectors.segments for item in segment.items()]
    rows = np.array([row for row, _, _ in items])
    values = np.frombuffer(b"".join(vector for _, _, vector in items), "<f2")
    values = values.reshape(len(rows), -1).astype(np.float32)
    shares = []
    for question in questions:
        vector = unit_vector(embedder.embed_query(question))
        nearest = rows[np.argsort(-(values @ np.asarray(vector, np.float32)))[:10]]
        found = np.intersect1d(nearest, matrix.compare(vector).best(100))
        shares.append(len(found) / len(nearest))
    return statistics.mean(shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=WHOLE_RUN)
    given = parser.parse_args()
    if os.environ.get(_THREADS) != "1":  # numpy reads it when it is loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {_THREADS: "1"})  # noqa: S606
    with Memory.open(given.repo) as memory:
        memory.index(quick=True)
        texts = [chunk.content for chunk in memory.admin.chunks()]
        questions = find_questions(texts, given.questions)
        asks: dict[str, Callable[[str], object]] = {
            "words": lambda text: memory.search(text, mode="keyword"),
            "words and meaning": lambda text: memory.search(text, mode="hybrid"),
            "bm25s, ids alone": open_bm25s(texts),
        }
        times = measure(asks, questions, given.rounds)
        found = share_found(memory, questions)
    print(f"{len(texts):,} chunks, {len(questions)} questions, milliseconds of processor time")
    for name, each in times.items():
        ratio = each["p50"] / times["bm25s, ids alone"]["p50"]
        print(f"  {name:<20} p50 {each['p50']:6.2f}  p95 {each['p95']:6.2f}  {ratio:5.2f} x bm25s")
    print(f"  found of the ten nearest vectors: {found:.3f}")
    if len(questions) >= WHOLE_RUN:
        measured = {
            "repository": given.repo.name,
            "chunks": len(texts),
            "cpu_ms": times,
            "found": found,
        }
        record.save("warm", measured, packages=("bm25s", "numpy"))


if __name__ == "__main__":
    main()
