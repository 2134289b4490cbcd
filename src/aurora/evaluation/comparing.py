"""Which of two is better, question by question: by nDCG@10, and whether chance explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aurora.errors import SourceError
from aurora.evaluation.measuring import Evaluated
from aurora.evaluation.metrics import ndcg
from aurora.evaluation.resampling import estimate, randomisation_test
from aurora.evaluation.runs import in_one_word, read_run
from aurora.evaluation.sets import Asked, LabelledSet
from aurora.text import many
from aurora.types import Compared, Listener, Note

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
        told = f"{many(missing, 'question')} not in {file}: compared are the other {len(found)}"
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
