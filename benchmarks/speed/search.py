"""How long a search takes in memories of several sizes, beside other engines in the same run.

    pip install bm25s==0.3.16 tantivy==0.27.0 numba==0.68.1
    python benchmarks/speed/search.py [--sizes 10000 100000 500000] [--rounds 3] [--fresh]

Any of the three may be missing; its rows are then left out. `corpus.py` says what the chunks and
the 200 questions are: the chunks are real code, those beyond 250,000 are real code with names
changed. Each memory is made once, by parser, store and retriever, and kept with the peers' indexes
in benchmarks/.cache/search; `--fresh` makes them again. Vectors are those of
the default model up to 100,000 chunks and drawn by lot beyond, which takes as long to search. The
keyword index is always the one that this Aurora makes.

Every engine is opened and asked in processes of its own:

    create       a retriever in a fresh process; whether numpy got loaded
    first        the first answer of a fresh process: from nothing imported, and with Python's own
                 start; median of three questions, one of each sort
    warm         one process answers all questions once a round; p50 and p95 over the questions, of
                 the round with the lowest p50; likewise for CPU milliseconds, which tell more on
                 a machine that others use as well
    peak         the most memory that the process of `warm` ever held, mapped pages that it has
                 touched included

In each round another engine begins, so that noise hits all alike; an engine whose round takes over
a minute has no further ones, nor one whose first answer takes over five seconds (numba compiles in
every process). Files are in the page cache, as after any use.

Fairness. All engines get the same texts and return their best ten. Aurora's ranking, bm25s (k1 1.5,
b 0.75, lucene; index mapped) and tantivy (its own k1 1.2, b 0.75) also have the same terms, but no
weights for those of a question; FTS5 has its unicode61 words in a quoted OR. `agree` is the share
of the top ten that an engine has in common with Aurora's ranking. Tokenizing the question counts
for all. The peers return places of texts and keep no texts: `aurora, ranking` is the like of them,
the other rows of Aurora fetch chunks and histories from the store as well.

A complete run (all default sizes) writes benchmarks/results/search-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib import util
from itertools import islice
from pathlib import Path
from typing import Any

import corpus
import engines
import ours
from corpus import CACHE, Question
from engines import ENGINES, RANKING

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import DrawnVectors, default_embedder

SIZES = (10_000, 100_000, 500_000)
EMBEDDED = 100_000  # chunks of the largest memory that gets vectors of its own; beyond, drawn ones
BATCH = 5_000  # chunks written at once
SLOW = 60.0  # seconds of a round that are enough for one engine
SLOW_START = 5.0  # seconds of a first answer that are enough
PACKAGES = ("bm25s", "tantivy", "numba")
SCRIPT = str(Path(engines.__file__).resolve())


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine at one size. Milliseconds, MB."""

    rounds: int
    p50: float
    p95: float
    cpu_p50: float
    cpu_p95: float
    p50_by_sort: dict[str, float]
    first: float
    first_with_start: float
    numpy_at_first: bool
    index_mb: float
    peak_mb: float
    agree: float


def told(*words: str | Path) -> Any:
    """What a process of engines.py prints as JSON."""
    argv = [sys.executable, SCRIPT, *map(str, words)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout or "null")


class Worker:
    """A process that has one engine open and answers when it is asked."""

    def __init__(self, name: str, folder: Path, questions: Sequence[Question]) -> None:
        argv = [sys.executable, SCRIPT, "serve", name, str(folder)]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._send(json.dumps([one.text for one in questions]))

    def ask(self, what: str) -> Any:
        self._send(what)
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()


def prepare(size: int, *, fresh: bool) -> Path:
    """The folder of a size, with everything in it that will be asked."""
    folder = CACHE / str(size)
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if changed(folder, "memory", str(corpus.SEED)):
        shutil.rmtree(folder)
        folder.mkdir()
        spend("memory", sys.executable, __file__, "--make", str(size))
        kept(folder, "memory", str(corpus.SEED))
    for name in engines.available(folder):
        part = ENGINES[name].file
        if not name.startswith("aurora") and changed(folder, part, ours.recipe()):
            spend(name, sys.executable, SCRIPT, "build", name, str(folder))
            kept(folder, part, ours.recipe())
    model = default_embedder()
    if changed(folder, "vectors", f"{model.name} {model.fingerprint}"):
        spend("vectors", sys.executable, __file__, "--embed", str(size))
        kept(folder, "vectors", f"{model.name} {model.fingerprint}")
    spend("aurora's indexes", sys.executable, SCRIPT, "build", RANKING, str(folder))
    return folder


