"""Labelled questions: sets to read, questions to draw, and how good an answer is.

A set is a folder with corpus.jsonl(.gz) (`id`, `text`, optional `title`, `path`, `group`),
queries.jsonl (`id`, `text`, optional `group`) and qrels.tsv (header; query, document, grade). A
question is asked only inside its group. Every text is one chunk; one with a path is a file, which
is cut into pieces as the parsers would, and found where its best piece is.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aurora.types import Chunk, Kind

PIECE = 4000  # characters of a file
PIECES = 3  # chunks asked for a place, so that ten files are among them

Record = dict[str, Any]
Grades = Mapping[str, Mapping[str, float]]


def read_set(folder: Path) -> tuple[list[Record], list[Record], Grades]:
    packed, plain = folder / "corpus.jsonl.gz", folder / "corpus.jsonl"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    corpus = list(map(json.loads, data.splitlines()))
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        queries = list(map(json.loads, file))
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")[:3]
        grades[query][document] = float(grade)
    return corpus, [query for query in queries if query["id"] in grades], grades


def draw(queries: Sequence[Record], most: int) -> Sequence[Record]:
    """All of them, or so many, always the same ones."""
    if len(queries) <= most:
        return queries
    return random.Random(0).sample(queries, most)  # noqa: S311 - no secret


def by_group(
    corpus: Sequence[Record], queries: Sequence[Record]
) -> Iterator[tuple[list[Record], list[Record]]]:
    """The texts and the questions of each group that is asked about."""
    texts: dict[str, list[Record]] = defaultdict(list)
    asked: dict[str, list[Record]] = defaultdict(list)
    for record in corpus:
        texts[record.get("group", "")].append(record)
    for query in queries:
        asked[query.get("group", "")].append(query)
    for group in sorted(asked):
        yield texts[group], asked[group]


def chunks(record: Record) -> Iterator[Chunk]:
    title, path, text = record.get("title") or "", record.get("path") or "", record["text"]
    for number, piece in enumerate(pieces(text) if path else [text]):
        yield Chunk(f"{record['id']}\n{number}", Kind.KNOWLEDGE, title, piece, path=path)


def pieces(text: str) -> list[str]:
    """Whole lines, unless one alone is longer."""
    found, size = [""], 0
    for line in text.splitlines(keepends=True):
        for at in range(0, len(line), PIECE):
            part = line[at : at + PIECE]
            if size + len(part) > PIECE:
                found.append("")
                size = 0
            found[-1] += part
            size += len(part)
    return found


def documents(chunk_ids: Sequence[str]) -> list[str]:
    """Each once, where its best piece is."""
    return list(dict.fromkeys(chunk_id.rpartition("\n")[0] for chunk_id in chunk_ids))


def ndcg(found: Sequence[str], grades: Mapping[str, float], *, at: int = 10) -> float:
    """Järvelin and Kekäläinen (2002), with linear gain."""

    def gain(values: Sequence[float]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(values[:at]))

    best = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(one, 0.0) for one in found]) / best if best else 0.0
