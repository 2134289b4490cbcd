"""Compare systems by nDCG@10, question by question; and read and write TREC runs.

A line of a run is `question Q0 document rank score system`. Programs that read runs use only the
score, so it falls from line to line here. Spaces in ids are written as %20.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aurora.errors import SourceError
from aurora.evaluation.datasets import LabelledSet, Question, read_lines
from aurora.evaluation.metrics import estimate, ndcg, randomisation_test
from aurora.evaluation.runner import Answer, Evaluated
from aurora.report_types import Compared
from aurora.text import pluralize
from aurora.types import Listener, Note

Found = Mapping[str, Sequence[str]]  # the documents of each question, the best first

_STEP = 1e-6  # between two scores, also for readers with 32 bits
_SAME = 1e-12  # sums in another order differ by less
_BLANK = re.compile(r"\s")


def write_run(file: Path, system: str, answers: Mapping[str, Answer]) -> bool:
    """Write all answers of a system. Returns whether an id had spaces."""
    lines = [line for id_, answer in answers.items() for line in _lines(id_, answer, system)]
    try:
        file.write_text("".join(lines), encoding="utf-8")
    except OSError as exc:
        raise SourceError(
            f"{file} cannot be written: {exc.strerror}", hint="name a file in a folder of yours"
        ) from exc
    return any(
        _BLANK.search(id_)
        for question, answer in answers.items()
        for id_ in (question, *answer.documents)
    )


def read_run(file: Path) -> dict[str, tuple[str, ...]]:
    """The documents of each question, the best first, with ids as written in the file."""
    runs: dict[str, dict[str, float]] = defaultdict(dict)
    for line, text in read_lines(file):
        fields = text.split()
        if len(fields) != 6:
            hint = "a line of a run is: question Q0 document rank score system"
            raise line.wrong(f"has {len(fields)} fields, not six", hint)
        score = _number(fields[4])
        if score is None:
            raise line.wrong(f"{fields[4]!r} is not a score", "the fifth field is a number")
        if runs[fields[0]].setdefault(fields[2], score) != score:
            raise line.wrong(f"{fields[2]!r} is listed twice", "list each document once")
    return {
        question: tuple(sorted(scores, key=lambda id_: (scores[id_], id_), reverse=True))
        for question, scores in runs.items()
    }


def _without_spaces(id_: str) -> str:
    return _BLANK.sub("%20", id_)


def _lines(id_: str, answer: Answer, system: str) -> Iterator[str]:
    last = math.inf
    ranked = zip(answer.documents, answer.scores, strict=True)
    for rank, (document, score) in enumerate(ranked, start=1):
        last = min(score, last - _STEP * max(abs(last), 1.0)) if rank > 1 else score
        yield f"{_without_spaces(id_)} Q0 {_without_spaces(document)} {rank} {last:.7f} {system}\n"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def compare(
    evaluated: Evaluated, against: str, baseline: Found | None = None
) -> tuple[Compared, ...]:
    """Compare every system with one of them, or with a baseline on the baseline's questions."""
    systems = {
        label: {id_: answer.documents for id_, answer in answers.items()}
        for label, answers in evaluated.answers.items()
    }
    reference = systems[against] if baseline is None else baseline
    questions = [question for question in evaluated.labelled.questions if question.id in reference]
    return tuple(
        _compare(label, against, _gains(questions, documents), _gains(questions, reference))
        for label, documents in systems.items()
        if baseline is not None or label != against
    )


def read_baseline(file: Path, labelled: LabelledSet, listen: Listener) -> Found:
    """The part of an earlier run that is about these questions.

    As in trec_eval, questions without a line in the run are left out.
    """
    run = read_run(file)
    ids = {_without_spaces(item.id): item.id for item in labelled.items}
    baseline = {
        question.id: [ids.get(id_, id_) for id_ in run[_without_spaces(question.id)]]
        for question in labelled.questions
        if _without_spaces(question.id) in run
    }
    if not baseline:
        raise SourceError(
            f"{file} is about other questions than {labelled.name}", hint="name a run of that set"
        )
    if missing := len(labelled.questions) - len(baseline):
        left_out = f"{pluralize(missing, 'question')} not in {file}"
        listen(Note(f"{left_out}: compared are the other {len(baseline)}", warning=True))
    return baseline


def _gains(questions: Sequence[Question], found: Found) -> list[float]:
    return [ndcg(found[question.id], question.grades, at=10) for question in questions]


def _compare(system: str, against: str, ours: Sequence[float], theirs: Sequence[float]) -> Compared:
    raw = [our - their for our, their in zip(ours, theirs, strict=True)]
    differences = [value if abs(value) > _SAME else 0.0 for value in raw]
    wins, losses = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return Compared(
        system,
        against,
        estimate([[value] for value in differences])[0],
        randomisation_test(differences),
        wins,
        len(differences) - wins - losses,
        losses,
    )