def changed(folder: Path, part: str, recipe: str) -> bool:
    """Whether a part was never made whole, or in another way."""
    stamp = folder / f"{part}.made"
    return not stamp.exists() or stamp.read_text(encoding="utf-8") != recipe


def kept(folder: Path, part: str, recipe: str) -> None:
    (folder / f"{part}.made").write_text(recipe, encoding="utf-8")


def spend(what: str, *argv: str) -> None:
    start = time.perf_counter()
    subprocess.run(argv, check=True)
    print(f"{what}: made in {time.perf_counter() - start:.1f} s", file=sys.stderr)


def make_memory(size: int) -> None:
    """In batches, as an index run writes them."""
    found = corpus.chunks(size)
    while batch := list(islice(found, BATCH)):
        ours.put_chunks(CACHE / str(size), batch)


def best_round(rounds: Sequence[Sequence[float]]) -> Sequence[float]:
    return min(rounds, key=statistics.median)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def rotated(names: Sequence[str], number: int) -> list[str]:
    """In each round another one begins."""
    start = number % len(names)
    return [*names[start:], *names[:start]]


@dataclass(slots=True)
class Times:
    """Milliseconds of every question, round by round."""

    wall: list[list[float]] = field(default_factory=list)
    cpu: list[list[float]] = field(default_factory=list)

    def add(self, pairs: Sequence[tuple[float, float]]) -> None:
        self.wall.append([wall for wall, _ in pairs])
        self.cpu.append([cpu for _, cpu in pairs])

    @property
    def was_slow(self) -> bool:
        return bool(self.wall) and sum(self.wall[-1]) > 1e3 * SLOW


def warm_rounds(workers: Mapping[str, Worker], rounds: int) -> dict[str, Times]:
    times = {name: Times() for name in workers}
    for number in range(rounds):
        for name in rotated(list(workers), number):
            if not times[name].was_slow:
                times[name].add(workers[name].ask("round"))
    return times


@dataclass(frozen=True, slots=True)
class First:
    """The first answer of a fresh process, in milliseconds."""

    answer: float
    with_start: float
    numpy: bool


def first_answers(
    names: Sequence[str], folder: Path, questions: Sequence[Question], *, rounds: int
) -> dict[str, First]:
    """One question of each sort; of the rounds, the quickest median."""
    asked = [next(one.text for one in questions if one.sort == sort) for sort in corpus.SORTS]
    found: dict[str, list[First]] = {name: [] for name in names}
    for number in range(rounds):
        for name in rotated(names, number):
            if not found[name] or found[name][-1].with_start < 1e3 * SLOW_START:
                found[name].append(median_first(name, folder, asked))
    return {name: min(several, key=with_start) for name, several in found.items()}


def median_first(name: str, folder: Path, asked: Sequence[str]) -> First:
    answers: list[First] = []
    for text in asked:
        answers.append(first_answer(name, folder, text))
        if answers[-1].with_start > 1e3 * SLOW_START:
            return answers[-1]
    return sorted(answers, key=with_start)[len(answers) // 2]


def with_start(first: First) -> float:
    return first.with_start


def first_answer(name: str, folder: Path, text: str) -> First:
    start = time.perf_counter()
    one = told("first", name, folder, text)
    return First(one["answer_ms"], 1e3 * (time.perf_counter() - start), one["numpy"])


def agreement(
    mine: Sequence[Sequence[str | int]], theirs: Sequence[Sequence[str | int]], ids: Sequence[str]
) -> float:
    """The share of the first ten that both have, over all questions that have an answer."""

    def known(answer: Sequence[str | int]) -> set[str]:
        return {one if isinstance(one, str) else ids[one] for one in answer}

    pairs = [(known(one), known(other)) for one, other in zip(mine, theirs, strict=True)]
    return statistics.mean(len(one & other) / len(one) for one, other in pairs if one)


def size_mb(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def measure(folder: Path, questions: Sequence[Question], *, rounds: int) -> dict[str, Measured]:
    names = engines.available(folder)
    firsts = first_answers(names, folder, questions, rounds=rounds)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, folder, questions)) for name in names}
        times = warm_rounds(workers, rounds)
        peaks = {name: worker.ask("peak") for name, worker in workers.items()}
        answers = {name: worker.ask("answers") for name, worker in workers.items()}
    ids = ours.chunk_ids(folder)
    return {
        name: Measured(
            **warm(times[name], questions),
            first=firsts[name].answer,
            first_with_start=firsts[name].with_start,
            numpy_at_first=firsts[name].numpy,
            index_mb=size_mb(folder / ENGINES[name].file),
            peak_mb=peaks[name],
            agree=agreement(answers[RANKING], answers[name], ids),
        )
        for name in names
    }


