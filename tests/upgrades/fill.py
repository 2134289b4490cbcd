"""Fill a memory by the program of its time: run by `make`, with that program's code on the path.

It keeps to what every Aurora had: the commands, as far as there were any, and the few methods of a
store that never changed. What one could not do yet, its memory does not hold.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore

AUR = (sys.executable, "-c", "from aurora.cli.main import main; main()")
VECTORS = {"auth.py:AuthManager.logout": (0.6, 0.8, 0.0), "auth.py:authenticate_user": (0, 0, 1.0)}


def fill(project: Path, document: Path, *lessons: tuple[str, str]) -> None:
    aur(project, "mem", "index")
    for text, score in lessons:
        aur(project, "mem", "learn", text, "--score", score, "--type", "recovery")
    labels = ("--namespace", "team", "--document-type", "decision", "--meta", "status=agreed")
    aur(project, "mem", "add", str(document), *labels)
    for _ in range(2):
        aur(project, "mem", "get", "auth.py:authenticate_user")
    aur(project, "mem", "index")  # vectors and histories of what came later
    with closing(SQLiteStore(project / ".aurora" / "memory.db")) as store:
        store.chunks.record_access(
            "auth.py:AuthManager.logout", datetime(2026, 3, 14, 9, tzinfo=UTC)
        )
        if store.vectors.embedder() is None:
            put_vectors(store, Embedder("tiny", 3, "1"))
        if hasattr(store.vectors, "start_reembedding"):  # one that nobody finished
            store.vectors.start_reembedding(Embedder("another", 3, "1"))
            put_vectors(store, Embedder("another", 3, "1"))
    aur(project, "mem", "export", str(document.with_name("export.jsonl")))


def put_vectors(store: SQLiteStore, embedder: Embedder) -> None:
    """By hand, for there were programs that no model came with."""
    try:
        from aurora.packing import pack_vector
    except ImportError:
        from aurora.stores.base import pack_vector  # type: ignore[attr-defined,no-redef]
    made = [(id_, pack_vector(vector)) for id_, vector in VECTORS.items()]
    store.vectors.put_embeddings(embedder, made)


def aur(project: Path, *words: str) -> None:
    done = subprocess.run([*AUR, *words], cwd=project, capture_output=True, text=True, check=False)
    if done.returncode and "No such command" not in done.stderr:
        raise SystemExit(f"aur {' '.join(words)}:\n{done.stderr}")


if __name__ == "__main__":
    where, long_text, *told = sys.argv[1:]
    fill(Path(where), Path(long_text), *zip(told[::2], told[1::2], strict=True))
