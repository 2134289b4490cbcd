"""A question to the vectors of up to a million real texts, beside exact numpy.

    python benchmarks/speed/vectors.py --texts FOLDER... [--sizes 10000 100000 1000000]

The texts are the distinct paragraphs, of 60 characters or more, of all text files in the folders,
in the order of their hashes; the `shallow` model embeds them. The 210 questions are sentences of
docstrings, comments and names of functions in them. Memories and vectors are kept in
benchmarks/.cache/vectors. Each size is measured in a process of its own, with one thread for BLAS:

    first     processor seconds from the start of a fresh process to its first answer, by meaning
    p50, p95  processor milliseconds of a question whose vector is known, for a hundred candidates
              and the scores of fifty other chunks, as a search asks for them
    recall    of the exact first ten and first hundred, the share that is among the first ten and
              the first hundred
    resident  megabytes after all questions; `index` are those on disk
    update    processor seconds from a changed file of twenty chunks, whose vectors are stored,
              until it is found; a process that was up to date before
    exact     p50 of all products in float32 and the best hundred; `first 64` of the first 64
              numbers of each and the best thousandth in full, as before these codes
    reading   milliseconds to read the bytes that a question reads of every vector, and those that
              exact products read, at the speed of `numpy.max` in the same process

A run of all sizes writes benchmarks/results/vectors-<commit>.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "vectors"
SIZES = (10_000, 100_000, 1_000_000)
SUFFIXES = (".py", ".js", ".ts", ".md", ".rst", ".txt", ".c", ".h", ".go", ".rs", ".java", ".pyi")
SHORTEST, LONGEST = 60, 1200  # characters of a paragraph
MOST_OF_A_FILE = 400  # paragraphs
BATCH = 5_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = 20  # chunks of one file
QUESTIONS = (
    re.compile(r'"""\s*([A-Z][^.\n]{25,120})'),
    re.compile(r"^\s*(?:#|//) ([A-Za-z][\w ,']{20,})$", re.MULTILINE),
    re.compile(r"\bdef ([a-z_]{8,})\("),
)
_THREADS = "OPENBLAS_NUM_THREADS"


def paragraphs(folders: Sequence[Path]) -> Iterator[tuple[bytes, str]]:
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file() or file.stat().st_size > 2e6:
                continue
            text = file.read_text(encoding="utf-8", errors="ignore")
            parts = (part.strip() for part in re.split(r"\n\s*\n", text))
            long = (part[:LONGEST] for part in parts if len(part) >= SHORTEST)
            for part in islice(long, MOST_OF_A_FILE):
                text = f"{file.name}\n{part}"
                yield hashlib.blake2b(part.encode(), digest_size=8).digest(), text


def make_vectors(folders: Sequence[Path], count: int) -> None:
    """Unless an earlier run has made enough."""
    import numpy as np  # noqa: PLC0415
    from embedders import make_embedder  # noqa: PLC0415

    made = CACHE / "vectors.npy"
    if made.exists() and len(np.load(made, mmap_mode="r")) >= count:
        return
    texts = dict(paragraphs(folders))
    chosen = [texts[key] for key in sorted(texts)[:count]]
    if len(chosen) < count:
        raise SystemExit(f"the folders have {len(chosen):,} distinct paragraphs of {count:,}")
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "texts.json").write_text(json.dumps(chosen), encoding="utf-8")
    embedder = make_embedder("aurora:shallow", Path())
    asked = [list(embedder.embed_query(text)) for text in find_questions(chosen)]
    np.save(CACHE / "questions.npy", np.asarray(asked, np.float32))
    vectors = np.lib.format.open_memmap(
        CACHE / "part.npy", "w+", np.float16, (count, embedder.dimension)
    )
    for start in range(0, count, 250):
        vectors[start : start + 250] = embedder.embed_batch(chosen[start : start + 250])
    vectors.flush()
    (CACHE / "part.npy").rename(made)


