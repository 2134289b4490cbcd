"""What the keyword index of a large memory takes: to build, to follow one changed file, to answer.

    python benchmarks/speed/million.py [--chunks 1000000] [--keep FOLDER]

The chunks are those of `corpus.py`: real ones, then copies of them with other names. Their texts
are written to a file first, so that the build has the processor time and the memory of the index
alone. Each part runs in a process of its own; times are its processor time, with numpy's import
for comparison. With --keep, the texts and the index stay in a folder, and the texts are used again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from aurora.signals.base import Entry
from aurora.signals.bm25 import BM25Scorer
from aurora.stores.base import Revision, RevisionGroup
from aurora.text import WORDS, chunk_text
from benchmarks.speed import corpus

CHANGED = 20  # chunks of one file
WRITTEN_TOGETHER = 1_000  # chunks of one transaction
NEWEST = 1 << 40  # the generation of what has changed
POOL = 100


def write_texts(path: Path, chunks: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for chunk in corpus.chunks(chunks):
            out.write(json.dumps([chunk.id, chunk_text(chunk)]) + "\n")


def entries(texts: Path) -> Iterator[Entry]:
    with texts.open(encoding="utf-8") as lines:
        for row, line in enumerate(lines, start=1):
            id_, text = json.loads(line)
            yield Entry(id_, text, Revision(row, generation_of(row)))


def generation_of(row: int) -> int:
    return 1 + row // WRITTEN_TOGETHER


def build(folder: Path) -> None:
    scorer = BM25Scorer(analysis=WORDS)
    scorer.build_index(entries(folder / "texts"), spill=folder / "bm25.idx")
    scorer.save_index(folder / "bm25.idx")


def update(folder: Path) -> dict[str, float]:
    """One file of which every chunk has changed. The store is left out."""
    stored = {row: generation_of(row) for row in range(1, len(load(folder)) + 1)}
    stored |= dict.fromkeys(range(1, CHANGED + 1), NEWEST)
    rows: dict[int, list[int]] = {}
    for row, generation in stored.items():
        rows.setdefault(generation, []).append(row)
    groups = {
        at: RevisionGroup(len(some), sum(some), sum(row * ((row + at) & 1023) for row in some))
        for at, some in rows.items()
    }
    changed = [
        entry._replace(revision=Revision(entry.revision.row, NEWEST))
        for entry in islice(entries(folder / "texts"), CHANGED)
    ]
    start = time.process_time()
    base, updated = load(folder), BM25Scorer(analysis=WORDS)
    generations = base.changed_generations(lambda **_: groups)
    affected = {row: generation for generation in generations for row in rows[generation]}
    difference = base.compare(generations, dict(sorted(affected.items())))
    assert difference.rows == list(range(1, CHANGED + 1))
    updated.update_index(base, difference, changed)
    updated.save_index(folder / "bm25.idx")
    return {"update_seconds": time.process_time() - start}


def load(folder: Path) -> BM25Scorer:
    scorer = BM25Scorer(analysis=WORDS)
    scorer.load_index(folder / "bm25.idx")
    return scorer


def first_answer(folder: Path) -> None:
    load(folder).score_all(corpus.questions()[-1].text).best(POOL)


def answers(folder: Path) -> dict[str, float]:
    scorer, spent = load(folder), []
    for question in corpus.questions()[:3] + corpus.questions():
        start = time.process_time()
        scores = scorer.score_all(question.text)
        scores.hits(scores.best(POOL))
        spent.append(1e3 * (time.process_time() - start))
    return {"p50_ms": median(spent[3:]), "p95_ms": quantiles(spent[3:], n=20)[-1]}


def import_numpy(_: Path) -> None:
    import numpy  # noqa: F401, ICN001, PLC0415 - what is timed


PARTS: dict[str, Callable[[Path], Mapping[str, float] | None]] = {
    "build": build, "import numpy": import_numpy, "first answer": first_answer,
    "one changed file": update, "answers": answers,
}  # fmt: skip


def run_part(name: str, folder: Path) -> None:
    start = time.process_time()
    more = PARTS[name](folder) or {}
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "memory_mb": most_memory(), **more}))


def most_memory() -> float:
    """Megabytes that this program had at most, with mapped pages, on Linux."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(kilobytes) / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=1_000_000)
    options.add_argument("--keep", type=Path)
    options.add_argument("--part", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.part:
        run_part(given.part[0], Path(given.part[1]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        corpus.fetch_packages()
        if not (folder / "texts").exists():
            write_texts(folder / "texts", given.chunks)
        corpus.questions()
        print(f"{given.chunks:,} chunks")
        for name in PARTS:
            command = [sys.executable, __file__, "--part", name, str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            numbers = ", ".join(
                f"{key} {value:,.2f}" for key, value in json.loads(done.stdout).items()
            )
            print(f"{name:<18}{numbers}")


if __name__ == "__main__":
    main()
