"""How quick embedding providers are, and what they need: each in processes of its own.

    python benchmarks/speed/embedding.py [--provider aurora --provider onnx:MODEL …]
        [--models FOLDER] [--rounds 5] [--seconds 3] [--threads 1]

A provider is a name that `embedding.provider` may have, with a model after a colon, and `@numpy`
at the end where onnxruntime is to be hidden from it. In every round each has a fresh process, in
an order that moves on by one, so that noise hits all alike:

    load        from before numpy and `aurora` are imported to the first vector, without Python's
                own start
    first       the same without the import of numpy
    questions   20 words and signs of this repository's documents, one at a time
    chunks      200 words and signs of its Python sources, in batches of the provider's size
    CPU         milliseconds of all threads for such a chunk: what a busy machine changes least
    loaded      memory of the process after its first vector
    peak        the most it ever had
    grown       what the model added to it: until the first vector, beyond Python and numpy, and at
                most while it embedded, beyond the texts

No text comes twice in a process. What counts is the best round; and since machines differ, the
ratio to the first provider. One that cannot be made is named and left out. A run of at least five
rounds writes benchmarks/results/embedding-<commit>.json.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WHOLE_RUN = 5  # rounds: fewer are a look, not a result
_WORD = re.compile(r"\w+|[^\w\s]")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Measured:
    """One process. Memory in MB; texts a second."""

    name: str
    load_s: float
    beyond_numpy_s: float
    questions: float
    chunks: float
    chunk_cpu_ms: float
    loaded_mb: float
    peak_mb: float
    grown_mb: float


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--provider", action="append", default=[], help="NAME or NAME:MODEL")
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    options.add_argument("--rounds", type=int, default=WHOLE_RUN)
    options.add_argument("--seconds", type=float, default=3.0, help="for each kind of text")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        print(json.dumps(asdict(measure(given.child, given.models, given.seconds))))
        return
    rounds = run_rounds(
        given.provider or ["aurora"],
        given.models,
        rounds=given.rounds,
        seconds=given.seconds,
        threads=given.threads,
    )
    report(rounds)
    if given.rounds >= WHOLE_RUN:
        save(rounds, given)


def measure(spec: str, models: Path, seconds: float) -> Measured:
    """In the child: nothing of Aurora was imported before."""
    start = time.perf_counter()
    import numpy  # noqa: F401, ICN001, PLC0415

    numpy_s, bare = time.perf_counter() - start, memory("VmRSS")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from embedders import NUMPY, make_embedder  # noqa: PLC0415

    from aurora.errors import EmbeddingError  # noqa: PLC0415

    try:
        provider = make_embedder(spec, models)
        provider.embed_query("Where is the index file opened?")
    except EmbeddingError as exc:
        raise SystemExit(exc.in_one_line) from exc
    load = time.perf_counter() - start
    loaded, peak = memory("VmRSS"), memory("VmHWM")
    questions, chunks = cut(documents(), words=20), cut(sources(), words=200)
    before, peak = memory("VmRSS"), max(peak, memory("VmHWM"))
    forget_peak()
    short = pace(lambda some: provider.embed_query(some[0]), questions, 1, seconds)
    long = pace(provider.embed_batch, chunks, provider.batch_size, seconds)
    embedding = memory("VmHWM")
    return Measured(
        provider.name + (NUMPY if spec.endswith(NUMPY) else ""),
        round(load, 4),
        round(load - numpy_s, 4),
        round(short.texts / short.wall_s, 1),
        round(long.texts / long.wall_s, 1),
        round(1e3 * long.cpu_s / long.texts, 4),
        loaded,
        max(peak, embedding),
        round(loaded - bare + embedding - before, 1),
    )


class Pace(NamedTuple):
    texts: int
    wall_s: float
    cpu_s: float


def pace(
    embed: Callable[[Sequence[str]], object], texts: Sequence[str], size: int, seconds: float
) -> Pace:
    """Until the time or the texts are over."""
    start, cpu, done = time.perf_counter(), time.process_time(), 0
    while done < len(texts) and time.perf_counter() - start < seconds:
        embed(some := texts[done : done + size])
        done += len(some)
    return Pace(done, time.perf_counter() - start, time.process_time() - cpu)


def memory(name: str) -> float:
    """MB of this process: VmRSS is what it has, VmHWM the most it had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return round(int(found[1]) / 1024, 1) if found else 0.0


