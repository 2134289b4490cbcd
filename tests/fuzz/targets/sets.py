"""Evaluation sets: corpus, questions and grades, between lines of `====`. A set reads and every
question of it has an answer, or the line that is wrong is told."""

from __future__ import annotations

import gzip
from pathlib import Path

from aurora.errors import SourceError
from aurora.evaluation.datasets import LabelledSet, read_set
from tests.fuzz.inputs import require_told, scratch, scratch_file

BETWEEN = b"\n====\n"
_PACKED = b"\x1f\x8b"  # how gzip begins


def check(data: bytes) -> None:
    corpus, queries, grades = [*data.split(BETWEEN), b"", b""][:3]
    _write(corpus, queries, grades)
    found = _read()
    if not corpus.startswith(_PACKED):
        _write(gzip.compress(corpus, 1), queries, grades)
        assert _read() == found  # packed or not


def _write(corpus: bytes, queries: bytes, grades: bytes) -> None:
    plain, packed = scratch("set/corpus.jsonl"), scratch("set/corpus.jsonl.gz")
    for old in (plain, packed):
        old.unlink(missing_ok=True)
    name = packed if corpus.startswith(_PACKED) else plain
    scratch_file(f"set/{name.name}", corpus)
    scratch_file("set/queries.jsonl", queries)
    scratch_file("set/qrels.tsv", grades)


def _read() -> LabelledSet | None:
    folder: Path = scratch("set")
    try:
        found = read_set(folder)
    except SourceError as exc:
        require_told(exc)
        exc.message.encode()
        return None
    for question in found.questions:
        assert question.text.strip()
        assert max(question.grades.values()) > 0
    groups = list(found.by_group())
    assert sum(len(group.questions) for group in groups) == len(found.questions)
    assert all(group.items for group in groups)
    assert len(found.draw(1).questions) == 1
    for item in found.items:
        assert item.date is None or item.date.tzinfo
    return found
