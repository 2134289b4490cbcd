"""Which of two is better, question by question: by nDCG@10, and whether chance explains it.

Runs as TREC writes them: `question Q0 document rank score system`, a line for each document.

Programs that read one go by the score alone, so it falls from line to line here. An id with a space
in it would be two fields: spaces are written as %20.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aurora.errors import SourceError
from aurora.evaluation.datasets import Asked, LabelledSet, read_lines
from aurora.evaluation.metrics import estimate, ndcg, randomisation_test
from aurora.evaluation.runner import Answer, Evaluated
from aurora.text import pluralize
from aurora.types import Compared, Listener, Note

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


_SAME = 1e-12  # sums of the same numbers in another order differ by less

Found = Mapping[str, Sequence[str]]  # the documents of each question, the best first


def compare(
    evaluated: Evaluated, against: str, baseline: Found | None = None
) -> tuple[Compared, ...]:
    """Every system against one of them, or against a run of that name: on its questions alone."""
    systems = {
        label: {id_: answer.documents for id_, answer in answers.items()}
        for label, answers in evaluated.answers.items()
    }
    reference = systems[against] if baseline is None else baseline
    questions = [one for one in evaluated.labelled.questions if one.id in reference]
    return tuple(
        _compare(label, against, _gains(questions, found), _gains(questions, reference))
        for label, found in systems.items()
        if baseline is not None or label != against
    )


def read_baseline(file: Path, labelled: LabelledSet, listen: Listener) -> Found:
    """An earlier run, as far as it is about these questions. Nobody can tell those that it found
    nothing for from those that it was not asked: both are left out, as trec_eval does."""
    run = read_run(file)
    ids = {in_one_word(item.id): item.id for item in labelled.items}
    found = {
        question.id: [ids.get(one, one) for one in run[in_one_word(question.id)]]
        for question in labelled.questions
        if in_one_word(question.id) in run
    }
    if not found:
        raise SourceError(
            f"{file} is about other questions than {labelled.name}", hint="name a run of that set"
        )
    if missing := len(labelled.questions) - len(found):
        told = (
            f"{pluralize(missing, 'question')} not in {file}: compared are the other {len(found)}"
        )
        listen(Note(told, warning=True))
    return found


def _gains(questions: Sequence[Asked], found: Found) -> list[float]:
    return [ndcg(found[one.id], one.grades, at=10) for one in questions]


def _compare(system: str, against: str, ours: Sequence[float], theirs: Sequence[float]) -> Compared:
    every = [one - other for one, other in zip(ours, theirs, strict=True)]
    differences = [one if abs(one) > _SAME else 0.0 for one in every]
    wins, losses = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    return Compared(
        system,
        against,
        estimate([[one] for one in differences])[0],
        randomisation_test(differences),
        wins,
        len(differences) - wins - losses,
        losses,
    )