def find_questions(texts: Sequence[str]) -> list[str]:
    some = texts[::31]
    found = [sorted({m for text in some for m in pattern.findall(text)}) for pattern in QUESTIONS]
    return [text for each in found for text in each[:: max(1, len(each) // 70)][:70]]


def make_memory(size: int) -> None:
    """Chunks with the vectors of the first texts, a file for every twenty; their own texts are
    short, as only vectors are searched."""
    import numpy as np  # noqa: PLC0415

    from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415

    folder = CACHE / str(size)
    folder.mkdir(parents=True, exist_ok=True)
    vectors = np.load(CACHE / "vectors.npy", mmap_mode="r")
    store = SQLiteStore(folder / "memory.db")
    for start in range(0, size, BATCH):
        numbers = range(start, min(start + BATCH, size))
        chunks = [chunk_of(number) for number in numbers]
        store.chunks.put_chunks(chunks)
        packed = ((each.id, vectors[n].tobytes()) for n, each in zip(numbers, chunks, strict=True))
        store.vectors.put_embeddings(embedder_of(), packed)
    store.close()
    (folder / "made").touch()


def chunk_of(number: int, text: str = "text") -> Any:
    from aurora.types import Chunk, Kind  # noqa: PLC0415

    path, name = f"files/{number // FILE}.py", f"part{number % FILE}"
    return Chunk(f"{path}:{name}", Kind.FUNCTION, name, text, name, path)


def embedder_of() -> Any:
    from embedders import make_embedder  # noqa: PLC0415

    from aurora.indexing.embedding import embedder_of as of  # noqa: PLC0415

    return of(make_embedder("aurora:shallow", Path()))


def open_index(size: int) -> tuple[Any, Any]:
    from aurora.signals.vector_index import VectorIndex  # noqa: PLC0415
    from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415

    store = SQLiteStore(CACHE / str(size) / "memory.db")
    path = CACHE / str(size) / "indexes" / "vectors.idx"
    return store, VectorIndex(store, path, now=lambda: NOW)


def first_answer(size: int) -> None:
    """In a fresh process: the processor seconds until now."""
    from embedders import make_embedder  # noqa: PLC0415

    from aurora.signals.base import Question  # noqa: PLC0415
    from aurora.signals.semantic import SemanticSignal  # noqa: PLC0415

    _, index = open_index(size)
    signal = SemanticSignal(index, lambda _: make_embedder("aurora:shallow", Path()))
    assert len(signal.score(Question("parse the header of a file", NOW)).best(10)) == 10
    print(json.dumps(round(time.process_time(), 3)))


def measure(size: int) -> None:
    import numpy as np  # noqa: PLC0415

    from aurora.signals.cosine_scores import Matrix  # noqa: PLC0415

    store, index = open_index(size)
    matrix, asked = Matrix(index.current()), np.load(CACHE / "questions.npy")
    others = range(1, size, size // 50)

    def ask(question: Any) -> list[int]:
        scores = matrix.compare(question.tolist())
        best = scores.best(100)
        scores.hits([*best, *others])
        return list(best)

    took, answers = timed(ask, asked)
    result: dict[str, Any] = {**took, "resident": resident(), "recall": None}
    path = CACHE / str(size) / "indexes" / "vectors.idx"
    result["index"] = round(sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6, 1)
    result["segments"] = [segment.size for segment in index.current().segments]
    result["update"] = update(store, index)
    values = np.load(CACHE / "vectors.npy", mmap_mode="r")[:size].astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    exact, best = timed(lambda question: first(values @ question, 100), asked)
    result["exact"] = exact["p50"]
    kept = [[len({*a[:k]} & {*(b[:k] + 1).tolist()}) / k for k in (10, 100)]
            for a, b in zip(answers, best, strict=True)]  # fmt: skip
    result["recall"] = [round(statistics.mean(each), 4) for each in zip(*kept, strict=True)]
    short = values[:, :64] / np.linalg.norm(values[:, :64], axis=1, keepdims=True)

    def by_short(question: Any) -> Any:
        guesses = short @ question[:64]
        near = np.argpartition(guesses, -max(2_000, size // 1_000))[-max(2_000, size // 1_000) :]
        return near[first(values[near] @ question, 100)]

    result["first 64"] = timed(by_short, asked)[0]["p50"]
    fastest = min(timed(lambda _: values.max(), asked[:3])[0]["all"])
    by_byte = fastest / values.nbytes
    result["reading"] = {"codes": round(32 * size * by_byte, 2), "exact": round(fastest, 2)}
    del result["all"]
    print(json.dumps(result))


def first(cosines: Any, count: int) -> Any:
    import numpy as np  # noqa: PLC0415

    best = np.argpartition(cosines, -count)[-count:]
    return best[np.argsort(-cosines[best])]


def timed(ask: Callable[[Any], Any], asked: Any) -> tuple[dict[str, Any], list[Any]]:
    """Processor milliseconds; of two rounds, the lower."""
    answers = [ask(question) for question in asked]
    times = []
    for question in asked:
        start = time.process_time()
        ask(question)
        times.append(1000 * (time.process_time() - start))
    ordered = sorted(times)
    p50, p95 = statistics.median(times), ordered[int(0.95 * len(ordered))]
    return {"p50": round(p50, 2), "p95": round(p95, 2), "all": times}, answers


def resident() -> float:
    """Megabytes; the highest so far where the system does not say how many now."""
    status = Path("/proc/self/status")
    if status.exists():
        [kilobytes] = re.findall(r"VmRSS:\s+(\d+)", status.read_text())
        return round(int(kilobytes) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def update(store: Any, index: Any) -> float:
    """Processor seconds until a changed file is found; the median of five changes."""
    import numpy as np  # noqa: PLC0415

    from aurora.signals.cosine_scores import Matrix  # noqa: PLC0415

    times: list[float] = []
    before = np.load(CACHE / "vectors.npy", mmap_mode="r")
    for number in range(min(5, len(before) // FILE)):
        random = np.random.default_rng(number)
        vectors = random.standard_normal((FILE, index.current().dimension)).astype(np.float16)
        chunks = [chunk_of(FILE * number + n, f"changed at {time.time_ns()}") for n in range(FILE)]
        store.chunks.put_chunks(chunks)
        packed = [(each.id, row.tobytes()) for each, row in zip(chunks, vectors, strict=True)]
        store.vectors.put_embeddings(embedder_of(), packed)
        start = time.process_time()
        [row] = Matrix(index.current()).compare(vectors[3].tolist()).best(1)
        times.append(time.process_time() - start)
        assert store.chunks.get_rows([row])[row].id == chunks[3].id
        places = range(FILE * number, FILE * (number + 1))
        store.chunks.put_chunks(map(chunk_of, places))
        packed = [(each.id, before[n].tobytes()) for n, each in zip(places, chunks, strict=True)]
        store.vectors.put_embeddings(embedder_of(), packed)
    index.current()
    return round(statistics.median(times), 3)


def run(*words: str) -> Any:
    environment = os.environ | {_THREADS: "1"}
    done = subprocess.run(
        [sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, env=environment
    )
    return json.loads(done.stdout or "null")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", nargs="+", type=Path, default=[])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        steps = {"make": make_memory, "first": first_answer, "measure": measure}
        steps[given.step[0]](int(given.step[1]))
        return
    make_vectors(given.texts, max(given.sizes))
    results = {}
    for size in map(str, given.sizes):
        if not (CACHE / size / "made").exists():
            run("--step", "make", size)
        run("--step", "first", size)  # makes the index
        firsts = [run("--step", "first", size) for _ in range(5)]
        results[size] = {"first": min(firsts), **run("--step", "measure", size)}
        print(f"{int(size):,}: {results[size]}")
    if set(given.sizes) >= set(SIZES):
        import record  # noqa: PLC0415

        record.save("vectors", {"sizes": results})


if __name__ == "__main__":
    main()
