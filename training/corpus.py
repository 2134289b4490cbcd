"""The pairs to learn from, and the files that hold them: a line of JSON each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

KINDS = ("code", "prose", "gloss", "talk", "cjk")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question-like text and the passage that answers it; `kind` is one of KINDS."""

    a: str
    b: str
    kind: str
    source: str

    @property
    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def pair_files(folder: Path) -> list[Path]:
    """In the order in which their pairs are numbered."""
    files = sorted(folder.glob("pairs-*.jsonl.gz"), key=lambda file: int(file.name[6:-9]))
    if not files:
        raise SystemExit(f"There is no pairs-*.jsonl.gz in {folder}")
    return files


def read_pairs(file: Path) -> Iterator[Pair]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield Pair(**json.loads(line))


def write_pairs(file: Path, pairs: Iterable[Pair]) -> None:
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=4) as lines:
        lines.writelines(pair.line for pair in pairs)
