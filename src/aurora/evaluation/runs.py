"""Runs as TREC writes them: `question Q0 document rank score system`, a line for each document.

Programs that read one go by the score alone, so it falls from line to line here. An id with a space
in it would be two fields: spaces are written as %20.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from aurora.errors import SourceError
from aurora.evaluation.asking import Answer
from aurora.evaluation.records import read_lines

_STEP = 1e-6  # of a score, that even 32 bits can tell
_BLANK = re.compile(r"\s")


def write_run(file: Path, system: str, answers: Mapping[str, Answer]) -> bool:
    """Write all answers of a system; true where an id had to be written in another way."""
    lines = [line for id_, answer in answers.items() for line in _lines(id_, answer, system)]
    try:
        file.write_text("".join(lines), encoding="utf-8")
    except OSError as exc:
        raise SourceError(
            f"{file} cannot be written: {exc.strerror}", hint="name a file in a folder of yours"
        ) from exc
    return any(_BLANK.search(id_) for one in answers for id_ in (one, *answers[one].documents))


def read_run(file: Path) -> dict[str, tuple[str, ...]]:
    """The documents of each question as they are written there, the best first."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line, text in read_lines(file):
        fields = text.split()
        if len(fields) != 6:
            hint = "a line of a run is: question Q0 document rank score system"
            raise line.wrong(f"has {len(fields)} fields, not six", hint)
        score = _number(fields[4])
        if score is None:
            raise line.wrong(f"{fields[4]!r} is no score", "the fifth field is a number")
        if found[fields[0]].setdefault(fields[2], score) != score:
            raise line.wrong(f"{fields[2]!r} was there before", "a document has one place")
    return {
        question: tuple(sorted(scores, key=lambda one: (scores[one], one), reverse=True))
        for question, scores in found.items()
    }


def in_one_word(id_: str) -> str:
    return _BLANK.sub("%20", id_)


def _lines(id_: str, answer: Answer, system: str) -> Iterator[str]:
    last = math.inf
    ranked = zip(answer.documents, answer.scores, strict=True)
    for rank, (document, score) in enumerate(ranked, start=1):
        last = min(score, last - _STEP * max(abs(last), 1.0)) if rank > 1 else score
        yield f"{in_one_word(id_)} Q0 {in_one_word(document)} {rank} {last:.7f} {system}\n"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number
