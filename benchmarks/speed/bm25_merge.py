"""How long the keyword index takes to follow a change: updated, and built anew in the same run.

    python benchmarks/speed/bm25_merge.py [--memory PATH/TO/.aurora] [--chunks 10000] [--rounds 3]

Works on a copy of a memory; without one, on a memory of the Python sources that come with this
interpreter. Chunks are changed, from those of one file up to all; then an index is opened,
brought up to date and saved. Times are the best of the rounds, CPU seconds of this process with
numpy loaded. Both ways must end in the same postings. Where an update stops paying is where
`_UPDATE_SHARE` of `bm25_signal` should be below.
"""

from __future__ import annotations

import argparse
import shutil
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from aurora.parsers.registry import parser_for
from aurora.signals import bm25 as bm25_signal
from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_index import merge
from aurora.signals.bm25_segment import open_bm25_file
from aurora.stores.sqlite.store import SQLiteStore
from aurora.text import WORDS
from aurora.types import Chunk, Document

SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def python_chunks() -> Iterator[Chunk]:
    for top in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for file in sorted(Path(top).rglob("*.py")):
            text = file.read_text(encoding="utf-8", errors="replace")
            yield from parser_for("module.py").parse(Document(str(file), text)).chunks


def open_copy(memory: Path | None, folder: Path, *, chunks: int) -> SQLiteStore:
    if memory is not None:
        shutil.copy(memory / "memory.db", folder / "memory.db")
        return SQLiteStore(folder / "memory.db")
    store = SQLiteStore(folder / "memory.db")
    store.chunks.put_chunks(islice(python_chunks(), chunks))
    return store


def changes(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Sequence[Chunk]]]:
    """What is changed, from little to everything, with its name."""
    files = Counter(chunk.path for chunk in chunks).most_common()
    for what, (path, _) in [("a middling file", files[len(files) // 2]), ("the largest", files[0])]:
        yield what, [chunk for chunk in chunks if chunk.path == path]
    for share in SHARES:
        count = max(1, round(share * len(chunks)))
        yield f"{share:.0%} of the chunks", chunks[:: len(chunks) // count][:count]


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def postings_of(path: Path) -> bytes:
    arrays = merge(open_bm25_file(path, WORDS).segments)
    return b"".join(np.asarray(arrays[name]).tobytes() for name in sorted(arrays))


def measure(
    store: SQLiteStore, path: Path, changed: Sequence[Chunk], *, rounds: int
) -> tuple[float, float]:
    """Seconds to update and to build."""
    merging, building = [], []
    for number in range(rounds):
        word = f"revised_{time.time_ns()}_{number}"
        store.chunks.put_chunks(
            replace(chunk, content=f"{chunk.content}\n{word}") for chunk in changed
        )
        merging.append(cpu_seconds(BM25Signal(store, path, now=lambda: NOW).refresh))
        updated = postings_of(path)
        building.append(cpu_seconds(BM25Signal(store, path, now=lambda: NOW).rebuild))
        assert postings_of(path) == updated, "updating and building gave two indexes"
    return min(merging), min(building)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--memory", type=Path)
    options.add_argument("--chunks", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()

    bm25_signal._UPDATE_SHARE = 1.0  # type: ignore[misc]  # also where it does not pay
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store, path = open_copy(given.memory, folder, chunks=given.chunks), folder / "bm25.idx"
        chunks = list(store.chunks.iter_chunks())
        BM25Signal(store, path, now=lambda: NOW).rebuild()
        size = sum(file.stat().st_size for file in folder.glob("bm25.idx*"))
        print(f"{len(chunks):,} chunks, index of {size / 1e6:.1f} MB")
        print(f"{'changed':<24}{'chunks':>8}{'update s':>9}{'build s':>9}{'build / update':>15}")
        for what, changed in changes(chunks):
            merge, build = measure(store, path, changed, rounds=given.rounds)
            ratio = f"{build / merge:.1f} x"
            print(f"{what:<24}{len(changed):>8,}{merge:>9.2f}{build:>9.2f}{ratio:>15}")
        store.close()


if __name__ == "__main__":
    main()