def forget_peak() -> None:
    """From now on VmHWM is the most that the process had since."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def sources() -> Iterator[str]:
    for file in sorted((ROOT / "src").rglob("*.py")):
        yield file.read_text(encoding="utf-8")


def documents() -> Iterator[str]:
    """Prose: the documents, and the docstrings of the sources."""
    for file in sorted(ROOT.glob("docs/**/*.md")):
        yield file.read_text(encoding="utf-8")
    for text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield ast.get_docstring(node) or ""


def cut(texts: Iterator[str], *, words: int) -> list[str]:
    """Pieces with so many words and signs, as they stand."""
    found: list[str] = []
    for text in texts:
        starts = [match.start() for match in _WORD.finditer(text)][::words]
        found += [text[start:end] for start, end in itertools.pairwise(starts)]
    return list(dict.fromkeys(found))


def run_rounds(
    specs: Sequence[str], models: Path, *, rounds: int, seconds: float = 3.0, threads: int = 1
) -> list[list[Measured]]:
    """Provider → its rounds; the order moves on by one each round."""
    found: dict[str, list[Measured]] = {spec: [] for spec in specs}
    order = list(specs)
    for number in range(rounds + 1):  # the first writes bytecode and fills the page cache
        order.append(order.pop(0))
        for spec in list(order):
            measured = run_child(spec, models, seconds, threads)
            if measured is None:
                order.remove(spec)
                del found[spec]
            elif number:
                found[spec].append(measured)
    return list(found.values())


def run_child(spec: str, models: Path, seconds: float, threads: int) -> Measured | None:
    argv = [sys.executable, __file__, "--child", spec, "--models", str(models)]
    child = subprocess.run(
        [*argv, "--seconds", str(seconds)],
        env={**os.environ, **dict.fromkeys(_THREADS, str(threads))},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        print(f"left out: {spec}: {child.stderr.strip()}", file=sys.stderr)
        return None
    return Measured(**json.loads(child.stdout.splitlines()[-1]))


def best(rounds: Sequence[Measured]) -> Measured:
    return Measured(
        rounds[0].name,
        min(one.load_s for one in rounds),
        min(one.beyond_numpy_s for one in rounds),
        max(one.questions for one in rounds),
        max(one.chunks for one in rounds),
        min(one.chunk_cpu_ms for one in rounds),
        min(one.loaded_mb for one in rounds),
        min(one.peak_mb for one in rounds),
        min(one.grown_mb for one in rounds),
    )


def report(rounds: Sequence[Sequence[Measured]]) -> None:
    """Markdown, each number with its ratio to the first provider's."""
    times = ("load, s", "first, s", "questions/s", "chunks/s", "CPU ms a chunk")
    heads = (*times, "loaded, MB", "peak, MB", "grown, MB")
    print("| | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|")
    all_best = [best(some) for some in rounds]
    for one in all_best:
        first, cells = asdict(all_best[0]), []
        for field, value in asdict(one).items():
            if field != "name":
                shown = f"{value:.3f}" if value < 10 else f"{value:,.0f}"
                cells.append(f"{shown} ({value / first[field]:.3g} ×)")
        print(f"| {one.name} | " + " | ".join(cells) + " |")


def save(rounds: Sequence[Sequence[Measured]], given: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import record  # noqa: PLC0415 - it imports aurora, which a child times

    told = {"rounds": given.rounds, "threads": given.threads}
    record.save("embedding", {**told, "best": [asdict(best(some)) for some in rounds]})


if __name__ == "__main__":
    main()