def warm(times: Times, questions: Sequence[Question]) -> dict[str, Any]:
    wall, cpu = best_round(times.wall), best_round(times.cpu)
    return {
        "rounds": len(times.wall),
        "p50": statistics.median(wall),
        "p95": percentile(wall, 0.95),
        "cpu_p50": statistics.median(cpu),
        "cpu_p95": percentile(cpu, 0.95),
        "p50_by_sort": by_sort(wall, questions),
    }


def by_sort(times: Sequence[float], questions: Sequence[Question]) -> dict[str, float]:
    return {
        sort: statistics.median(
            took for took, one in zip(times, questions, strict=True) if one.sort == sort
        )
        for sort in corpus.SORTS
    }


def created(folder: Path, rounds: int) -> dict[str, Any]:
    """A retriever made in a fresh process; the quickest of several."""
    return min((told("create", RANKING, folder) for _ in range(rounds + 2)), key=_create_ms)


def _create_ms(one: Mapping[str, float]) -> float:
    return one["create_ms"]


def report(size: int, made: Mapping[str, Any], measured: Mapping[str, Measured]) -> None:
    print(f"\n{size:,} chunks, memory.db {size_mb(CACHE / str(size) / 'memory.db'):,.0f} MB")
    loaded = "numpy loaded" if made["numpy"] else "numpy not loaded"
    print(
        f"creating a retriever: {made['create_ms']:.3f} ms, {loaded} (importing its modules "
        f"{made['import_ms']:.0f} ms, opening the store {made['store_ms']:.1f} ms)"
    )
    heads = (
        "p50 ms",
        "p95 ms",
        "CPU p50",
        "CPU p95",
        *corpus.SORTS,
        "first ms",
        "+ start",
        "numpy",
        "index MB",
    )
    print(f"{'':<18}" + "".join(f"{head:>11}" for head in (*heads, "peak MB", "agree")))
    for name, one in measured.items():
        sorts = (f"{one.p50_by_sort[sort]:.2f}" for sort in corpus.SORTS)
        times = (f"{took:.2f}" for took in (one.p50, one.p95, one.cpu_p50, one.cpu_p95))
        cells = (*times, *sorts, f"{one.first:.1f}")
        more = (f"{one.first_with_start:.0f}", "yes" if one.numpy_at_first else "no")
        sizes = (f"{one.index_mb:.1f}", f"{one.peak_mb:.0f}", f"{one.agree:.3f}")
        print(f"{name:<18}" + "".join(f"{cell:>11}" for cell in (*cells, *more, *sizes)))
    for line in verdicts(measured):
        print(line)


def verdicts(measured: Mapping[str, Measured]) -> Iterator[str]:
    """Who is quicker, and how many times, than Aurora's ranking."""
    mine = measured[RANKING]
    for name, one in measured.items():
        if not name.startswith("aurora"):
            p50 = versus(mine.p50, one.p50)
            cpu, p95 = versus(mine.cpu_p50, one.cpu_p50), versus(mine.p95, one.p95)
            first = versus(mine.first_with_start, one.first_with_start)
            yield f"to {name}: p50 {p50} (CPU {cpu}), p95 {p95}; first answer, with start {first}"


def versus(mine: float, theirs: float) -> str:
    quicker = mine <= theirs
    return f"{max(mine, theirs) / min(mine, theirs):.2f} x {'quicker' if quicker else 'SLOWER'}"


def run(sizes: Sequence[int], *, rounds: int, fresh: bool) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    corpus.fetch_packages()
    questions = corpus.questions()
    results: dict[str, object] = {}
    for size in sizes:
        folder = prepare(size, fresh=fresh)
        start = time.perf_counter()
        made, measured = created(folder, rounds), measure(folder, questions, rounds=rounds)
        report(size, made, measured)
        print(f"measured in {time.perf_counter() - start:.0f} s", file=sys.stderr)
        engines_ = {name: asdict(one) for name, one in measured.items()}
        results[str(size)] = {"create": made, "engines": engines_}
    if set(sizes) >= set(SIZES):
        there = [name for name in PACKAGES if util.find_spec(name)]
        record.save("search", {"rounds": rounds, "sizes": results}, packages=there)
    else:
        print("no file written: that takes all sizes")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--fresh", action="store_true", help="make all memories and indexes anew")
    options.add_argument("--make", type=int, help=argparse.SUPPRESS)
    options.add_argument("--embed", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.make:
        make_memory(given.make)
    elif given.embed:
        embedder = default_embedder() if given.embed <= EMBEDDED else DrawnVectors()
        ours.add_vectors(CACHE / str(given.embed), embedder)
    else:
        run(given.sizes, rounds=given.rounds, fresh=given.fresh)


if __name__ == "__main__":
    main()
