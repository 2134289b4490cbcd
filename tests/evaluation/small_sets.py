"""Sets of a few lines, and memories to ask them in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine.temporary_memory import TemporaryMemory

ITEMS = [
    {"id": "d1", "text": "The heron waits in the shallow water."},
    {"id": "d2", "text": "A kettle boils on the stove."},
    {"id": "d3", "text": "Storks like water, too.", "title": "Birds"},
]
QUESTIONS = [
    {"id": "q1", "text": "heron water"},
    {"id": "q2", "text": "kettle on a stove"},
    {"id": "q3", "text": "nobody judged this one"},
]
GRADES = [("q1", "d1", 2), ("q1", "d3", 1), ("q2", "d2", 1), ("q3", "d1", 0)]


def write_set(
    folder: Path,
    items: Iterable[Mapping[str, object]] = ITEMS,
    questions: Iterable[Mapping[str, object]] = QUESTIONS,
    grades: Iterable[tuple[str, str, object]] = GRADES,
    *,
    packed: bool = False,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    corpus = "".join(f"{json.dumps(item)}\n" for item in items).encode()
    if packed:
        (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(corpus))
    else:
        (folder / "corpus.jsonl").write_bytes(corpus)
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    rows = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in grades)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tgrade\n{rows}", encoding="utf-8")
    return folder


def throw_away(home: Path, **flags: object) -> TemporaryMemory:
    """As a user has it who set nothing; `embedding_provider` is `embedding.provider`."""
    settings = {key.replace("_", ".", 1): value for key, value in flags.items()}
    return TemporaryMemory(SettingsFiles(Places(home), {}, settings))
