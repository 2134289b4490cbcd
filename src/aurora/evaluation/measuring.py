"""A set from beginning to end: fill, ask, score. A group is a memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product

from aurora.engine import Memory
from aurora.evaluation.asking import Answer, System, ask, percentile, warm_up
from aurora.evaluation.filling import Troubles, fill
from aurora.evaluation.metrics import score
from aurora.evaluation.resampling import estimate
from aurora.evaluation.sets import Asked, LabelledSet
from aurora.types import (
    METRICS,
    Event,
    Listener,
    Measured,
    MeasuredSet,
    Note,
    Progress,
    ignore_events,
)

Open = Callable[[Listener], AbstractContextManager[Memory]]  # an empty memory for each call


@dataclass(frozen=True, slots=True)
class Evaluated:
    """All answers, by the system's label and the question's id."""

    labelled: LabelledSet
    groups: int
    documents: int
    embedder: str
    answers: Mapping[str, Mapping[str, Answer]]
    troubles: Troubles


def evaluate(
    labelled: LabelledSet,
    systems: Sequence[System],
    open_memory: Open,
    *,
    listen: Listener = ignore_events,
) -> Evaluated:
    """Ask every question of every system."""
    groups = list(labelled.by_group())
    news = _News(listen, total=len(labelled.questions) * len(systems), alone=len(groups) == 1)
    answers: dict[str, dict[str, Answer]] = {system.label: {} for system in systems}
    troubles, embedder = Troubles(), ""
    for group in groups:
        with open_memory(news) as memory:
            filled = fill(memory, group.items)
            for system in systems:
                warm_up(memory, system)
            for question, system in product(group.questions, systems):
                answers[system.label][question.id] = ask(memory, filled, question.text, system)
                news.asked()
            troubles += filled.troubles
            owner = memory.vectors_of() if memory.exists else None
            embedder = owner.name if owner else embedder
    documents = sum(len(group.items) for group in groups)
    return Evaluated(labelled, len(groups), documents, embedder, answers, troubles)


class _News:
    """What is worth telling: a warning once, how far the asking is, and with one memory alone how
    far that is. What a search says of its question is for whoever asked it."""

    def __init__(self, listen: Listener, *, total: int, alone: bool) -> None:
        self._listen, self._total, self._alone = listen, total, alone
        self._done, self._said = 0, set[str]()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            if event.warning and event.text not in self._said:
                self._said.add(event.text)
                self._listen(event)
        elif self._alone:
            self._listen(event)

    def asked(self) -> None:
        self._done += 1
        self._listen(Progress("Asking", self._done, self._total))


def summarise(evaluated: Evaluated) -> MeasuredSet:
    """The numbers: of all questions, and by category where there are some."""
    questions = evaluated.labelled.questions
    named = sorted({one.category for one in questions} - {""})
    return MeasuredSet(
        evaluated.labelled.name,
        evaluated.documents,
        evaluated.groups,
        len(questions),
        evaluated.embedder,
        _measured(evaluated, questions),
        {
            category: _measured(evaluated, [one for one in questions if one.category == category])
            for category in named
        },
        warnings=(*evaluated.labelled.warnings, *evaluated.troubles.told()),
    )


def _measured(evaluated: Evaluated, questions: Sequence[Asked]) -> tuple[Measured, ...]:
    return tuple(
        _measure(system, [(one, answers[one.id]) for one in questions])
        for system, answers in evaluated.answers.items()
    )


def _measure(system: str, answered: Sequence[tuple[Asked, Answer]]) -> Measured:
    scores = [score(answer.documents, asked.grades) for asked, answer in answered]
    times = sorted(answer.milliseconds for _, answer in answered)
    return Measured(
        system,
        len(answered),
        dict(zip(METRICS, estimate(scores), strict=True)),
        percentile(times, 50),
        percentile(times, 95),
        sum(not answer.documents for _, answer in answered),
    )
