"""How a peer is asked: what it gets, what it gives, and how long that took.

A peer is a file beside this one that calls `main(ways)` and runs in an environment of its own, so
it shares nothing with the others but files: a job (groups of texts and the questions about them)
and the answers. A way opens the texts of one group and returns who answers a question with
document ids, best first. Only that is timed, one question at a time, after one that is not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

PIECE = 1500  # characters of a file
PLACES = 50  # pieces asked for, so that ten documents are among them


class Text(NamedTuple):
    """A document. One with a path is a file, to be cut; the language is what the set says."""

    id: str
    text: str
    path: str = ""
    language: str = ""


class Piece(NamedTuple):
    document: str
    text: str


Ask = Callable[[str], Sequence[str]]
Open = Callable[[Sequence[Text]], Ask]


def pieces(texts: Sequence[Text]) -> Iterator[Piece]:
    """A file in whole lines under its path, and any other document as it is."""
    for one in texts:
        for part in _cut(one.text) if one.path else [one.text]:
            yield Piece(one.id, f"{one.path}\n{part}" if one.path else part)


def _cut(text: str) -> list[str]:
    found, size = [""], 0
    for line in text.splitlines(keepends=True):
        if size and size + len(line) > PIECE:
            found.append("")
            size = 0
        found[-1] += line
        size += len(line)
    return found


def documents(found: Sequence[Piece]) -> list[str]:
    """Each once, where its best piece is."""
    return list(dict.fromkeys(piece.document for piece in found))


def answer(opened: Open, groups: Sequence[Mapping[str, list[list[str]]]]) -> dict[str, object]:
    """What is found for each question, and the seconds of each and of opening all texts."""
    found: dict[str, Sequence[str]] = {}
    seconds, opening = [], 0.0
    for group in groups:
        start = time.perf_counter()
        ask = opened([Text(*text) for text in group["texts"]])
        opening += time.perf_counter() - start
        ask(group["questions"][0][1])
        for number, words in group["questions"]:
            start = time.perf_counter()
            found[number] = ask(words)[:10]
            seconds.append(time.perf_counter() - start)
    return {"found": found, "seconds": seconds, "opening": opening}


def main(ways: Mapping[str, Open], *, packages: Sequence[str] = ()) -> None:
    """JOB and ANSWERS are the arguments; a way that fails is named and left out."""
    if len(sys.argv) != 3:
        raise SystemExit(f"usage: {Path(sys.argv[0]).name} JOB ANSWERS: quality/peers.py runs it")
    job, answers = map(Path, sys.argv[1:3])
    groups = json.loads(job.read_text(encoding="utf-8"))
    told = {}
    for way, opened in ways.items():
        try:
            told[way] = answer(opened, groups)
        except Exception as exc:  # it is a peer's, and the others go on
            print(f"{way}: {type(exc).__name__}: {exc}", file=sys.stderr)
    versions = {package: metadata.version(package) for package in packages}
    answers.write_text(json.dumps({"versions": versions, "ways": told}), encoding="utf-8")
