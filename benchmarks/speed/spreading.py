"""From which size it pays to embed on the nodes of a Ray cluster.

    python benchmarks/speed/spreading.py [--models FOLDER] [--rounds 3]
        [--aurora 6000] [--onnx 192]

Texts are pieces of 200 words and signs of the standard library's sources. Ways, in an order that
moves on by one each round:

    here        this process, as by default; MiniLM uses all processors by itself
    Ray, 1 node and Ray, 2 nodes    of one processor each, on this machine

    start       seconds to the first batch: Ray connects, models load
    then        chunks a second after that
    ratio       of `then` to that of the first way, in the same run
    pays from   chunks after which all of it, with the start, is quicker than here

All nodes share this machine's processors, so Ray can show what it costs here, but not what more
machines bring: for that, compare one node with two while both have a processor to themselves. What
counts is the quickest round. With `--onnx 0` MiniLM is left out; else it must be in the folder of
models (`aur models pull`). A run of at least three rounds writes
benchmarks/results/spreading-<commit>.json.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import record  # noqa: E402
from embedding import cut  # noqa: E402

from aurora.embeddings.base import ProviderOptions  # noqa: E402
from aurora.embeddings.registry import make_provider  # noqa: E402
from aurora.indexing.embedding import ChunkText, embedder_of, vectors_of  # noqa: E402
from aurora.indexing.ray import RayEmbedder  # noqa: E402
from tests.indexing.ray_nodes import Node, head_node  # noqa: E402

WHOLE_RUN = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One way, one model, one round."""

    model: str
    way: str
    chunks: int
    start_s: float
    then: float  # chunks a second


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    options.add_argument("--rounds", type=int, default=WHOLE_RUN)
    options.add_argument("--aurora", type=int, default=6_000, help="chunks for the default model")
    options.add_argument("--onnx", type=int, default=192, help="chunks for MiniLM")
    given = options.parse_args()
    counts = {"aurora": given.aurora, "onnx": given.onnx}
    found = list(run_rounds({name: n for name, n in counts.items() if n}, given))
    rows = best(found)
    report(rows)
    if given.rounds >= WHOLE_RUN:
        told = {"rounds": given.rounds, "load": os.getloadavg()}
        record.save("spreading", {**told, "best": list(map(asdict, rows))}, packages=["ray"])


def run_rounds(counts: dict[str, int], given: argparse.Namespace) -> Iterator[Measured]:
    order = ["here", "Ray, 1 node", "Ray, 2 nodes"]
    all_texts = texts(max(counts.values()))
    for _ in range(given.rounds):
        for way in order:
            with cluster_of(way) as address:
                for name, count in counts.items():
                    threads = 0 if way == "here" else 1
                    setting = ProviderOptions(models=given.models, threads=threads)
                    one = measure(address, name, setting, all_texts[:count], way)
                    print(f"{one.model}, {way}: {one.start_s:.1f} s, {one.then:,.0f}/s", flush=True)
                    yield one
        order.append(order.pop(0))


@contextmanager
def cluster_of(way: str) -> Iterator[str]:
    """The address of a cluster; empty where this process embeds."""
    if not way.startswith("Ray"):
        yield ""
        return
    with head_node() as address:
        second = Node(f"--address={address}") if way == "Ray, 2 nodes" else None
        try:
            yield address
        finally:
            if second is not None:
                second.kill()


def measure(
    address: str, name: str, options: ProviderOptions, some: Sequence[str], way: str
) -> Measured:
    make = partial(make_provider, name, options)
    embedder, size = embedder_of(make()), make().batch_size
    chunks = [ChunkText(text) for text in some]
    batches = [chunks[at : at + size] for at in range(0, len(chunks), size)]
    begin = time.perf_counter()
    if address:
        made = iter(RayEmbedder(address, make).embed(embedder, batches))
    else:
        provider = make()
        made = (vectors_of(provider, batch) for batch in batches)
    first = len(next(made) or ())
    start = time.perf_counter() - begin
    done = sum(len(vectors or ()) for vectors in made)
    assert first + done == len(some)
    then = done / (time.perf_counter() - begin - start)
    return Measured(embedder.name, way, len(some), round(start, 3), round(then, 1))


def texts(count: int) -> list[str]:
    library = Path(sysconfig.get_path("stdlib"))
    files = (file for file in sorted(library.rglob("*.py")) if "test" not in file.parts)
    pieces = (
        piece
        for file in files
        for piece in cut(iter([file.read_text(encoding="utf-8", errors="replace")]), words=200)
    )
    found = list(islice(pieces, count))
    assert len(found) == count, f"there are only {len(found)} texts"
    return found


def best(found: Sequence[Measured]) -> list[Measured]:
    """The quickest start and the quickest pace of each, which need not be of one round."""
    rounds: dict[tuple[str, str], list[Measured]] = {}
    for one in found:
        rounds.setdefault((one.model, one.way), []).append(one)
    return sorted(
        (
            Measured(
                model,
                way,
                same[0].chunks,
                min(one.start_s for one in same),
                max(one.then for one in same),
            )
            for (model, way), same in rounds.items()
        ),
        key=lambda one: (one.model, one.way != "here", one.way),
    )


def report(rows: Sequence[Measured]) -> None:
    print("\n| model | way | start, s | then, chunks/s | ratio | pays from, chunks |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        here = next(one for one in rows if one.model == row.model and one.way == "here")
        gained = 1 / here.then - 1 / row.then  # seconds a chunk
        later = row.start_s - here.start_s
        pays = f"{max(0, later / gained):,.0f}" if gained > 0 else "never here"
        shown = "" if row is here else pays
        print(
            f"| {row.model} | {row.way} | {row.start_s:.2f} | {row.then:,.0f} "
            f"| {row.then / here.then:.2f} × | {shown} |"
        )


if __name__ == "__main__":
    main()
